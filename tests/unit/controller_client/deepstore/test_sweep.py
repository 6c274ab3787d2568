"""What is swept, and what may still be needed."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName, TableType
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.report import AuditReport
from controller_client.deepstore.sweep import LeftoverKind, Sweeper, sweep_tables
from controller_client.deepstore.watch import Watch
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import WATCH
from controller_client.zookeeper import ZNRecord, segment_path
from tests.unit.controller_client.deepstore.samples import TABLE
from tests.unit.controller_client.deepstore.world import World
from tests.unit.fake_clock import FakeClock

NAME = "t__0__3__20260101T0000Z"
LOT = "0b3d7a52-5a2c-4a3e-9a55-a2ff6c1f0e11"
OLD_S = 90_000.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.properties.create(
        segment_path(TABLE, "t__0__9__20260102T0000Z"), ZNRecord("t__0__9__20260102T0000Z")
    )
    yield world
    world.client.close()


def sweeper(world: World, clock: FakeClock | None = None) -> Sweeper:
    clock = clock or FakeClock()
    rate = RateLimit(1e9, FakeClock())
    return Sweeper(world.properties, world.layout, lambda _uri: world.files, rate, clock, min_age_s=86_400.0)


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
    found = list(looker.find([TABLE]))
    assert list(looker.delete(found)) == found
    return [(Path(each.uri).name, each.kind.value) for each in found]


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
    found = list(looker.find([TABLE]))
    assert [each.kind for each in found] == [LeftoverKind.TEMPORARY]
    record(world)
    assert list(looker.delete(found)) == []
    assert path.exists()


def test_a_stopped_sweep_deletes_nothing_more(world: World) -> None:
    paths = [put(world, f"{NAME}.tmp.{uuid.UUID(int=number)}") for number in range(3)]
    looker = sweeper(world)
    found = list(looker.find([TABLE]))
    asked = iter([False, False, True])
    assert len(list(looker.delete(found, lambda: next(asked)))) == 2
    assert sum(path.exists() for path in paths) == 1


@given(lot=st.uuids(), sequence=st.integers(0, 10**6), middle=st.sampled_from(["", ".tmp."]))
def test_every_temporary_name_is_mapped_to_its_segment(lot: uuid.UUID, sequence: int, middle: str) -> None:
    from controller_client.deepstore.sweep import _TEMPORARY

    segment = f"some_table__3__{sequence}__20260101T0000Z"
    found = _TEMPORARY.fullmatch(f"{segment}{middle}{lot}")
    assert found is not None
    assert found[1] == segment
    assert _TEMPORARY.fullmatch(segment) is None


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
