"""A table returns to an earlier version: all of it or nothing, wherever it is killed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_client.errors import ConfigError, ConflictError, NotFoundError, PinotPluginError
from minion_tasks.file_ingestion.run.cleaning import Cleaning
from minion_tasks.file_ingestion.run.preview import FirstAction, next_trigger
from minion_tasks.file_ingestion.run.rollback import RollbackRun, TableVersion, describe_versions, version_of
from minion_tasks.file_ingestion.run.types import HeldError, RunOutcome, RunReport
from minion_tasks.file_ingestion.session.model import Session, SessionState
from tests.unit.minion_tasks.happenings import Content, Happenings, ProcessDiedError
from tests.unit.minion_tasks.life import APPEND, SWAP, SYNC, Life
from tests.unit.minion_tasks.session_world import World

UPDATE = {**APPEND, "replaceChangedFiles": "true"}
MODES = {"append": APPEND, "update": UPDATE, "sync": SYNC, "swap": SWAP}
KEPT = "/kept/"


class VersionedLife(Life):
    """A table whose versions are kept, and what queries saw after each session."""

    def __init__(self, world: World, configs: dict[str, str], keep: int = 4) -> None:
        super().__init__(world, {**configs, "keepVersions": str(keep)})
        self.history: dict[str, dict[str, int]] = {}

    def publish(self, *names: str) -> str:
        """Change files, and publish that; return the version."""
        self.write(*names)
        self.trigger()
        return self.note()

    def note(self) -> str:
        self.history[self.session.session_id] = self.seen
        return self.session.session_id

    def run_rollback(self, version_id: str, happenings: Happenings | None = None) -> RunReport:
        return self.world.run(
            self.params(), happenings or Happenings(), lambda *args: RollbackRun(*args).roll_back(version_id)
        )

    def follow(self) -> Session | None:
        return self.world.run(self.params(), Happenings(), lambda *args: RollbackRun(*args).follow())

    def versions(self) -> list[TableVersion]:
        return self.world.run(
            self.params(),
            Happenings(),
            lambda tools, table, params, sessions, _lock: describe_versions(
                tools, params, sessions, Cleaning(tools, table, params, sessions)
            ),
        )

    @property
    def kept(self) -> set[str]:
        """Names of the segments that are kept."""
        names = (uri.rpartition("/")[2] for uri in self.world.staged if KEPT in uri)
        return {name.removesuffix(".7.tar.gz") for name in names}

    @property
    def left_staged(self) -> list[str]:
        return [uri for uri in self.world.staged if KEPT not in uri]


@pytest.fixture(params=MODES)
def life(request: pytest.FixtureRequest) -> Iterator[VersionedLife]:
    world = World()
    yield VersionedLife(world, MODES[request.param])
    world.close()


def test_each_version_can_be_returned_to(life: VersionedLife) -> None:
    ids = [life.publish("F1", "F2"), life.publish("F2", "F3"), life.publish("F4")]
    assert [version.session.session_id for version in life.versions()] == ids
    for version_id in (ids[0], ids[2], ids[1]):
        report = life.run_rollback(version_id)
        assert (report.outcome, report.session_id) == (RunOutcome.ROLLED_BACK, life.session.session_id)
        assert life.seen == life.history[version_id]
        assert (life.session.restores, life.session.state) == (version_id, SessionState.DONE)
        assert not life.left_staged


def test_no_run_starts_until_the_task_may_follow_its_source(life: VersionedLife) -> None:
    first = life.publish("F1")
    life.publish("F2")
    life.run_rollback(first)
    for _ in range(3):
        error = life.fails()
        assert isinstance(error, HeldError)
        assert f"was rolled back to version {first}" in error.message
        assert "'pinotctl task follow t_OFFLINE'" in str(error)
    now = next_trigger(None, life.world.sessions, life.params())  # type: ignore[arg-type]
    assert now.action is FirstAction.REFUSE
    assert "rolled back" in now.sentence(life.params())
    assert (life.seen, life.read) == (life.history[first], [])
    released = life.follow()
    assert released is not None
    assert released.restores == first
    assert life.follow() is None
    life.trigger()
    assert life.seen == life.world.source


@pytest.mark.parametrize("step", range(1, 26))
@pytest.mark.parametrize("mode", MODES)
def test_a_rollback_is_killed(mode: str, step: int) -> None:
    world = World()
    life = VersionedLife(world, MODES[mode])
    first, second = life.publish("F1", "F2"), life.publish("F2", "F3")
    before = life.history[second]
    try:
        life.run_rollback(first, Happenings(run_dies_at=step))
    except ProcessDiedError:
        assert life.seen in (before, life.history[first])
        with suppress(HeldError):
            life.trigger()  # finishes a switch that had begun, discards what had not
    at_first = life.seen == life.history[first]
    assert at_first or life.seen == before
    if at_first:
        assert isinstance(life.fails(), HeldError)
    else:
        life.run_rollback(first)
        assert life.seen == life.history[first]
    assert not life.left_staged
    world.close()


@pytest.mark.parametrize("step", range(1, 16))
def test_a_run_that_keeps_segments_is_killed(step: int) -> None:
    world = World()
    life = VersionedLife(world, SWAP)
    first = life.publish("F1", "F2")
    life.write("F2")
    with suppress(ProcessDiedError):
        life.trigger(Happenings(run_dies_at=step))
    if life.session.is_open or life.session.session_id == first:
        life.trigger()
    assert life.seen == world.source
    life.run_rollback(first)
    assert life.seen == life.history[first]
    world.close()


def test_only_what_versions_need_is_kept(life: VersionedLife) -> None:
    for number in range(8):
        life.publish("F1", f"F{number}")
        needed = {
            name for version in life.versions()[1:] for name in life.world.sessions.read_from(version.session)
        }
        assert life.kept == needed
    assert len(life.versions()) == 4
    assert len(life.world.sessions.ids()) == 4
    oldest = life.versions()[0].session.session_id
    life.run_rollback(oldest)
    assert life.seen == life.history[oldest]


def test_fewer_versions_are_kept_from_the_next_session_on(life: VersionedLife) -> None:
    for number in range(4):
        life.publish("F1", f"F{number}")
    del life.configs["keepVersions"]
    life.publish("F1", "F9")
    assert life.kept == set()
    assert [version.is_current for version in life.versions()] == [True]
    assert len(life.world.sessions.ids()) == 2
    with pytest.raises(ConfigError, match="keeps no earlier versions"):
        life.run_rollback(life.session.session_id)


def test_a_version_from_before_segments_were_kept_is_refused() -> None:
    world = World()
    life = VersionedLife(world, SWAP, keep=1)
    first = life.publish("F1")
    life.publish("F1", "F2")
    life.configs["keepVersions"] = "3"
    with pytest.raises(NotFoundError, match="1 of 1 segment to restore are not kept"):
        life.run_rollback(first)
    third = life.publish("F3")
    (_, second, last) = life.versions()
    assert (second.not_kept, last.is_current, last.session.session_id) == (0, True, third)
    assert second.restored_bytes == 10 * len(second.rollback.restored)
    world.close()


def test_other_writers_segments_stay(life: VersionedLife) -> None:
    first = life.publish("F1")
    life.world.table["foreign"] = Content({}, ())
    if life.configs == {**SWAP, "keepVersions": "4"}:
        life.publish("F2")
        assert "foreign" not in life.world.table  # swap replaces everything
        life.run_rollback(first)
        assert life.seen == life.history[first]
        return
    life.publish("F2")
    life.run_rollback(first)
    assert "foreign" in life.world.table
    assert life.seen == life.history[first]


def test_a_segment_that_retention_has_deleted_does_not_come_back() -> None:
    world = World()
    life = VersionedLife(world, APPEND)
    first = life.publish("F1")
    second = life.publish("F2")
    third = life.publish("F3")
    (expired,) = (name for name, content in world.table.items() if content.rows[0][0] == "F1")
    del world.table[expired]
    life.run_rollback(second)
    assert life.seen.keys() == {"F2"}
    assert version_of(life.versions(), third).rollback.restored
    life.run_rollback(first)
    assert life.seen == {}
    world.close()


def test_an_open_session_is_discarded_and_a_begun_switch_finished() -> None:
    world = World()
    life = VersionedLife(world, SYNC)
    first = life.publish("F1")
    life.publish("F2")
    life.write("F3")
    life.corrupt("F3")
    life.fails()
    assert life.session.is_open
    life.run_rollback(first)
    assert life.seen == life.history[first]
    assert life.session.restores == first
    world.faults = {}
    life.follow()
    states = []
    for step in range(1, 60):
        life.write("F4")
        with suppress(ProcessDiedError):
            life.trigger(Happenings(run_dies_at=step))
        states.append(life.session.state)
        if states[-1] is SessionState.SWITCH:
            break
        life.trigger()
    assert states[-1] is SessionState.SWITCH
    life.run_rollback(life.versions()[-1].session.session_id)
    assert "F4" not in life.seen or life.seen["F4"] != world.source["F4"]
    world.close()


def test_the_current_version_and_unknown_ones_are_refused(life: VersionedLife) -> None:
    with pytest.raises(NotFoundError, match="there is no version 'x'"):
        life.run_rollback("x")
    first = life.publish("F1")
    with pytest.raises(ConflictError, match="is the current version of t_OFFLINE"):
        life.run_rollback(first)


def test_versions_end_at_a_damaged_session(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    life = VersionedLife(world, SYNC)
    life.publish("F1")
    life.publish("F2")
    path = f"/MINION_TASK_METADATA/t_OFFLINE/FileIngestionTask/consistentPush/{life.session.session_id}"
    stored = world.store.get(path)
    assert stored is not None
    fields = {**stored.record.simple_fields, "state": "x"}
    world.store.set(path, type(stored.record)(stored.record.id, fields), expected_version=stored.version)
    assert life.versions() == []
    caplog.set_level(logging.WARNING)
    third = life.publish("F3")
    assert "the table can no longer be rolled back to a version before it" in caplog.text
    assert [version.session.session_id for version in life.versions()] == [third]
    world.close()


def test_versions_of_a_dropped_table_are_none(life: VersionedLife) -> None:
    life.publish("F1")
    life.publish("F2")
    life.world.create_table()
    assert life.versions() == []
    again = life.publish("F3")
    assert [version.session.session_id for version in life.versions()] == [again]


_FILES = st.lists(st.sampled_from(["F1", "F2", "F3", "F4"]), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(
    mode=st.sampled_from(sorted(MODES)),
    steps=st.lists(
        st.tuples(
            st.sampled_from(["publish", "delete", "return", "killed return"]),
            _FILES,
            st.integers(0, 5),
            st.integers(1, 25),
        ),
        min_size=2,
        max_size=8,
    ),
)
def test_any_history(mode: str, steps: list[tuple[str, list[str], int, int]]) -> None:
    world = World()
    life = VersionedLife(world, MODES[mode])
    life.publish("F0")
    for kind, names, number, step in steps:
        if kind == "publish":
            life.follow()
            life.publish(*names)
        elif kind == "delete":
            life.follow()
            life.world.source.pop(names[0], None)
            with suppress(PinotPluginError):
                life.trigger()
            life.note()
        else:
            earlier = [version for version in life.versions() if not version.is_current]
            if not earlier:
                continue
            target = earlier[number % len(earlier)].session.session_id
            try:
                life.run_rollback(target, Happenings(run_dies_at=step if kind == "killed return" else None))
            except ProcessDiedError:
                assert life.seen in life.history.values()
                life.run_rollback(target) if life.session.state is not SessionState.DONE else None
            if life.session.restores == target:
                assert life.seen == life.history[target]
                life.note()
    world.close()
