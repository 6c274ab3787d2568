"""What is shown of an S3 server's errors; S3 itself is tested with a real server."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from botocore.retries import standard

from controller_client.errors import SourceError
from controller_client.filestore import FileStore, open_store
from tests.unit.controller_client.scripted_server import ScriptedServer, answer, truncate

_ECHO = (
    "<Error><Code>AccessDenied{}</Code><Message>key hush-access, secret hush-secret</Message>"
    "<StringToSign>Authorization: hush-secret</StringToSign></Error>"
)
_LISTING = (
    '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>false</IsTruncated>'
    "<Contents><Key>in/a</Key><Size>1</Size><ETag>x</ETag><LastModified>2026-01-01T00:00:00Z</LastModified>"
    "</Contents></ListBucketResult>"
)
_NOT_DELETED = (
    "<DeleteResult><Error><Key>in/a</Key><Code>hush-secret</Code><Message>hush-secret</Message></Error>"
    "</DeleteResult>"
)
_XML = {"Content-Type": "application/xml"}


_PAGE = _LISTING.replace(">false<", ">true<").replace(
    "<Contents>", "<NextContinuationToken>2</NextContinuationToken><Contents>"
)
_BROKEN = "place or cut its replies off"
_LATER = "run again later: the store is overloaded"
_NOT_COMPLETE = "S3 failed to list s3://bucket/in/: its reply is not complete"
SECOND_PAGES = {
    "empty": (answer(200, "", _XML), _NOT_COMPLETE, _BROKEN),
    "empty without a type": (answer(200), _NOT_COMPLETE, _BROKEN),
    "a page": (answer(200, "<html><body>Sign in</body></html>", _XML), _NOT_COMPLETE, _BROKEN),
    "JSON": (answer(200, "{}", {"Content-Type": "application/json"}), _NOT_COMPLETE, _BROKEN),
    "truncated in a name": (answer(200, _LISTING[:150], _XML), _NOT_COMPLETE, _BROKEN),
    "truncated at its end": (answer(200, _LISTING[:-2], _XML), _NOT_COMPLETE, _BROKEN),
    "an empty element": (answer(200, "<ListBucketResult/>", _XML), _NOT_COMPLETE, _BROKEN),
    "part of an error": (answer(200, "<Error><Code>InternalError</Code>", _XML), _NOT_COMPLETE, _BROKEN),
    "another document": (
        answer(200, "<x:ListBucketResult xmlns:x='y'></x:ListBucketResult>", _XML),
        "its reply lacks a valid IsTruncated",
        _BROKEN,
    ),
    "no elements": (
        answer(200, "<ListBucketResult></ListBucketResult>", _XML),
        "its reply lacks a valid IsTruncated",
        _BROKEN,
    ),
    "no token": (
        answer(200, _LISTING.replace(">false<", ">true<"), _XML),
        "its reply lacks a valid NextContinuationToken",
        _BROKEN,
    ),
    "the same page again": (answer(200, _PAGE, _XML), _NOT_COMPLETE, _BROKEN),
    "no size": (answer(200, _LISTING.replace("<Size>1</Size>", ""), _XML), "lacks a valid Size", _BROKEN),
    "another folder": (answer(200, _LISTING.replace("in/a", "out/a"), _XML), "lacks a valid Key", _BROKEN),
    "SlowDown": (answer(503, "<Error><Code>SlowDown</Code></Error>", _XML), ": SlowDown", _LATER),
    "SlowDown 200": (answer(200, "<Error><Code>SlowDown</Code></Error>", _XML), ": SlowDown", _LATER),
    "500": (answer(500, "<Error><Code>InternalError</Code></Error>", _XML), "InternalError", _LATER),
    "429": (answer(429, "", _XML), "failed to list", _LATER),
    "a page for 502": (answer(502, "<html>Bad gateway</html>"), "failed to list", _LATER),
    "a page for 403": (answer(403, "<html>Forbidden</html>"), "refused to list", "check accessKey"),
}


@pytest.fixture
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let boto repeat calls at once."""
    monkeypatch.setattr(standard.ExponentialBackoff, "delay_amount", lambda *_: 0)


def _store(server: ScriptedServer) -> FileStore:
    keys = {"accessKey": "hush-access", "secretKey": "hush-secret"}
    return open_store("s3://bucket/in/", {"region": "us-east-1", "endpoint": server.url, **keys})


@pytest.mark.usefixtures("without_pauses")
@pytest.mark.parametrize("what", SECOND_PAGES)
def test_a_page_that_is_no_listing_is_an_error(what: str) -> None:
    second, message, remedy = SECOND_PAGES[what]
    with ScriptedServer(answer(200, _PAGE, _XML)) as server:
        server.answers = lambda _seen: second
        listing = _store(server).list("s3://bucket/in/")
        assert next(listing).uri == "s3://bucket/in/a"
        with pytest.raises(SourceError, match=re.escape(message)) as caught:
            list(listing)
    assert remedy in str(caught.value.remedy)


@pytest.mark.usefixtures("without_pauses")
def test_a_broken_page_is_requested_again() -> None:
    pages = [answer(200, _PAGE, _XML), answer(200, "", _XML), answer(200, _LISTING[:-2], _XML)]
    with ScriptedServer(*pages, answer(200, _LISTING.replace("in/a", "in/b"), _XML)) as server:
        files = list(_store(server).list("s3://bucket/in"))
    assert [file.uri for file in files] == ["s3://bucket/in/a", "s3://bucket/in/b"]


@pytest.mark.usefixtures("without_pauses")
@pytest.mark.parametrize("text", ["", "<html/>", "<DeleteResult>", "<DeleteResult><Deleted/>"])
def test_a_deletion_without_a_result_is_an_error(text: str) -> None:
    with ScriptedServer(answer(200, _LISTING, _XML)) as server:
        server.answers = lambda _seen: answer(200, text, _XML)
        with pytest.raises(SourceError, match="failed to delete s3://bucket/in: its reply is not complete"):
            _store(server).delete_tree("s3://bucket/in")


@pytest.mark.parametrize(
    "text", ["<DeleteResult/>", '<?xml version="1.0"?>\n<DeleteResult xmlns="x"></DeleteResult>\n']
)
def test_a_deletion_without_errors(text: str) -> None:
    with ScriptedServer(answer(200, _LISTING, _XML), answer(200, text, _XML)) as server:
        assert _store(server).delete_tree("s3://bucket/in") == 1


def test_credentials_echoed_by_the_server_are_never_shown() -> None:
    with ScriptedServer(
        answer(403, _ECHO.format(""), _XML),
        answer(403, _ECHO.format(" hush-secret" * 1000), _XML),
        answer(200, _LISTING, _XML),
        answer(200, _NOT_DELETED, _XML),
    ) as server:
        properties = {
            "region": "us-east-1",
            "endpoint": f"http://me:hush-url@{urlsplit(server.url).netloc}",
            "accessKey": "hush-access",
            "secretKey": "hush-secret",
        }
        store = open_store("s3://bucket/in/", properties)
        shown = repr(store)
        for call in (store.size_bytes, lambda uri: list(store.list(uri)), store.delete_tree):
            with pytest.raises(SourceError) as caught:
                call("s3://bucket/in/a")
            shown += str(caught.value)
            assert len(str(caught.value)) < 1000
    assert "hush" not in shown
    assert "AccessDenied" in shown


@pytest.mark.usefixtures("without_pauses")
def test_a_listing_is_limited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PINOT_MAX_REPLY_BYTES", "100000")
    long = _LISTING.replace("<Contents>", " " * 1_000_000 + "<Contents>", 1)
    with ScriptedServer(
        answer(200, _LISTING, _XML), answer(200, long, _XML), answer(200, bytes(1_000_000), {"ETag": "x"})
    ) as server:
        store = _store(server)
        assert len(list(store.list("s3://bucket/in/"))) == 1
        with pytest.raises(SourceError, match="the response is longer than 100,000 bytes") as caught:
            list(store.list("s3://bucket/in/"))
        assert "PINOT_MAX_REPLY_BYTES" in str(caught.value)
        store.download("s3://bucket/in/a", tmp_path / "a")
    assert (tmp_path / "a").stat().st_size == 1_000_000


@pytest.mark.usefixtures("without_pauses")
def test_a_connection_that_breaks_in_a_listing_is_used_again() -> None:
    with ScriptedServer(truncate, answer(200, _LISTING, _XML)) as server:
        assert len(list(_store(server).list("s3://bucket/in/"))) == 1
