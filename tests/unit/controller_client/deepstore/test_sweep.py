"""What is swept, and what may still be needed."""

from __future__ import annotations

import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName, TableType
from controller_client.deepstore.judge import StoredState
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.listing import StoreListing
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.quarantine import DEFAULT_QUARANTINE_DAYS, QUARANTINE_FOLDER
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.report import AuditReport
from controller_client.deepstore.store_mark import MARK_FILE, StoreOwner
from controller_client.deepstore.sweep import DEFAULT_MAX_SHARE, Leftover, LeftoverKind, Sweeper, sweep_tables
from controller_client.deepstore.watch import Watch
from controller_client.errors import ConfigError, ConflictError, DataError
from controller_client.filestore.local import LocalStore
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import WATCH
from controller_client.zookeeper import PropertyStore, ZNRecord, segment_path
from pinotctl.commands.deepstore.options import check_owner
from pinotctl.context import CliContext
from tests.unit.controller_client.deepstore.samples import TABLE
from tests.unit.controller_client.deepstore.world import World
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import memory_store

NAME = "t__0__3__20260101T0000Z"
LOT = "0b3d7a52-5a2c-4a3e-9a55-a2ff6c1f0e11"
OLD_S = 90_000.0
DAY_S = 86_400.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.properties.create(
        segment_path(TABLE, "t__0__9__20260102T0000Z"), ZNRecord("t__0__9__20260102T0000Z")
    )
    yield world
    world.client.close()


def sweeper(
    world: World,
    *,
    properties: PropertyStore | None = None,
    max_share: float = 1.0,
    quarantine_days: int = DEFAULT_QUARANTINE_DAYS,
    later_days: float = 0.0,
) -> Sweeper:
    clock = FakeClock()
    clock.advance(later_days * DAY_S)
    return Sweeper(
        properties or world.properties,
        world.layout,
        lambda _uri: world.files,
        RateLimit(1e9, FakeClock()),
        clock,
        min_age_s=86_400.0,
        max_share=max_share,
        quarantine_days=quarantine_days,
    )


def put(world: World, name: str, age_s: float = OLD_S) -> Path:
    path = world.stored("x").with_name(name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"tar")
    written_s = FakeClock().now() - age_s
    os.utime(path, (written_s, written_s))
    return path


def record(world: World, *, status: str = "DONE", url: str = "") -> None:
    fields = {"segment.realtime.status": status, "segment.crc": "7", "segment.download.url": url}
    world.properties.create(segment_path(TABLE, NAME), ZNRecord(NAME, simple_fields=fields))


def swept(world: World) -> list[tuple[str, str]]:
    looker = sweeper(world)
    deleted: list[Leftover] = []
    for found in looker.find([TABLE]):
        assert tuple(done.leftover for done in looker.remove(found)) == found.leftovers
        deleted += found.leftovers
    return [(Path(each.uri).name, each.kind.value) for each in deleted]


@pytest.mark.parametrize("name", [f"{NAME}.tmp.{LOT}", f"{NAME}{LOT}"])
@pytest.mark.parametrize(
    ("status", "has_url", "is_swept"),
    [
        (None, False, True),
        ("DONE", True, True),
        # Kept for a repair: the server may still move it.
        ("DONE", False, False),
        ("IN_PROGRESS", False, False),
        ("COMMITTING", False, False),
    ],
)
def test_a_temporary_object_is_deleted_if_its_segments_url_points_elsewhere_or_it_is_gone(
    world: World, name: str, status: str | None, has_url: bool, is_swept: bool
) -> None:
    path = put(world, name)
    if status:
        record(world, status=status, url=world.layout.url(TABLE, NAME) if has_url else "")
    assert swept(world) == ([(name, "temporary_name")] if is_swept else [])
    assert path.exists() != is_swept


def test_a_temporary_object_that_a_url_points_to_is_kept(world: World) -> None:
    name = f"{NAME}.tmp.{LOT}"
    put(world, name)
    record(world, url=world.layout.url(TABLE, name))
    assert swept(world) == []


def test_uploads_of_deleted_segments_are_deleted_and_others_kept(world: World) -> None:
    gone = put(world, "t__0__1__20260101T0000Z")
    here = put(world, NAME)
    record(world)
    assert swept(world) == [(gone.name, "segment_gone")]
    assert here.exists()


@pytest.mark.parametrize(
    "name",
    [
        "t_batch_0",
        f"t_batch_0.tmp.{LOT}",
        "other__0__1__20260101T0000Z",
        f"other__0__1__20260101T0000Z.tmp.{LOT}",
        f"{NAME}.tmp.1",
        f"folder/{NAME}.tmp.{LOT}",
        "notes.txt",
    ],
)
def test_what_the_tables_servers_do_not_commit_is_kept(world: World, name: str) -> None:
    path = world.stored("x").parent / name
    path.parent.mkdir(parents=True, exist_ok=True)
    put(world, "t__0__1__20260101T0000Z").rename(path)
    assert swept(world) == []


@pytest.mark.parametrize("name", [NAME, f"{NAME}.tmp.{LOT}"])
def test_what_was_pushed_to_the_offline_table_is_kept(world: World, name: str) -> None:
    put(world, name)
    offline = TABLE.as_type(TableType.OFFLINE)
    world.properties.create(segment_path(offline, NAME), ZNRecord(NAME))
    assert swept(world) == []


def test_a_table_whose_folder_cannot_be_swept_does_not_stop_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(world, f"{NAME}.tmp.{LOT}")
    children = world.properties.children

    def broken(where: str) -> list[str]:
        if "first" in where:
            raise ValueError("no such record")
        return children(where)

    monkeypatch.setattr(world.properties, "children", broken)
    folder = path.parent.parent / "first"
    folder.mkdir()
    assert sweep_tables(sweeper(world), [TableName("first_REALTIME"), TABLE], lambda: False) == 1
    assert not path.exists()


def test_young_objects_are_kept(world: World) -> None:
    put(world, f"{NAME}.tmp.{LOT}", age_s=3_600.0)
    assert swept(world) == []


def test_a_table_without_any_records_is_skipped(tmp_path: Path) -> None:
    world = World(tmp_path)
    put(world, NAME)
    assert swept(world) == []
    assert list(sweeper(world).find([TableName("t_OFFLINE"), TableName("none_REALTIME")])) == []
    world.client.close()


def test_what_is_needed_again_before_its_deletion_is_kept(world: World) -> None:
    path = put(world, f"{NAME}.tmp.{LOT}")
    looker = sweeper(world)
    (found,) = looker.find([TABLE])
    assert [each.kind for each in found.leftovers] == [LeftoverKind.TEMPORARY]
    record(world)
    assert list(looker.remove(found)) == []
    assert path.exists()


def test_a_stopped_sweep_deletes_nothing_more(world: World) -> None:
    paths = [put(world, f"{NAME}.tmp.{uuid.UUID(int=number)}") for number in range(3)]
    looker = sweeper(world)
    (found,) = looker.find([TABLE])
    asked = iter([False, False, True])
    assert len(list(looker.remove(found, lambda: next(asked)))) == 2
    assert sum(path.exists() for path in paths) == 1


@given(lot=st.uuids(), sequence=st.integers(0, 10**6), middle=st.sampled_from(["", ".tmp."]))
def test_every_temporary_name_is_mapped_to_its_segment(lot: uuid.UUID, sequence: int, middle: str) -> None:
    from controller_client.deepstore.sweep import _TEMPORARY

    segment = f"some_table__3__{sequence}__20260101T0000Z"
    found = _TEMPORARY.fullmatch(f"{segment}{middle}{lot}")
    assert found is not None
    assert found[1] == segment
    assert _TEMPORARY.fullmatch(segment) is None


GONE = [f"t__0__{number}__20250101T0000Z" for number in range(3)]


def test_the_segments_of_another_cluster_are_not_deleted(world: World) -> None:
    """A store in which this cluster knows nothing: a wrong --store, --cluster or ZooKeeper."""
    paths = [put(world, name) for name in GONE]
    looker = sweeper(world, max_share=DEFAULT_MAX_SHARE)
    (found,) = looker.find([TABLE])
    assert len(found.leftovers) == len(paths)
    with pytest.raises(
        ConflictError, match=r"3 of 3 objects .* no record of \(100%, more than 20%\)"
    ) as caught:
        list(looker.remove(found))
    assert "--max-share 100" in str(caught.value)
    assert all(path.exists() for path in paths)
    assert sweep_tables(looker, [TABLE], lambda: False) == 0
    # Nothing is written to a store that nothing is deleted from.
    assert not mark_of(world).exists()


def test_a_small_share_without_records_is_deleted(world: World) -> None:
    gone = put(world, GONE[0])
    record(world)
    for kept in (NAME, *(f"{NAME}.tmp.{uuid.UUID(int=number)}" for number in range(3))):
        put(world, kept, age_s=0.0)
    assert sweep_tables(sweeper(world, max_share=DEFAULT_MAX_SHARE), [TABLE], lambda: False) == 1
    assert not gone.exists()
    put(world, GONE[0])
    put(world, GONE[1], age_s=0.0)  # too young to be deleted, but nobody knows it either
    assert sweep_tables(sweeper(world, max_share=DEFAULT_MAX_SHARE), [TABLE], lambda: False) == 0


def test_what_this_cluster_has_recorded_is_deleted_whatever_the_share(world: World) -> None:
    record(world, url=world.layout.url(TABLE, NAME))
    temporary = put(world, f"{NAME}.tmp.{LOT}")
    for name in GONE:
        put(world, name, age_s=0.0)
    assert sweep_tables(sweeper(world, max_share=DEFAULT_MAX_SHARE), [TABLE], lambda: False) == 1
    assert not temporary.exists()


def mark_of(world: World) -> Path:
    return Path(world.layout.root.removeprefix("file://")) / MARK_FILE


def test_a_store_that_was_swept_is_refused_to_another_cluster(world: World) -> None:
    put(world, GONE[0])
    assert swept(world)
    assert mark_of(world).exists()
    put(world, GONE[0])
    assert swept(world), "a store is swept again by its own cluster"
    path = put(world, GONE[0])
    other, _ = memory_store()
    other.create(segment_path(TABLE, NAME), ZNRecord(NAME))
    looker = sweeper(world, properties=other)
    (found,) = looker.find([TABLE])
    with pytest.raises(ConflictError, match="has the mark of another cluster, c"):
        list(looker.remove(found))
    assert path.exists()
    # Another folder of the same bucket is another store.
    part = replace(world.layout, root=f"{world.layout.root}/part")
    assert not StoreOwner(other, part, lambda _uri: world.files).check()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "[" * 9_000,
        " " * 11_000,
        "{}",
        '{"id": 1, "cluster": "c"}',
        '{"id": "", "cluster": "c"}',
    ],
)
def test_a_damaged_mark_is_not_taken_for_none(world: World, text: str) -> None:
    path = put(world, GONE[0])
    mark_of(world).write_text(text)
    looker = sweeper(world)
    (found,) = looker.find([TABLE])
    with pytest.raises(DataError, match="mark"):
        list(looker.remove(found))
    assert path.exists()


def test_of_two_clusters_that_mark_a_store_at_the_same_time_one_is_refused(world: World) -> None:
    path = put(world, GONE[0])
    other, _ = memory_store()

    def overtake() -> None:
        world.files.after = lambda: None
        StoreOwner(other, world.layout, lambda _uri: world.files).claim()

    world.files.after = overtake
    looker = sweeper(world)
    (found,) = looker.find([TABLE])
    with pytest.raises(ConflictError, match="mark of another cluster"):
        list(looker.remove(found))
    assert path.exists()


def quarantined(world: World) -> list[Path]:
    root = Path(world.layout.root.removeprefix("file://"))
    return sorted(path for path in (root / QUARANTINE_FOLDER).rglob("*") if path.is_file())


def test_what_is_swept_is_kept_in_the_quarantine_for_days_and_can_be_copied_back(world: World) -> None:
    path = put(world, GONE[0])
    (found,) = sweeper(world).find([TABLE])
    (done,) = sweeper(world).remove(found)
    (kept,) = quarantined(world)
    day = datetime.fromtimestamp(FakeClock().now(), UTC).date().isoformat()
    assert kept.relative_to(kept.parents[2]) == Path(day, TABLE.raw, GONE[0])
    assert done.moved_to == f"file://{kept}"
    assert kept.read_bytes() == b"tar"
    assert not path.exists()
    # Neither a sweep nor an audit takes the quarantine for a table's folder.
    assert list(sweeper(world).find([TABLE])) == []
    listing = StoreListing(world.layout, lambda _uri: world.files)
    assert listing.inspect(world.layout.url(TABLE, GONE[0])).state is StoredState.ABSENT
    # The layout is the store's, so that a plain copy restores it.
    shutil.copytree(kept.parents[1], kept.parents[3], dirs_exist_ok=True)
    assert path.read_bytes() == b"tar"
    # Of two objects with the same name, the later one is kept.
    assert swept(world)
    assert quarantined(world) == [kept]


@pytest.mark.parametrize(("later_days", "is_over"), [(0.0, False), (7.0, False), (8.0, True), (400.0, True)])
def test_what_is_in_the_quarantine_is_deleted_only_after_full_days(
    world: World, later_days: float, is_over: bool
) -> None:
    put(world, GONE[0])
    assert swept(world)
    foreign = mark_of(world).with_name(QUARANTINE_FOLDER) / "notes" / "x"
    foreign.parent.mkdir()
    foreign.write_bytes(b"mine")
    looker = sweeper(world, later_days=later_days)
    assert looker.expired() == is_over
    assert looker.delete_expired(lambda: True) == 0
    assert sweep_tables(looker, [], lambda: False) == 0
    assert len(quarantined(world)) == 2 - is_over
    assert foreign.exists()


def test_the_quarantine_of_another_cluster_is_not_emptied(world: World) -> None:
    put(world, GONE[0])
    assert swept(world)
    other, _ = memory_store()
    looker = sweeper(world, properties=other, later_days=400.0)
    with pytest.raises(ConflictError, match="mark of another cluster"):
        looker.delete_expired()
    assert sweep_tables(looker, [], lambda: False) == 0
    mark_of(world).unlink()
    assert looker.delete_expired() == 0
    assert len(quarantined(world)) == 1


def test_without_a_quarantine_leftovers_are_deleted_at_once(world: World) -> None:
    path = put(world, GONE[0])
    looker = sweeper(world, quarantine_days=0)
    (found,) = looker.find([TABLE])
    assert [done.moved_to for done in looker.remove(found)] == [None]
    assert not path.exists()
    assert quarantined(world) == []
    with pytest.raises(ConfigError, match="-1 days"):
        sweeper(world, quarantine_days=-1)


def test_a_store_of_another_package_that_cannot_move_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(world, GONE[0])
    monkeypatch.delattr(LocalStore, "move")
    (found,) = sweeper(world).find([TABLE])
    with pytest.raises(ConfigError, match="cannot move objects") as caught:
        list(sweeper(world).remove(found))
    assert "--quarantine-days 0" in str(caught.value)
    assert path.exists()
    assert len(list(sweeper(world, quarantine_days=0).remove(found))) == 1


def test_what_another_sweep_has_taken_away_is_not_counted(world: World) -> None:
    path = put(world, GONE[0])
    (found,) = sweeper(world).find([TABLE])
    path.unlink()
    assert list(sweeper(world).remove(found)) == []


class Commands:
    """In place of a command's context."""

    def __init__(self, store: PropertyStore) -> None:
        self._store = store

    def property_store(self) -> PropertyStore:
        return self._store


def test_a_command_starts_without_the_store_but_not_on_another_clusters(world: World) -> None:
    def check(store: PropertyStore, layout: StoreLayout = world.layout) -> None:
        check_owner(cast("CliContext", Commands(store)), layout)

    other, _ = memory_store()
    for store in (world.properties, other):
        check(store)
        # The commands are for outages of the store, and for stores that cannot be inspected.
        check(store, replace(world.layout, root="hdfs://name/segments"))
    StoreOwner(world.properties, world.layout, lambda _uri: world.files).claim()
    check(world.properties)
    with pytest.raises(ConflictError, match="mark of another cluster"):
        check(other)
    mark_of(world).write_text("{")
    with pytest.raises(DataError, match="mark"):
        check(world.properties)


def test_the_watch_sweeps_after_its_repairs_and_counts(world: World) -> None:
    put(world, f"{NAME}.tmp.{LOT}")
    stop = threading.Event()
    monitoring = Monitoring(WATCH, FakeClock())
    metrics = WatchMetrics(monitoring, 1.0)

    def sweep(stopped: Callable[[], bool]) -> int:
        return sweep_tables(sweeper(world), [TABLE], stopped)

    def audit() -> AuditReport:
        return AuditReport("s3://b/x", 2, 0, 0.0, ())

    watch = Watch(audit, None, metrics, FakeClock(), interval_s=1.0, parallel=1, sweep=sweep)
    assert watch.round(stop)
    assert watch.round(stop)
    assert "pinot_plugins_deepstore_swept_objects_total 1.0\n" in monitoring.text()
