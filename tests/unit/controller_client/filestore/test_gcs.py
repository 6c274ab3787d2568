"""Google Cloud Storage through gcsfs: which objects are listed, and which credentials go where."""

from __future__ import annotations

import gzip
import json
import logging
import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from controller_client.errors import ConfigError, SourceError
from controller_client.filestore import SourceChangedError, open_store
from controller_client.filestore.remote import GCS
from tests.unit.controller_client.filestore.gcs_server import Bucket, serving
from tests.unit.controller_client.filestore.test_names import NAMES
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer


def authorization(seen: Seen) -> str | None:
    return {name.lower(): value for name, value in seen.headers.items()}.get("authorization")


def test_each_object_is_listed_and_read_under_its_own_name(tmp_path: Path) -> None:
    names = [*NAMES, "x//y", "/z", "x/y", "x"]
    bucket = Bucket(page=7)
    for name in names:
        bucket.put(f"in/{name}", name.encode())
    for other in ("in2/a", "in", "in/", "in/x/"):
        bucket.put(other, b"")
    with serving(bucket) as server:
        store = open_store("gs://bucket/in/", {"endpoint": server.url})
        listed = list(store.list("gs://bucket/in/"))
        assert [file.uri for file in listed] == sorted(f"gs://bucket/in/{name}" for name in names)
        for file in listed:
            with store.local_copy(file, tmp_path) as path:
                assert path.read_bytes().decode() == file.uri.removeprefix("gs://bucket/in/")


def test_an_object_is_copied_by_the_store_and_then_deleted() -> None:
    bucket = Bucket()
    for name in NAMES:
        bucket.put(f"t/{name}", name.encode())
    with serving(bucket) as server:
        store = open_store("gs://bucket/", {"endpoint": server.url})
        for name in NAMES:
            assert store.move(f"gs://bucket/t/{name}", f"gs://bucket/q/{name}")
            assert not store.move(f"gs://bucket/t/{name}", f"gs://bucket/q/{name}")
    assert {name: content for name, (content, _) in bucket.objects.items()} == {
        f"q/{name}": name.encode() for name in NAMES
    }


@pytest.mark.parametrize(
    "broken",
    [
        answer(200),
        answer(204),
        answer(200, {}),
        answer(200, "null"),
        answer(200, "<html/>"),
        answer(200, '{"k'),
    ],
)
def test_a_page_that_is_no_listing_is_an_error(broken: Step) -> None:
    bucket = Bucket(page=1)
    for name in "ab":
        bucket.put(f"in/{name}", b"x")
    with serving(bucket) as server:
        store = open_store("gs://bucket/in/", {"endpoint": server.url})
        assert len(list(store.list("gs://bucket/in/"))) == 2
        server.answers = lambda seen: broken if "pageToken" in seen.target else bucket.respond(seen)
        with pytest.raises(SourceError, match="gs failed to list gs://bucket/in/") as caught:
            list(store.list("gs://bucket/in/"))
    assert "may answer in its place" in str(caught.value)


def test_a_folder_is_written_and_deleted_by_exact_names(tmp_path: Path) -> None:
    bucket = Bucket()
    bucket.put("out2/kept", b"")
    (tmp_path / "f").write_bytes(b"content\n\n--==0==")
    with serving(bucket) as server:
        store = open_store("gs://bucket/out", {"endpoint": server.url})
        for name in ("a b#1", "c//d?e"):
            store.upload(tmp_path / "f", f"gs://bucket/out/{name}")
        assert bucket.objects["out/c//d?e"][0] == b"content\n\n--==0=="
        assert store.size_bytes("gs://bucket/out/none") is None
        assert store.delete_tree("gs://bucket/out") == 2
        assert store.delete_tree("gs://bucket/out") == 0
    assert [*bucket.objects] == ["out2/kept"]


def test_a_rewritten_object_is_noticed(tmp_path: Path) -> None:
    bucket = Bucket()
    bucket.put("in/a", b"one")
    with serving(bucket) as server:
        store = open_store("gs://bucket/in", {"endpoint": server.url})
        [file] = store.list("gs://bucket/in")
        bucket.put("in/a", b"two")
        with pytest.raises(SourceChangedError), store.local_copy(file, tmp_path):
            raise AssertionError


def test_this_machines_credentials_are_sent_only_to_google(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A table's owner chooses the endpoint but does not own the machine's credentials."""
    mine = tmp_path / "mine.json"
    token = {"type": "authorized_user", "client_id": "c", "client_secret": "hush", "refresh_token": "hush"}
    mine.write_text(json.dumps(token))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(mine))
    bucket = Bucket()
    bucket.put("in/a", b"one")
    with serving(bucket) as server:
        assert len(list(open_store("gs://bucket/in", {"endpoint": server.url}).list("gs://bucket/in"))) == 1
        assert [authorization(seen) for seen in server.requests] == [None]


@pytest.mark.parametrize(
    ("endpoint", "is_own"),
    [
        (None, True),
        ("https://storage.googleapis.com", True),
        ("https://storage-x.p.googleapis.com/", True),
        ("http://storage.googleapis.com", False),
        ("https://googleapis.com.example.org", False),
        ("https://example.org#.googleapis.com", False),
        ("https://example.org\\.googleapis.com", False),
        ("https://x@storage.googleapis.com", False),
        ("https://storage.googleapis.com\n", False),
    ],
)
def test_which_endpoint_is_googles(endpoint: str | None, is_own: bool) -> None:
    options = GCS.read("gs://b/x", {} if endpoint is None else {"endpoint": endpoint})
    assert ("token" not in options) is is_own
    assert options["requests_timeout"].sock_read


@pytest.mark.parametrize("key", ["FILE", "google_default", "cache", "browser", "cloud", '"FILE"', "[]"])
def test_a_key_is_given_by_content_not_by_path(key: str, tmp_path: Path) -> None:
    (tmp_path / "k.json").write_text('{"type": "authorized_user", "refresh_token": "hush"}')
    opened: list[Any] = []
    with pytest.raises(ConfigError, match="the property gcpKey is invalid") as caught:
        opened.append(open_store("gs://b/x", {"gcpKey": key.replace("FILE", os.fspath(tmp_path / "k.json"))}))
    assert "${file:NAME}" in str(caught.value)
    assert not opened


def test_neither_a_key_nor_its_token_is_logged_or_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    token = answer(200, {"access_token": "hush-token", "expires_in": 3600})
    refusal = answer(403, {"error": {"code": 403, "message": "hush-token may not"}})
    broken = answer(400, {"error": {"code": 400, "message": "hush-token is odd"}})
    with ScriptedServer(token, refusal, token, broken) as server:
        key = {
            "type": "service_account",
            "client_email": "me@example.org",
            "private_key": private.decode(),
            "token_uri": f"{server.url}/token",
        }
        for _ in range(2):
            store = open_store("gs://bucket/in", {"endpoint": server.url, "gcpKey": json.dumps(key)})
            with pytest.raises(SourceError, match="gs failed to list gs://bucket/in") as caught:
                list(store.list("gs://bucket/in"))
            assert "hush" not in str(caught.value)
        assert authorization(server.requests[1]) == "Bearer hush-token"
        assertion = parse_qs(server.requests[0].body.decode())["assertion"][0]
    for secret in ("hush", assertion, private.decode().splitlines()[1]):
        assert secret not in caplog.text


@pytest.mark.parametrize("packed", [False, True])
def test_a_listing_is_limited(packed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PINOT_MAX_REPLY_BYTES", "100000")
    text = json.dumps({"kind": "storage#objects", "more": " " * 1_000_000}).encode()
    headers = {"Content-Type": "application/json", **({"Content-Encoding": "gzip"} if packed else {})}
    with ScriptedServer() as server:
        server.answers = lambda _seen: answer(200, gzip.compress(text) if packed else text, headers)
        with pytest.raises(SourceError, match="the response is longer than 100,000 bytes"):
            list(open_store("gs://bucket/in/", {"endpoint": server.url}).list("gs://bucket/in/"))
    bucket = Bucket()
    bucket.put("in/a", bytes(1_000_000))
    with serving(bucket) as server:
        open_store("gs://bucket/in/", {"endpoint": server.url}).download("gs://bucket/in/a", tmp_path / "a")
    assert (tmp_path / "a").stat().st_size == 1_000_000
