"""A repair that is killed, races with others, or gets wrong copies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.judge import Replica
from controller_client.deepstore.repair import Repairer, RepairOutcome
from controller_client.deepstore.repair_many import repair_all
from controller_client.errors import ConfigError, ConflictError, OutcomeUnknownError, SourceError
from controller_client.filestore import kinds
from controller_client.filestore.local import LocalStore
from controller_client.segment_tar import TarLimits, content_crc
from controller_client.zookeeper import segment_path
from tests.unit.controller_client.deepstore.samples import TABLE, crc_of, write_tar
from tests.unit.controller_client.deepstore.world import Killed, World

A = Replica("a", "ONLINE")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """With a segment that server a has, and the store does not."""
    world = World(tmp_path)
    world.add()
    world.give("a", content=7)
    yield world
    world.client.close()
    assert not list(world.work.iterdir()), "files of repairs are left behind"


LIMITS = TarLimits()


def assert_right(world: World, content: int = 7) -> None:
    record = world.record()
    assert record.crc == crc_of(content)
    assert record.url == world.layout.url(TABLE, "s")
    assert content_crc(world.stored(), LIMITS) == record.crc
    assert record.size_bytes == world.stored().stat().st_size


def test_a_server_that_reported_the_right_crc_is_tried_first(world: World) -> None:
    world.give("b", content=7)
    world.repairer.repair(world.judged(A, Replica("b", "ONLINE", crc_of(7))))
    assert world.servers.downloads == ["b"]


@pytest.mark.parametrize("step", ["before upload", "after upload", "before the url"])
def test_a_killed_repair_is_finished_by_the_next(world: World, step: str) -> None:

    def die() -> None:
        raise Killed

    world.at(step, die)
    with pytest.raises(Killed):
        world.repairer.repair(world.judged(A))
    assert world.record().url == ""
    uploads = world.files.uploads
    assert world.new_repairer().repair(world.judged(A)).outcome is RepairOutcome.REPAIRED
    assert_right(world)
    assert world.files.uploads == (1 if step == "before upload" else uploads), "uploaded again"


def test_a_repair_that_is_overtaken_finds_it_good(world: World) -> None:

    def overtake() -> None:
        assert world.new_repairer().repair(world.judged(A)).outcome is RepairOutcome.REPAIRED

    world.at("before the url", overtake)
    assert world.repairer.repair(world.judged(A)).outcome is RepairOutcome.GOOD
    assert world.record().version == 1
    assert_right(world)


@pytest.mark.parametrize(
    ("moment", "outcome"),
    [
        # It overwrites what was pushed, notices that, and uploads the new segment.
        ("before upload", RepairOutcome.REPAIRED),
        ("after upload", RepairOutcome.GOOD),
        ("before the url", RepairOutcome.GOOD),
    ],
)
def test_a_segment_that_is_pushed_again_meanwhile_ends_with_its_new_copy(
    world: World, moment: str, outcome: RepairOutcome
) -> None:

    def push() -> None:
        write_tar(world.stored(), content=8)
        world.give("a", content=8)
        world.change("s", content=8, url=world.layout.url(TABLE, "s"))

    world.at(moment, push)
    done = world.repairer.repair(world.judged(A))
    assert done.outcome is outcome
    assert content_crc(world.stored(), LIMITS) == world.record().crc == crc_of(8)


@pytest.mark.parametrize("moment", ["before", "after upload"])
def test_a_segment_that_is_deleted_meanwhile_leaves_nothing(world: World, moment: str) -> None:
    judged = world.judged(A)

    def delete() -> None:
        world.properties.delete(segment_path(TABLE, "s"))

    if moment == "before":
        delete()
    else:
        world.at(moment, delete)
    assert world.repairer.repair(judged).outcome is RepairOutcome.GONE
    assert not world.stored().exists()


def test_a_wrong_object_is_replaced_and_its_size_recorded(world: World) -> None:
    world.change("s", content=7, url=world.layout.url(TABLE, "s"), size=12345)
    write_tar(world.stored(), content=99)
    assert world.repairer.repair(world.judged(A)).outcome is RepairOutcome.REPAIRED
    assert_right(world)


def test_a_good_object_with_another_size_is_kept(world: World) -> None:
    world.change("s", content=7, url=world.layout.url(TABLE, "s"), size=12345)
    write_tar(world.stored(), content=7)
    assert world.repairer.repair(world.judged()).outcome is RepairOutcome.REPAIRED
    assert_right(world)
    assert world.files.uploads == 0


def test_a_failing_store_is_reported(world: World) -> None:

    def refuse() -> None:
        raise SourceError("the store refuses")

    world.at("before upload", refuse)
    done = world.repairer.repair(world.judged(A))
    assert (done.outcome, done.message) == (RepairOutcome.FAILED, "the store refuses")
    assert world.record().version == 0


def test_many_in_parallel_and_none_after_a_stop(world: World) -> None:
    names = [f"s{number}" for number in range(12)]
    for name in names:
        world.add(name)
        world.give("a", content=7, name=name)
    judged = [world.judged(A, name=name) for name in names]
    dry = list(repair_all(world.repairer, judged, parallel=5, dry_run=True))
    assert {each.outcome for each in dry} == {RepairOutcome.WOULD_REPAIR}
    assert world.files.uploads == 0
    assert list(repair_all(world.repairer, judged, parallel=5, stopped=lambda: True)) == []
    done = list(repair_all(world.repairer, judged, parallel=5))
    assert sorted(each.segment for each in done) == sorted(names)
    assert {each.outcome for each in done} == {RepairOutcome.REPAIRED}
    with pytest.raises(ConfigError):
        list(repair_all(world.repairer, judged, parallel=0))


def test_a_lost_reply_stays_unknown_if_the_record_keeps_changing(world: World) -> None:
    failures = iter([OutcomeUnknownError("the reply was lost"), *[ConflictError("changed")] * 9])

    def fail(_path: str) -> None:
        raise next(failures)

    world.zookeeper.before_set = fail
    done = world.repairer.repair(world.judged(A))
    assert (done.outcome, done.message) == (RepairOutcome.FAILED, "the reply was lost")


def test_a_repair_opens_the_store_once_and_reads_each_size_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, sizes = [], []

    class Counted(LocalStore):
        def __init__(self, folder_uri: str | None = None) -> None:
            super().__init__(folder_uri)
            opened.append(self)

        def size_bytes(self, uri: str) -> int | None:
            sizes.append(uri)
            return super().size_bytes(uri)

    monkeypatch.setattr(kinds, "LocalStore", Counted)
    repairer = Repairer(
        world.properties, world.layout, SegmentFetcher(world.client, world.servers), world.work
    )
    world.add("t")
    world.give("a", name="t")
    for name in ("s", "t"):
        target = world.layout.object_uri(TABLE, name)
        write_tar(world.stored(name), content=8, name=name)
        sizes.clear()
        assert repairer.repair(world.judged(A, name=name)).outcome is RepairOutcome.REPAIRED
        assert sizes == [target, target], "of what was there, and of what was uploaded"
    assert len(opened) == 1
