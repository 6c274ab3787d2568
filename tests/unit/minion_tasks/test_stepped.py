"""A run started by one process and ended by another; see ``session_world``."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from controller_client.common.names import TableName
from controller_client.errors import ConflictError
from controller_client.zookeeper import TableLock
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.run.stepped import SteppedRun
from minion_tasks.file_ingestion.run.types import FilesFailedError, RunOutcome, RunReport, RunTools
from minion_tasks.file_ingestion.session.model import SessionState
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.unit.minion_tasks.happenings import Happenings, ProcessDiedError
from tests.unit.minion_tasks.life import APPEND, SWAP, SYNC, Life
from tests.unit.minion_tasks.session_world import World

NO_RETRIES = {"consistentPushEnabled": "true"}


@dataclass
class Steps:
    """The steps of the run of a request."""

    life: Life
    request: str
    happenings: Happenings = field(default_factory=Happenings)

    def begin(self) -> RunReport:
        return self._run(None)

    def end(self, begun: RunReport) -> RunReport:
        assert begun.outcome is RunOutcome.BEGUN
        return self._run(begun.session_id)

    def _run(self, session_id: str | None) -> RunReport:
        world = self.life.world

        def step(
            tools: RunTools,
            table: TableName,
            params: FileIngestionParams,
            sessions: SessionStore,
            lock: TableLock,
        ) -> RunReport:
            run = SteppedRun(
                tools, table, params, sessions, lock, self.request, is_over=lambda job: not world.jobs[job]
            )
            return run.trigger() if session_id is None else run.end(session_id)

        return world.run(self.life.params(), self.happenings, step)


@pytest.mark.parametrize(
    "mode", [APPEND, SYNC, SWAP, NO_RETRIES], ids=["append", "sync", "swap", "no retries"]
)
def test_the_table_changes_only_when_the_run_is_ended(world: World, mode: dict[str, str]) -> None:
    life = Life(world, mode)
    life.write("F0")
    life.trigger()
    before = dict(life.seen)
    life.write("F1", "F2")
    mine = Steps(life, "r1")
    begun = mine.begin()
    assert (begun.outcome, life.session.state) == (RunOutcome.BEGUN, SessionState.IN_PROGRESS)
    world.run_leftovers()
    assert life.seen == before
    ended = mine.end(begun)
    assert (ended.outcome, ended.session_id) == (RunOutcome.SWITCHED, begun.session_id)
    assert (life.seen, life.session.retry_count) == (world.source, 0)
    assert world.staged == {}


@pytest.mark.parametrize("mode", [APPEND, NO_RETRIES], ids=["append", "no retries"])
def test_a_repeated_request_finds_the_run_of_its_first_try(world: World, mode: dict[str, str]) -> None:
    life = Life(world, mode)
    life.write("F1", "F2")
    mine = Steps(life, "r1")
    begun = mine.begin()
    again = mine.begin()
    assert (again.outcome, again.session_id) == (RunOutcome.BEGUN, begun.session_id)
    world.run_leftovers()
    # The process was killed before ending the run: the next try ends it.
    ended = mine.begin()
    assert (ended.outcome, ended.session_id, ended.retry_count) == (RunOutcome.SWITCHED, begun.session_id, 0)
    assert life.seen == world.source
    # The process was killed again, before it could report the end.
    once_more = mine.begin()
    assert (once_more.outcome, once_more.session_id) == (RunOutcome.DONE_BEFORE, begun.session_id)
    assert (once_more.rows, once_more.files) == (ended.rows, 2)
    assert life.seen == world.source
    # Another request that finds nothing new reports nothing.
    assert Steps(life, "r2").begin().outcome is RunOutcome.NOTHING_NEW
    # If the request is repeated when there are new files, it is a run like any other.
    life.write("F3")
    begun = mine.begin()
    world.run_leftovers()
    assert mine.end(begun).outcome is RunOutcome.SWITCHED
    assert life.seen == world.source


def test_a_run_killed_in_its_switch_can_be_ended(world: World) -> None:
    life = Life(world, NO_RETRIES)
    life.write("F1", "F2", "F3")
    mine = Steps(life, "r1")
    begun = mine.begin()
    world.run_leftovers()
    for step in range(1, 40):
        mine.happenings = Happenings(run_dies_at=step)
        try:
            mine.end(begun)
        except ProcessDiedError:
            if life.session.state is SessionState.SWITCH:
                break
    assert life.session.state is SessionState.SWITCH
    mine.happenings = Happenings()
    assert mine.end(begun).outcome is RunOutcome.SWITCH_FINISHED
    assert life.seen == world.source


def test_the_run_of_another_request_goes_first(world: World) -> None:
    life = Life(world, NO_RETRIES)
    life.write("F1")
    first, second = Steps(life, "r1"), Steps(life, "r2")
    begun = first.begin()
    life.write("F2")
    watched = second.begin()
    assert watched.session_id == begun.session_id
    world.run_leftovers()
    own = second.end(watched)
    assert life.seen.keys() == {"F1"}
    assert (own.outcome, own.session_id == begun.session_id) == (RunOutcome.BEGUN, False)
    # The first request finds its session already done.
    assert first.end(begun).outcome is RunOutcome.DONE_BEFORE
    world.run_leftovers()
    assert second.end(own).outcome is RunOutcome.SWITCHED
    assert life.seen == world.source


def test_files_that_failed_are_read_again_by_the_next_try(world: World) -> None:
    life = Life(world, APPEND)
    life.write("F1", "F2")
    life.corrupt("F2")
    mine = Steps(life, "r1")
    begun = mine.begin()
    world.run_leftovers()
    with pytest.raises(FilesFailedError, match="row 7 is wrong"):
        mine.end(begun)
    world.faults = {}
    again = mine.begin()
    assert (again.outcome, again.session_id, again.retry_count) == (RunOutcome.BEGUN, begun.session_id, 1)
    world.run_leftovers()
    assert mine.end(again).outcome is RunOutcome.SWITCHED
    assert life.seen == world.source


def test_a_session_discarded_by_another_run_cannot_be_ended(world: World) -> None:
    life = Life(world, NO_RETRIES)
    life.write("F1")
    mine = Steps(life, "r1")
    begun = mine.begin()
    life.trigger()
    with pytest.raises(ConflictError, match="discarded by another run"):
        mine.end(begun)
    assert life.seen == world.source
