"""Tar files for a task: from the location in the metadata or from servers, verified."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from controller_client.common.names import TableName
from controller_client.errors import ConfigError, PartialResultError
from spark_connectors.options import ReadOptions, parse_options
from spark_connectors.read.plan import SegmentGroup, SegmentToRead, ServerAddress
from spark_connectors.read.segment_files import open_segment_files
from tests.unit.controller_client.deepstore.samples import crc_of, segment_files, write_files, write_tar
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer

TABLE = TableName("t_OFFLINE")


class Scene:
    """A controller, a store on another host, and a server."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self.controller, self.store, self.server = (
            stack.enter_context(ScriptedServer(host=f"127.0.0.{number}")) for number in (1, 2, 3)
        )
        self.controller.answers = self._answer
        options = {"table": "t", "controller": self.controller.url, "username": "me", "password": "hidden"}
        self._options = parse_options(ReadOptions, options)
        self._client = stack.enter_context(self._options.client())
        self.work = folder / "task"
        self.work.mkdir()

    def _answer(self, seen: Seen) -> Step:
        if seen.path.endswith("/metadata"):
            url = f"{self.store.url}/s?sign=secret"
            return answer(200, {"segment.crc": str(crc_of(7)), "segment.download.url": url})
        return answer(200, {"instances": [], "pinotConfig": {}})

    def tar(self, content: int = 7) -> Step:
        write_tar(self._folder / "tar", content=content)
        return answer(200, (self._folder / "tar").read_bytes())

    def fetch(self, name: str = "s") -> Path:
        parts = urlsplit(self.server.url)
        address = ServerAddress("Server_1", str(parts.hostname), 1, parts.port or 0)
        group = SegmentGroup(TABLE, None, (SegmentToRead(name, (address,), consuming=False),))
        with open_segment_files(self._client, self._options, group, self.work) as files:
            return files.fetch(group.segments[0]).path


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        yield Scene(tmp_path, stack)


def test_credentials_are_not_sent_to_another_host(scene: Scene) -> None:
    scene.store.script.append(scene.tar())
    folder = scene.fetch()
    assert {path.name for path in scene.work.iterdir()} == {"s"}
    assert (folder / "v3" / "columns.psf").read_bytes() == segment_files(7)["v3/columns.psf"]
    (seen,) = scene.store.requests
    assert seen.target == "/s?sign=secret"
    assert "Authorization" not in seen.headers
    assert scene.server.requests == []


def test_a_server_is_used_if_the_copy_in_the_store_is_wrong(scene: Scene, tmp_path: Path) -> None:
    label = struct.pack(">qq", crc_of(7), 1)
    write_files(tmp_path / "bad", {**segment_files(8), "v3/creation.meta": label})
    scene.store.script.append(answer(200, (tmp_path / "bad").read_bytes()))
    scene.server.script.append(scene.tar())
    assert (scene.fetch() / "v3" / "columns.psf").read_bytes() == segment_files(7)["v3/columns.psf"]
    assert [seen.path for seen in scene.server.requests] == [f"/segments/{TABLE}/s"]
    assert "Authorization" in scene.server.requests[0].headers


def test_an_error_if_every_copy_is_wrong(scene: Scene) -> None:
    scene.store.script.append(answer(403, "sign=secret is wrong"))
    scene.server.script.append(scene.tar(content=8))
    with pytest.raises(PartialResultError) as error:
        scene.fetch()
    assert f"Server_1: its tar has crc {crc_of(8)}, not {crc_of(7)}" in error.value.message
    assert "secret" not in str(error.value)
    assert not list(scene.work.iterdir())


def test_a_name_that_leaves_the_folder_is_rejected(scene: Scene) -> None:
    with pytest.raises(ConfigError, match="is not a valid name"):
        scene.fetch("../../x")
