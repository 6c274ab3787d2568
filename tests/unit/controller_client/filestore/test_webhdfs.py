"""WebHDFS through fsspec: a failing data node, and a name node that does not answer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from controller_client.errors import SourceError
from controller_client.filestore import FileInfo, open_store, webhdfs
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer, silence

CONTENT = bytes(range(256)) * (40 << 10)  # several requests of fsspec's
_ERROR = {"RemoteException": {"exception": "IOException", "message": "no replica"}}


class Hdfs:
    """A name node and its data node with a file of which one range fails."""

    def __init__(self, failing: int | None = None) -> None:
        self._failing = failing
        self.ranges = 0

    def respond(self, seen: Seen) -> Step:
        query = {key: each[0] for key, each in parse_qs(urlsplit(seen.target).query).items()}
        if query["op"] == "GETFILESTATUS":
            status = {"type": "FILE", "length": len(CONTENT), "modificationTime": 1}
            return answer(200, {"FileStatus": status})
        if not seen.path.startswith("/data"):
            location = f"http://{seen.headers['Host']}/data?{urlsplit(seen.target).query}"
            return answer(307, None, {"Location": location})
        self.ranges += 1
        if self.ranges == self._failing:
            return answer(500, _ERROR)
        begin = int(query["offset"])
        return answer(200, CONTENT[begin : begin + int(query["length"])])


def _uri(server: ScriptedServer) -> str:
    return f"webhdfs://{urlsplit(server.url).netloc}/in/a"


def test_a_file_is_read_through_its_data_node(tmp_path: Path) -> None:
    hdfs = Hdfs()
    with ScriptedServer() as server:
        server.answers = hdfs.respond
        store = open_store(_uri(server), {})
        with store.local_copy(FileInfo(_uri(server), len(CONTENT), 1), tmp_path) as path:
            assert path.read_bytes() == CONTENT
    assert hdfs.ranges >= 2


def test_a_data_nodes_error_is_not_read_as_content(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        server.answers = Hdfs(failing=2).respond
        store = open_store(_uri(server), {})
        with (
            pytest.raises(SourceError, match="failed to read"),
            store.local_copy(FileInfo(_uri(server), len(CONTENT), 1), tmp_path),
        ):
            raise AssertionError


def test_a_name_node_that_does_not_answer_times_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhdfs, "_READ_S", 0.05)
    with ScriptedServer(silence) as server:
        store = open_store(_uri(server), {})
        with pytest.raises(SourceError, match="ReadTimeout"):
            store.size_bytes(_uri(server))


def test_this_machines_passwords_are_not_sent_to_a_name_node(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("default login me password hush\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with ScriptedServer() as other, ScriptedServer() as server:
        other.answers = Hdfs().respond
        server.answers = lambda seen: answer(307, None, {"Location": other.url + seen.target})
        assert open_store(_uri(server), {}).size_bytes(_uri(server)) == len(CONTENT)
        given = {"user": "me", "password": "mine"}
        assert open_store(_uri(server), given).size_bytes(_uri(server)) == len(CONTENT)
        names = [seen.headers.get("Authorization", "")[:5] for seen in (*server.requests, *other.requests)]
    assert names == ["", "Basic", "", ""]


@pytest.mark.parametrize("is_foreign", [False, True])
def test_a_name_node_cannot_send_the_password_to_a_host_of_its_choice(
    is_foreign: bool, tmp_path: Path
) -> None:
    with ScriptedServer(host="127.0.0.2") as foreign, ScriptedServer() as server:
        hdfs = Hdfs()
        foreign.answers = hdfs.respond

        def respond(seen: Seen) -> Step:
            if is_foreign and "op=OPEN" in seen.target:
                location = f"{foreign.url}/data?{urlsplit(seen.target).query}"
                return answer(307, None, {"Location": location})
            return hdfs.respond(seen)

        server.answers = respond
        given = {"user": "me", "password": "mine"}
        open_store(_uri(server), given).download(_uri(server), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert all("Authorization" in seen.headers for seen in server.requests)
    assert bool(foreign.requests) == is_foreign
    assert not any("Authorization" in seen.headers for seen in foreign.requests)


@pytest.mark.parametrize(
    "broken",
    [
        answer(200),
        answer(200, {}),
        answer(200, {"FileStatuses": {}}),
        answer(200, "<html/>"),
        answer(200, '{"FileS'),
    ],
)
def test_a_reply_that_is_no_listing_is_an_error(broken: Step) -> None:
    inside = [{"type": "DIRECTORY", "length": 0, "modificationTime": 1, "pathSuffix": "b"}]
    with ScriptedServer(answer(200, {"FileStatuses": {"FileStatus": inside}})) as server:
        server.answers = lambda _seen: broken
        folder = f"webhdfs://{urlsplit(server.url).netloc}/in"
        store = open_store(folder, {})
        with pytest.raises(SourceError, match=r"webhdfs failed to list .*/in/b") as caught:
            list(store.list(folder))
    assert "may answer in its place" in str(caught.value)


class NameNode:
    """A name node with files by path, which renames them or reports that it did not."""

    def __init__(self, *, renames: bool = True) -> None:
        self.files = {"/s/t/x": 7}
        self.renames = renames
        self.calls: list[str] = []

    def respond(self, seen: Seen) -> Step:
        path = unquote(urlsplit(seen.target).path).removeprefix("/webhdfs/v1")
        query = {key: each[0] for key, each in parse_qs(urlsplit(seen.target).query).items()}
        self.calls.append(query["op"])
        if query["op"] == "RENAME":
            if self.renames:
                self.files[query["destination"]] = self.files.pop(path)
            return answer(200, {"boolean": self.renames})
        if query["op"] == "DELETE":
            return answer(200, {"boolean": self.files.pop(path, None) is not None})
        if query["op"] == "MKDIRS":
            return answer(200, {"boolean": True})
        if path not in self.files:
            missing = {"exception": "FileNotFoundException", "message": path}
            return answer(404, {"RemoteException": missing})
        return answer(
            200, {"FileStatus": {"type": "FILE", "length": self.files[path], "modificationTime": 1}}
        )


@pytest.mark.parametrize("renames", [True, False])
def test_a_file_is_renamed(renames: bool) -> None:
    node = NameNode(renames=renames)
    with ScriptedServer() as server:
        server.answers = node.respond
        root = f"webhdfs://{urlsplit(server.url).netloc}/s"
        store = open_store(root, {})
        if not renames:
            with pytest.raises(SourceError, match=r"was not moved to .*: nothing is there"):
                store.move(f"{root}/t/x", f"{root}/q/x")
            assert node.files == {"/s/t/x": 7}
            return
        assert store.move(f"{root}/t/x", f"{root}/q/x")
        assert node.files == {"/s/q/x": 7}
        assert not store.move(f"{root}/t/x", f"{root}/q/x")
    assert "DELETE" not in node.calls


@pytest.mark.parametrize("packed", [False, True])
def test_a_listing_is_limited(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINOT_MAX_REPLY_BYTES", "100000")
    text = json.dumps({"FileStatuses": {"FileStatus": [], "more": " " * 1_000_000}}).encode()
    headers = {"Content-Encoding": "gzip"} if packed else {}
    with ScriptedServer(answer(200, gzip.compress(text) if packed else text, headers)) as server:
        folder = f"webhdfs://{urlsplit(server.url).netloc}/in"
        with pytest.raises(SourceError, match="the response is longer than 100,000 bytes") as caught:
            list(open_store(folder, {}).list(folder))
    assert "PINOT_MAX_REPLY_BYTES" in str(caught.value)


def test_folders_without_end_are_an_error() -> None:
    inside = [{"type": "DIRECTORY", "length": 0, "modificationTime": 1, "pathSuffix": "b"}]
    with ScriptedServer() as server:
        server.answers = lambda _seen: answer(200, {"FileStatuses": {"FileStatus": inside}})
        folder = f"webhdfs://{urlsplit(server.url).netloc}/in"
        with pytest.raises(SourceError, match="too many folders above it"):
            list(open_store(folder, {}).list(folder))
        assert len(server.requests) == 100


@pytest.mark.parametrize(
    "entry",
    [{"length": "many"}, {"length": {}}, {"length": None}, {"modificationTime": "soon"},
     {"modificationTime": []}, {"modificationTime": 1e400}, {"type": 7}, {"pathSuffix": 7}],
)  # fmt: skip
def test_an_entry_that_is_no_file_is_an_error(entry: dict[str, Any]) -> None:
    file = {"type": "FILE", "length": 1, "modificationTime": 1, "pathSuffix": "b", **entry}
    with ScriptedServer(answer(200, {"FileStatuses": {"FileStatus": [file]}})) as server:
        folder = f"webhdfs://{urlsplit(server.url).netloc}/in"
        with pytest.raises(SourceError, match="its reply is not the expected one"):
            list(open_store(folder, {}).list(folder))
