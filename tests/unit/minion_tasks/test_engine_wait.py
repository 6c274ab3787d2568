"""When the wait for subtasks ends: Helix' answers are scripted, and the clock is a fake."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import pytest

from controller_client.errors import NotAppliedError, PinotPluginError
from controller_client.rest.instances import DRAINED
from minion_tasks.file_ingestion.engine.minion import MINION_CHECK_S, MinionEngine, NoMinionError
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from tests.unit.fake_clock import FakeClock
from tests.unit.minion_tasks.test_params import SAMPLE

PARAMS = FileIngestionParams.from_configs(SAMPLE)


class PlayedTasks:
    """Answers of ``/tasks``: (state of the task, states of its subtasks) or an error; the last repeats."""

    def __init__(self, *answers: tuple[str, Sequence[str | None]] | PinotPluginError) -> None:
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


class PlayedClient:
    def __init__(self, tasks: PlayedTasks) -> None:
        self.tasks = tasks


def wait(
    clock: FakeClock, tasks: PlayedTasks, tags: list[str], is_settled: Callable[[], bool] = lambda: False
) -> None:
    engine = MinionEngine(PlayedClient(tasks), PlayedStore(tags), clock)  # type: ignore[arg-type]
    engine.wait("Task_x", PARAMS, is_settled)


TAGS = [PARAMS.minion_tag]


def test_the_wait_ends_with_the_task() -> None:
    clock = FakeClock()
    before = clock.monotonic()
    wait(clock, PlayedTasks(("IN_PROGRESS", ["RUNNING"]), ("COMPLETED", [])), TAGS)
    assert clock.monotonic() - before < 5


def test_the_wait_ends_with_the_last_result_before_helix_reports_it() -> None:
    looks = iter([False] * 7 + [True])
    wait(FakeClock(), PlayedTasks(("IN_PROGRESS", ["RUNNING"])), TAGS, lambda: next(looks))
    assert next(looks, None) is None


def test_the_wait_continues_while_the_controller_restarts() -> None:
    away = NotAppliedError("no answer")
    wait(FakeClock(), PlayedTasks(("IN_PROGRESS", ["RUNNING"]), *[away] * 500, ("COMPLETED", [])), TAGS)


def test_a_task_whose_subtasks_were_all_dropped_is_abandoned_after_a_while() -> None:
    clock = FakeClock()
    before = clock.monotonic()
    wait(clock, PlayedTasks(("IN_PROGRESS", ["COMPLETED", "DROPPED"])), TAGS)
    assert clock.monotonic() - before > 60


def test_the_wait_continues_while_a_subtask_moves_to_another_minion() -> None:
    dropped = ("IN_PROGRESS", ["COMPLETED", "DROPPED"])
    running = ("IN_PROGRESS", ["COMPLETED", "RUNNING"])
    clock = FakeClock()
    before = clock.monotonic()
    wait(clock, PlayedTasks(*[dropped] * 100, *[running] * 3000, ("COMPLETED", [])), TAGS)
    assert clock.monotonic() - before > 500


def test_the_wait_fails_without_a_suitable_minion() -> None:
    with pytest.raises(NoMinionError, match=PARAMS.minion_tag):
        wait(FakeClock(), PlayedTasks(("IN_PROGRESS", ["RUNNING"])), ["other"])


def test_the_tags_of_all_instances_are_read_every_ten_seconds_not_at_each_poll() -> None:
    clock, store = FakeClock(), PlayedStore(TAGS)
    engine = MinionEngine(PlayedClient(PlayedTasks(("IN_PROGRESS", ["RUNNING"]))), store, clock)  # type: ignore[arg-type]
    polls = iter(range(4000))
    engine.wait("Task_x", PARAMS, lambda: next(polls) == 3999)
    passed_s = clock.monotonic()
    assert passed_s > 900
    assert store.looks <= passed_s / MINION_CHECK_S + 1


def test_a_minion_that_returns_in_time_is_found() -> None:
    clock, store = FakeClock(), PlayedStore(["other"])
    clock.on_sleep = lambda _now_s: store.retag(TAGS) if clock.monotonic() > 45 else None
    tasks = PlayedTasks(*[("IN_PROGRESS", [None])] * 3000, ("COMPLETED", []))
    MinionEngine(PlayedClient(tasks), store, clock).wait("Task_x", PARAMS, lambda: False)  # type: ignore[arg-type]
    assert clock.monotonic() > 500


def test_a_drained_minion_finishes_its_running_subtasks() -> None:
    clock = FakeClock()
    before = clock.monotonic()
    running = ("IN_PROGRESS", ["RUNNING", None])
    wait(clock, PlayedTasks(*[running] * 3000, ("COMPLETED", [])), [DRAINED])
    assert clock.monotonic() - before > 500


@pytest.mark.parametrize("states", [[None], ["COMPLETED", None], ["COMPLETED", "NOT_STARTED"]])
def test_a_drained_minion_starts_nothing(states: list[str | None]) -> None:
    with pytest.raises(NoMinionError, match=PARAMS.minion_tag):
        wait(FakeClock(), PlayedTasks(("IN_PROGRESS", states)), [DRAINED])


def test_the_wait_includes_subtasks_not_yet_accepted() -> None:
    clock = FakeClock()
    before = clock.monotonic()
    waiting = ("IN_PROGRESS", ["COMPLETED", None])
    wait(clock, PlayedTasks(*[waiting] * 3000, ("COMPLETED", [])), TAGS)
    assert clock.monotonic() - before > 500


def test_drained_minions_do_not_count_as_slots_and_are_named() -> None:
    tasks = PlayedTasks(("NOT_STARTED", [None]))
    engine = MinionEngine(PlayedClient(tasks), PlayedStore([DRAINED]), FakeClock())  # type: ignore[arg-type]
    assert engine.slots(PARAMS) == 1
    with pytest.raises(NoMinionError, match="; drained: Minion_a") as error:
        engine.wait("Task_x", PARAMS, lambda: False)
    assert "state=ENABLE" in str(error.value)


def test_a_run_waits_for_minions_scaled_from_zero() -> None:
    params = replace(PARAMS, minion_wait_s=900.0)
    clock, store = FakeClock(), PlayedStore([])
    engine = MinionEngine(PlayedClient(PlayedTasks(("NOT_STARTED", [None]))), store, clock)  # type: ignore[arg-type]
    before = clock.monotonic()
    with pytest.raises(NoMinionError, match="for 900 s"):
        engine.wait("Task_x", params, lambda: False)
    assert 900 < clock.monotonic() - before < 920


def test_subtasks_left_by_the_last_minion_start_over_on_the_next_one() -> None:
    params = replace(PARAMS, minion_wait_s=900.0)
    clock, store = FakeClock(), PlayedStore([])
    clock.on_sleep = lambda _now_s: store.retag(TAGS) if clock.monotonic() > 600 else None
    tasks = PlayedTasks(*[("IN_PROGRESS", ["COMPLETED", "DROPPED"])] * 2440, ("COMPLETED", []))
    MinionEngine(PlayedClient(tasks), store, clock).wait("Task_x", params, lambda: False)  # type: ignore[arg-type]
    assert clock.monotonic() > 600


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

    engine = MinionEngine(PlayedClient(Tasks(("FAILED", []))), PlayedStore([]), FakeClock())  # type: ignore[arg-type]
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
