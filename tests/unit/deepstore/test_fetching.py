from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.deepstore import Replica, SegmentFetcher
from controller_client.errors import ConflictError, NotFoundError
from tests.unit.deepstore.samples import TABLE, record, write_tar
from tests.unit.deepstore.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def fetcher(world: World) -> SegmentFetcher:
    return SegmentFetcher(world.client, world.layout, world.servers, open_store=lambda _uri: world.files)


def stored_url(world: World) -> str:
    return world.layout.object_uri(TABLE, "s")


def test_the_store_comes_first(world: World, tmp_path: Path) -> None:
    size = write_tar(world.stored(), crc=7)
    world.give("a", crc=7)
    found = fetcher(world).fetch(record(url=stored_url(world)), [Replica("a", "ONLINE")], tmp_path / "s")
    assert (found.place, found.size_bytes, found.refused) == ("store", size, ())
    assert world.servers.downloads == []


@pytest.mark.parametrize("content", [None, b"", b"no tar", "other crc"])
def test_then_servers_with_the_right_crc(world: World, tmp_path: Path, content: bytes | str | None) -> None:
    if content == "other crc":
        write_tar(world.stored(), crc=8)
    elif isinstance(content, bytes):
        world.stored().parent.mkdir()
        world.stored().write_bytes(content)
    world.give("b", crc=9)
    world.give("d", crc=7)
    replicas = [
        Replica("a", "ERROR"),
        Replica("b", "ONLINE"),
        Replica("c", "ONLINE", 8),
        Replica("d", "ONLINE"),
        Replica("e", "ONLINE"),
    ]
    found = fetcher(world).fetch(record(url=stored_url(world)), replicas, tmp_path / "s")
    assert found.place == "d"
    assert {each.place for each in found.refused} == {"store", "a", "b", "c"}
    assert world.servers.downloads == ["b", "d"]


def test_nothing_is_left_where_no_place_has_it(world: World, tmp_path: Path) -> None:
    world.give("a", crc=8)
    with pytest.raises(NotFoundError) as refused:
        fetcher(world).fetch(record(), [Replica("a", "ONLINE"), Replica("b", "ONLINE")], tmp_path / "s")
    for word in ("no download url", "a: its tar has crc 8, not 7", "b: b does not have s"):
        assert word in refused.value.message
    assert not (tmp_path / "s").exists()
    with pytest.raises(ConflictError):
        fetcher(world).fetch(record(status="IN_PROGRESS"), [], tmp_path / "s")
