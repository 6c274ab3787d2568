"""What is shown of an S3 server's errors; S3 itself is tested with a real server."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from botocore.retries import standard

from controller_client.errors import SourceError
from controller_client.filestore import FileStore, open_store, s3
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer, truncate

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
_KEYS = {"region": "us-east-1", "accessKey": "hush-access", "secretKey": "hush-secret"}


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


def test_pages_without_an_end_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "_MOST_EMPTY_PAGES", 20)
    numbers = itertools.count()

    def another(_seen: Seen) -> Step:
        page = _PAGE[: _PAGE.index("<Contents>")].replace(">2<", f">{next(numbers)}<")
        return answer(200, f"{page}</ListBucketResult>", _XML)

    with ScriptedServer() as server:
        server.answers = another
        with pytest.raises(SourceError, match="its reply lacks a valid Contents"):
            list(_store(server).list("s3://bucket/in/"))
        assert len(server.requests) == 21


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


class Objects:
    """Objects by key, with as much of S3 as a move needs.

    Attributes:
        objects: Sizes by key.
        calls: Method and key of each request.
        copied_bytes: What a copy has instead of the size of its source.
    """

    def __init__(self) -> None:
        self.objects = {"bucket/t/x": 7}
        self.calls: list[tuple[str, str]] = []
        self.copied_bytes: int | None = None

    def respond(self, seen: Seen) -> Step:
        key = unquote(seen.path.lstrip("/"))
        self.calls.append((seen.method, key))
        if seen.method == "DELETE":
            self.objects.pop(key, None)
            return answer(204)
        if source := seen.headers.get("x-amz-copy-source"):
            size_bytes = self.objects[unquote(source).lstrip("/")]
            self.objects[key] = size_bytes if self.copied_bytes is None else self.copied_bytes
            return answer(200, "<CopyObjectResult><ETag>x</ETag></CopyObjectResult>", _XML)
        if key not in self.objects:
            return answer(404)
        return answer(200, b"x" * self.objects[key])


@pytest.mark.parametrize("name", ["x", "a b", "a#b?c", "a%20b", "é"])
def test_an_object_is_copied_and_only_then_deleted(name: str) -> None:
    bucket = Objects()
    bucket.objects = {f"bucket/t/{name}": 7}
    with ScriptedServer() as server:
        server.answers = bucket.respond
        store = open_store("s3://bucket/", {**_KEYS, "endpoint": server.url})
        assert store.move(f"s3://bucket/t/{name}", f"s3://bucket/q/{name}")
        assert bucket.objects == {f"bucket/q/{name}": 7}
        assert [method for method, _ in bucket.calls if method != "HEAD"] == ["PUT", "DELETE"]
        assert not store.move(f"s3://bucket/t/{name}", f"s3://bucket/q/{name}")
    assert bucket.objects == {f"bucket/q/{name}": 7}


def test_an_object_whose_copy_is_not_complete_is_not_deleted() -> None:
    bucket = Objects()
    bucket.copied_bytes = 3
    with ScriptedServer() as server:
        server.answers = bucket.respond
        store = open_store("s3://bucket/", {**_KEYS, "endpoint": server.url})
        with pytest.raises(SourceError, match="3 bytes are there") as caught:
            store.move("s3://bucket/t/x", "s3://bucket/q/x")
    assert "7 bytes" in str(caught.value)
    assert bucket.objects["bucket/t/x"] == 7


def test_an_object_that_cannot_be_copied_is_not_deleted() -> None:
    bucket = Objects()
    refusal = answer(403, "<Error><Code>AccessDenied</Code></Error>", _XML)
    with ScriptedServer() as server:
        server.answers = lambda seen: refusal if seen.method == "PUT" else bucket.respond(seen)
        store = open_store("s3://bucket/", {**_KEYS, "endpoint": server.url})
        with pytest.raises(SourceError, match="S3 refused to copy s3://bucket/t/x: AccessDenied"):
            store.move("s3://bucket/t/x", "s3://bucket/q/x")
    assert bucket.objects == {"bucket/t/x": 7}


def test_a_move_that_ends_after_its_copy_leaves_both_and_is_completed_by_the_next() -> None:
    bucket = Objects()
    refusal = answer(403, "<Error><Code>AccessDenied</Code></Error>", _XML)
    with ScriptedServer() as server:
        server.answers = lambda seen: refusal if seen.method == "DELETE" else bucket.respond(seen)
        store = open_store("s3://bucket/", {**_KEYS, "endpoint": server.url})
        with pytest.raises(SourceError, match="S3 refused to delete s3://bucket/t/x"):
            store.move("s3://bucket/t/x", "s3://bucket/q/x")
        assert bucket.objects == {"bucket/t/x": 7, "bucket/q/x": 7}
        server.answers = bucket.respond
        assert store.move("s3://bucket/t/x", "s3://bucket/q/x")
    assert bucket.objects == {"bucket/q/x": 7}


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
