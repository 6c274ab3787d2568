"""When the wait for subtasks ends: Helix' answers are scripted, and the clock is a fake."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any

import pytest

from controller_client.errors import AuthError, NotAppliedError, PinotPluginError, UnreachableError
from controller_client.rest.instances import DRAINED
from minion_tasks.file_ingestion.engine.minion import MINION_CHECK_S, MinionEngine, NoMinionError
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from tests.unit.fake_clock import FakeClock
from tests.unit.minion_tasks.test_params import SAMPLE

PARAMS = FileIngestionParams.from_configs(SAMPLE)


Answer = tuple[str, Sequence[str | None]] | PinotPluginError


class PlayedTasks:
    """Answers of ``/tasks``: (state of the task, states of its subtasks) or an error; the last repeats."""

    def __init__(self, *answers: Answer) -> None:
        self._answers: Iterator[Any] = chain(answers, repeat(answers[-1]))
        self._subtasks: Sequence[str | None] = []

    def state(self, _name: str) -> str:
        answer = next(self._answers)
        if isinstance(answer, PinotPluginError):
            raise answer
        state, self._subtasks = answer
        return str(state)

    def subtask_states(self, _name: str) -> dict[str, str | None]:
        return {str(n): state for n, state in enumerate(self._subtasks)}


class PlayedStore:
    zookeeper_address = "127.0.0.1:1"
    cluster_name = "c"

    def __init__(self, tags: list[str]) -> None:
        self._tags = tags
        self.looks = 0

    def retag(self, tags: list[str]) -> None:
        self._tags = tags

    def live_instance_tags(self) -> dict[str, list[str]]:
        self.looks += 1
        return {"Minion_a": self._tags}


def make_engine(tasks: PlayedTasks, store: PlayedStore, clock: FakeClock | None = None) -> MinionEngine:
    client: Any = SimpleNamespace(tasks=tasks)
    played: Any = store
    return MinionEngine(client, played, clock or FakeClock())


TAGS = [PARAMS.minion_tag]


def wait(
    *answers: Answer,
    store: PlayedStore | None = None,
    is_settled: Callable[[], bool] = lambda: False,
    params: FileIngestionParams = PARAMS,
    retagged_after_s: float | None = None,
) -> float:
    """Wait for the subtasks; return after how many seconds that ended."""
    clock, store = FakeClock(), store or PlayedStore(TAGS)
    before = clock.monotonic()
    if retagged_after_s is not None:
        passed_s = retagged_after_s
        clock.on_sleep = lambda _: store.retag(TAGS) if clock.monotonic() > before + passed_s else None
    make_engine(PlayedTasks(*answers), store, clock).wait("Task_x", params, is_settled)
    return clock.monotonic() - before


RUNNING = ("IN_PROGRESS", ["RUNNING"])
DROPPED = ("IN_PROGRESS", ["COMPLETED", "DROPPED"])
DONE: tuple[str, list[str]] = ("COMPLETED", [])
WAITING = ("IN_PROGRESS", ["COMPLETED", None])


def test_the_wait_ends_with_the_task() -> None:
    assert wait(RUNNING, DONE) < 5


def test_the_wait_ends_with_the_last_result_before_helix_reports_it() -> None:
    looks = iter([False] * 7 + [True])
    wait(RUNNING, is_settled=lambda: next(looks))
    assert next(looks, None) is None


def test_a_task_whose_subtasks_were_all_dropped_is_abandoned_after_a_while() -> None:
    assert wait(DROPPED) > 60


@pytest.mark.parametrize(
    ("answers", "tags"),
    [
        pytest.param([RUNNING, *[NotAppliedError("no answer")] * 3000], TAGS, id="the controller restarts"),
        pytest.param(
            [*[DROPPED] * 100, *[("IN_PROGRESS", ["COMPLETED", "RUNNING"])] * 3000],
            TAGS,
            id="a subtask moves to another minion",
        ),
        pytest.param([WAITING] * 3000, TAGS, id="a subtask is not yet accepted"),
        pytest.param(
            [("IN_PROGRESS", ["RUNNING", None])] * 3000, [DRAINED], id="a drained minion runs a subtask"
        ),
    ],
)
def test_the_wait_continues_while(answers: list[Any], tags: list[str]) -> None:
    assert wait(*answers, DONE, store=PlayedStore(tags)) > 500


@pytest.mark.parametrize("error", [UnreachableError, AuthError])
def test_the_wait_fails_if_the_state_cannot_be_read_for_longer_than_a_subtask_may_run(
    error: type[NotAppliedError],
) -> None:
    clock, answers = FakeClock(), [error("the controller refuses")]
    before = clock.monotonic()
    engine = make_engine(PlayedTasks(*[RUNNING] * 100, *answers), PlayedStore(TAGS), clock)
    with pytest.raises(error, match="the controller refuses"):
        engine.wait("Task_x", PARAMS, lambda: False)
    assert clock.monotonic() - before > PARAMS.task_timeout_s
    begun_again: list[Answer] = [*answers * 10_000, RUNNING, *answers * 10_000, DONE]
    assert wait(*begun_again) > PARAMS.task_timeout_s


def test_the_wait_fails_without_a_suitable_minion() -> None:
    with pytest.raises(NoMinionError, match=PARAMS.minion_tag):
        wait(RUNNING, store=PlayedStore(["other"]))


def test_the_tags_of_all_instances_are_read_every_ten_seconds_not_at_each_poll() -> None:
    polls, store = iter(range(4000)), PlayedStore(TAGS)
    passed_s = wait(RUNNING, store=store, is_settled=lambda: next(polls) == 3999)
    assert passed_s > 900
    assert store.looks <= passed_s / MINION_CHECK_S + 1


def test_a_minion_that_returns_in_time_is_found() -> None:
    answers: list[Answer] = [*[("IN_PROGRESS", [None])] * 3000, DONE]
    assert wait(*answers, store=PlayedStore(["other"]), retagged_after_s=45) > 500


@pytest.mark.parametrize("states", [[None], ["COMPLETED", None], ["COMPLETED", "NOT_STARTED"]])
def test_a_drained_minion_starts_nothing(states: list[str | None]) -> None:
    with pytest.raises(NoMinionError, match=PARAMS.minion_tag):
        wait(("IN_PROGRESS", states), store=PlayedStore([DRAINED]))


def test_drained_minions_do_not_count_as_slots_and_are_named() -> None:
    engine = make_engine(PlayedTasks(("NOT_STARTED", [None])), PlayedStore([DRAINED]))
    assert engine.slots(PARAMS) == 1
    with pytest.raises(NoMinionError, match="; drained: Minion_a") as error:
        engine.wait("Task_x", PARAMS, lambda: False)
    assert "state=ENABLE" in str(error.value)


SCALED = replace(PARAMS, minion_wait_s=900.0)


def test_a_run_waits_for_minions_scaled_from_zero() -> None:
    clock = FakeClock()
    engine = make_engine(PlayedTasks(("NOT_STARTED", [None])), PlayedStore([]), clock)
    before = clock.monotonic()
    with pytest.raises(NoMinionError, match="for 900 s"):
        engine.wait("Task_x", SCALED, lambda: False)
    assert 900 < clock.monotonic() - before < 920


def test_subtasks_left_by_the_last_minion_start_over_on_the_next_one() -> None:
    answers = [*[DROPPED] * 2440, DONE]
    assert wait(*answers, store=PlayedStore([]), params=SCALED, retagged_after_s=600) > 600


def test_how_subtasks_ended_is_explained() -> None:
    def info(groups: str, **found: str) -> dict[str, Any]:
        return {"taskConfig": {"configs": {"groups": groups}}, **found}

    class Tasks(PlayedTasks):
        def debug(self, _name: str) -> dict[str, Any]:
            return {
                "subtaskInfos": [
                    info("0,1", state="TASK_ABORTED", participant="Minion_a", info="DataError: row 7"),
                    info("2", state="TIMED_OUT", participant="Minion_a"),
                    info("3", state="ERROR", participant="Minion_b"),
                    info("4", state="DROPPED", participant="Minion_c"),
                    info("5"),
                    info("6", state="COMPLETED", participant="Minion_a"),
                ]
            }

    engine = make_engine(Tasks(("FAILED", [])), PlayedStore([]))
    assert engine.explain("Task_x") == {
        0: "TASK_ABORTED on Minion_a: DataError: row 7",
        1: "TASK_ABORTED on Minion_a: DataError: row 7",
        2: "TIMED_OUT on Minion_a: it exceeded taskTimeoutSeconds",
        3: "ERROR on Minion_b: its minion does not support this task type or failed before the subtask began;"
        " see its log",
        4: "DROPPED on Minion_c: its minion left the cluster",
        5: "no minion accepted it",
        6: "COMPLETED on Minion_a: its minion reported no reason; see its log",
    }
