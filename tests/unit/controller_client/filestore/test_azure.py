"""Azure through adlfs: pages of a listing that are none. The server stands in for nothing else of Azure."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path
from urllib.parse import unquote

import pytest

from controller_client.errors import SourceError
from controller_client.filestore import FileStore, open_store
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer

_FOLDER = "abfss://c@account.dfs.core.windows.net/in/"
_XML = {"Content-Type": "application/xml"}


def _page(name: str, marker: str = "") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="c">'
        f"<Prefix>in/</Prefix><Delimiter>/</Delimiter><Blobs><Blob><Name>in/{name}</Name><Properties>"
        "<Last-Modified>Wed, 09 Sep 2026 09:20:02 GMT</Last-Modified><Etag>0x1</Etag><Content-Length>1"
        "</Content-Length><BlobType>BlockBlob</BlobType></Properties></Blob></Blobs>"
        f"<NextMarker>{marker}</NextMarker></EnumerationResults>"
    )


def _open(server: ScriptedServer) -> FileStore:
    key = base64.b64encode(b"hush").decode()
    account = f"DefaultEndpointsProtocol=http;AccountName=account;AccountKey={key}"
    return open_store(_FOLDER, {"connectionString": f"{account};BlobEndpoint={server.url}/account"})


def _list(second: Step) -> list[str]:
    def respond(seen: Seen) -> Step:
        return second if "marker=" in seen.target else answer(200, _page("a", "2"), _XML)

    with ScriptedServer() as server:
        server.answers = respond
        return [file.uri for file in _open(server).list(_FOLDER)]


def test_pages_are_listed() -> None:
    assert _list(answer(200, _page("b"), _XML)) == [f"{_FOLDER}a", f"{_FOLDER}b"]


@pytest.mark.parametrize(
    "broken",
    [
        answer(200),
        answer(200, "", _XML),
        answer(200, "<html><body>Sign in</body></html>", {"Content-Type": "text/html"}),
        answer(200, "<html><body>Sign in</body></html>", _XML),
        answer(200, "<EnumerationResults/>", _XML),
        answer(200, _page("b")[:-30], _XML),
    ],
)
def test_a_page_that_is_no_listing_is_an_error(broken: Step) -> None:
    with pytest.raises(SourceError, match=f"abfs failed to list {_FOLDER}") as caught:
        _list(broken)
    assert "may answer in its place" in str(caught.value)


@pytest.mark.parametrize("compress", [False, True])
def test_a_page_without_end_is_an_error(compress: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINOT_MAX_REPLY_BYTES", "100000")
    page = _page("b").replace("<Prefix>", f"<Prefix>{' ' * 200_000}")
    second = (
        answer(200, gzip.compress(page.encode()), {**_XML, "Content-Encoding": "gzip"})
        if compress
        else answer(200, page, _XML)
    )
    with pytest.raises(SourceError, match="longer than 100,000 bytes") as caught:
        _list(second)
    assert "PINOT_MAX_REPLY_BYTES" in str(caught.value)


def test_a_file_may_be_longer_than_a_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PINOT_MAX_REPLY_BYTES", "100000")
    content = bytes(300_000)

    def respond(seen: Seen) -> Step:
        described = {"Last-Modified": "Wed, 09 Sep 2026 09:20:02 GMT", "ETag": "0x1"}
        if seen.method == "HEAD":
            return answer(200, content, {**described, "x-ms-blob-type": "BlockBlob"})
        assert "x-ms-range" in seen.headers
        return answer(206, content, {**described, "Content-Range": "bytes 0-299999/300000"})

    with ScriptedServer() as server:
        server.answers = respond
        _open(server).download(f"{_FOLDER}a", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == content


@pytest.mark.parametrize("has_signature", [False, True])
def test_a_connection_string_cannot_ask_for_the_passwords_of_this_machine(
    has_signature: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("default login me password hush\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with ScriptedServer() as server, ScriptedServer() as proxy:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        server.answers = lambda _seen: answer(200, _page("a"), _XML)
        key = base64.b64encode(b"own").decode()
        own = "SharedAccessSignature=sv=2020&sig=abc" if has_signature else f"AccountKey={key}"
        properties = {"connectionString": f"AccountName=account;{own};BlobEndpoint={server.url}/account"}
        store = open_store(_FOLDER, properties)
        assert [file.uri for file in store.list(_FOLDER)] == [f"{_FOLDER}a"]
    assert proxy.requests == []
    sent = [seen.headers.get("Authorization", "none").partition(" ")[0] for seen in server.requests]
    assert set(sent) == {"none" if has_signature else "SharedKey"}
    assert all(("sig=abc" in seen.target) == has_signature for seen in server.requests)


@pytest.mark.parametrize("copied_bytes", [7, 0])
def test_a_blob_is_deleted_only_after_its_copy_is_complete(copied_bytes: int) -> None:
    """The copy is made in the background: a blob without content is there at once."""
    blobs = {"in/x": 7}

    def respond(seen: Seen) -> Step:
        name = unquote(seen.path).partition("/c/")[2]
        if seen.method == "PUT":
            assert seen.headers["x-ms-copy-source"].endswith("/c/in/x")
            blobs[name] = copied_bytes
            return answer(202, None, {"x-ms-copy-id": "1", "x-ms-copy-status": "pending"})
        if seen.method == "DELETE":
            del blobs[name]
            return answer(202)
        if name not in blobs:
            empty = '<EnumerationResults ContainerName="c"><Blobs/><NextMarker/></EnumerationResults>'
            return answer(200, empty, _XML) if "comp=list" in seen.target else answer(404)
        described = {"Last-Modified": "Wed, 09 Sep 2026 09:20:02 GMT", "ETag": "0x1"}
        return answer(200, b"x" * blobs[name], {**described, "x-ms-blob-type": "BlockBlob"})

    with ScriptedServer() as server:
        server.answers = respond
        store = _open(server)
        if copied_bytes:
            assert store.move(f"{_FOLDER}x", f"{_FOLDER}q/x")
            assert blobs == {"in/q/x": 7}
            assert not store.move(f"{_FOLDER}x", f"{_FOLDER}q/x")
            return
        with pytest.raises(SourceError, match="0 bytes are there"):
            store.move(f"{_FOLDER}x", f"{_FOLDER}q/x")
    assert blobs == {"in/x": 7, "in/q/x": 0}
