from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.judge import Replica
from controller_client.deepstore.remote_copies import Place, fetch_first
from controller_client.errors import ConflictError, NotFoundError, SetupError, SourceError
from controller_client.segment_tar import TarLimits
from tests.unit.controller_client.deepstore.samples import TABLE, crc_of, record, write_tar
from tests.unit.controller_client.deepstore.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def fetcher(world: World) -> SegmentFetcher:
    return SegmentFetcher(world.client, world.servers, open_store=lambda _uri: world.files)


def stored_url(world: World) -> str:
    return world.layout.object_uri(TABLE, "s")


def test_the_store_comes_first(world: World, tmp_path: Path) -> None:
    size = write_tar(world.stored(), content=7)
    world.give("a", content=7)
    found = fetcher(world).fetch(record(url=stored_url(world)), [Replica("a", "ONLINE")], tmp_path / "s")
    assert (found.place, found.size_bytes, found.refused) == ("store", size, ())
    assert world.servers.downloads == []


@pytest.mark.parametrize("content", [None, b"", b"no tar", "another"])
def test_then_servers_with_the_right_crc(world: World, tmp_path: Path, content: bytes | str | None) -> None:
    if content == "another":
        write_tar(world.stored(), content=8)
    elif isinstance(content, bytes):
        world.stored().parent.mkdir()
        world.stored().write_bytes(content)
    world.give("b", content=9)
    world.give("d", content=7)
    replicas = [
        Replica("a", "ERROR"),
        Replica("b", "ONLINE"),
        Replica("c", "ONLINE", 8),
        Replica("d", "ONLINE"),
        Replica("e", "ONLINE"),
    ]
    found = fetcher(world).fetch(record(url=stored_url(world)), replicas, tmp_path / "s")
    assert found.place == "d"
    reasons = {each.place: each.reason for each in found.refused}
    assert reasons.keys() == {"store", "a", "b", "c"}
    assert (reasons["a"], reasons["c"]) == ("it is ERROR", f"it has crc 8, not {crc_of(7)}")
    assert world.servers.downloads == ["b", "d"]


@pytest.mark.parametrize(
    "url", ["http://[", "https:", "s3://[", "file:///a/../b", "http://me:secret@host:x/s"]
)
def test_with_an_invalid_url_servers_are_tried(world: World, tmp_path: Path, url: str) -> None:
    world.give("a")
    found = fetcher(world).fetch(record(url=url), [Replica("a", "ONLINE")], tmp_path / "s")
    assert found.place == "a"
    (refused,) = found.refused
    assert refused.place == "store"
    assert "secret" not in refused.reason


def test_nothing_is_left_behind_if_no_place_has_it(world: World, tmp_path: Path) -> None:
    world.give("a", content=8)
    with pytest.raises(NotFoundError) as refused:
        fetcher(world).fetch(record(), [Replica("a", "ONLINE"), Replica("b", "ONLINE")], tmp_path / "s")
    for word in (
        "no download URL",
        f"a: its tar has crc {crc_of(8)}, not {crc_of(7)}",
        "b: b does not have s",
    ):
        assert word in refused.value.message
    assert not (tmp_path / "s").exists()
    with pytest.raises(ConflictError):
        fetcher(world).fetch(record(status="IN_PROGRESS"), [], tmp_path / "s")


def _full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


def _in_the_store(_path: Path, _most: int) -> None:
    """As a store that copies files reports it."""
    try:
        raise _full()
    except OSError as error:
        raise SourceError("the object cannot be read") from error


def _raw(_path: Path, _most: int) -> None:
    raise _full()


@pytest.mark.parametrize("download", [_in_the_store, _raw])
def test_a_full_disk_is_not_blamed_on_a_place(tmp_path: Path, download: Callable[[Path, int], None]) -> None:
    places = [Place("a", download), Place("b", lambda path, _most: write_tar(path))]
    with pytest.raises(SetupError, match="No space left on device"):
        fetch_first("s", record().expected, places, tmp_path / "s", TarLimits())
    assert not list(tmp_path.iterdir())
