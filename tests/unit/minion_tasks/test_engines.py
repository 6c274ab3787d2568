"""Which engine a table's subtasks go to, and whom a run asks about subtasks of an earlier one."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint

import pytest

from controller_client.common.names import TableName
from controller_client.errors import SetupError
from minion_tasks.file_ingestion.engine.choose import ENTRY_POINT_GROUP, Engines
from minion_tasks.file_ingestion.engine.minion import EngineContext
from minion_tasks.file_ingestion.engine.subtask import Subtask
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.session.model import Session
from tests.unit.fake_clock import FakeClock
from tests.unit.minion_tasks.samples import make_params

ON_MINIONS, ON_SPARK = make_params(), make_params(engine="spark")


class PlayedEngine:
    def __init__(self, name: str, said: list[str]) -> None:
        self._name = name
        self._said = said

    def slots(self, _params: FileIngestionParams) -> int:
        self._said.append(f"{self._name} slots")
        return 7

    def submit(self, _session: Session, _tasks: Sequence[Sequence[int]], _params: FileIngestionParams) -> str:
        raise NotImplementedError

    def wait(self, task_name: str, _params: FileIngestionParams, _on_poll: Callable[[], bool]) -> None:
        self._said.append(f"{self._name} waits for {task_name}")

    def explain(self, task_name: str) -> Mapping[int, str]:
        return {1: f"{self._name} explains {task_name}"}

    def cancel(self, task_name: str) -> None:
        self._said.append(f"{self._name} cancels {task_name}")


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def engines(said: list[str]) -> Engines:
    def opener(name: str) -> Callable[[], PlayedEngine]:
        def opened() -> PlayedEngine:
            said.append(f"{name} opened")
            return PlayedEngine(name, said)

        return opened

    return Engines({name: opener(name) for name in ("minion", "spark")})


def test_a_table_has_the_engine_that_it_names_opened_once(engines: Engines, said: list[str]) -> None:
    assert (engines.slots(ON_MINIONS), said) == (7, ["minion opened", "minion slots"])
    said.clear()
    engines.slots(ON_SPARK)
    engines.slots(ON_SPARK)
    assert said == ["spark opened", "spark slots", "spark slots"]


def test_subtasks_on_minions_outlive_who_submitted_them(engines: Engines, said: list[str]) -> None:
    """Also when the table has another engine by now."""
    engines.wait("Task_x_1", ON_SPARK, lambda: False)
    assert said == ["minion opened", "minion waits for Task_x_1"]
    assert engines.explain("Task_x_1") == {1: "minion explains Task_x_1"}


def test_a_spark_job_of_another_process_ended_with_it(engines: Engines, said: list[str]) -> None:
    engines.wait("spark:1", ON_MINIONS, lambda: False)
    engines.cancel("spark:1")
    assert engines.explain("spark:1") == {}
    assert said == []


def test_a_spark_job_of_this_process_is_asked_for(engines: Engines, said: list[str]) -> None:
    engines.slots(ON_SPARK)
    said.clear()
    engines.wait("spark:1", ON_MINIONS, lambda: False)
    engines.cancel("spark:1")
    assert said == ["spark waits for spark:1", "spark cancels spark:1"]


def test_an_engine_that_lacks_its_dependencies_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("spark", "no_such_module:open_engine [spark]", ENTRY_POINT_GROUP)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [point])
    with pytest.raises(SetupError, match=r"no_such_module.*\n.*pip install 'pinot-plugins\[spark\]'"):
        _installed().slots(ON_SPARK)


def test_an_engine_that_nobody_registers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    with pytest.raises(SetupError, match="the engine 'spark' is not installed"):
        _installed().slots(ON_SPARK)


def test_a_subtask_is_the_same_after_helix_has_kept_it() -> None:
    subtask = Subtask(TableName("t_OFFLINE"), "20240101-1", 2, (0, 3))
    assert Subtask.from_configs(subtask.to_configs()) == subtask


def _installed() -> Engines:
    return Engines.installed(EngineContext(None, None, FakeClock()))  # type: ignore[arg-type]
