"""Which engine runs a table's subtasks, and which one handles subtasks of an earlier run."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint

import pytest

from controller_client.common.names import TableName
from controller_client.common.parallel import default_engine
from controller_client.errors import ConfigError, DataError, SetupError
from minion_tasks.file_ingestion.engine.choose import ENTRY_POINT_GROUP, Engines
from minion_tasks.file_ingestion.engine.minion import EngineContext
from minion_tasks.file_ingestion.engine.subtask import Subtask
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.session.model import Session
from tests.unit.fake_clock import FakeClock
from tests.unit.minion_tasks.samples import make_params

ON_MINIONS, ON_SPARK = make_params(engine="minion"), make_params(engine="spark")
ON_EITHER = make_params()


class PlayedEngine:
    def __init__(self, name: str, calls: list[str]) -> None:
        self._name = name
        self._calls = calls

    def name_of(self, _params: FileIngestionParams) -> str:
        return self._name

    def slots(self, _params: FileIngestionParams) -> int:
        self._calls.append(f"{self._name} slots")
        return 7

    def submit(self, _session: Session, _tasks: Sequence[Sequence[int]], _params: FileIngestionParams) -> str:
        raise NotImplementedError

    def wait(self, task_name: str, _params: FileIngestionParams, _on_poll: Callable[[], bool]) -> None:
        self._calls.append(f"{self._name} waits for {task_name}")

    def explain(self, task_name: str) -> Mapping[int, str]:
        return {1: f"{self._name} explains {task_name}"}

    def cancel(self, task_name: str) -> None:
        self._calls.append(f"{self._name} cancels {task_name}")


@pytest.fixture
def calls() -> list[str]:
    return []


@pytest.fixture
def engines(calls: list[str]) -> Engines:
    def opener(name: str) -> Callable[[], PlayedEngine]:
        def opened() -> PlayedEngine:
            calls.append(f"{name} opened")
            return PlayedEngine(name, calls)

        return opened

    return Engines({name: opener(name) for name in ("minion", "spark")})


def test_a_tables_engine_is_opened_once(engines: Engines, calls: list[str]) -> None:
    assert (engines.slots(ON_MINIONS), calls) == (7, ["minion opened", "minion slots"])
    calls.clear()
    engines.slots(ON_SPARK)
    engines.slots(ON_SPARK)
    assert calls == ["spark opened", "spark slots", "spark slots"]


@pytest.mark.parametrize("default", ["minion", "spark"])
def test_a_table_without_an_engine_has_that_of_the_process(calls: list[str], default: str) -> None:
    openers = {name: functools.partial(PlayedEngine, name, calls) for name in ("minion", "spark")}
    engines = Engines(openers, default)
    engines.slots(ON_EITHER)
    engines.slots(ON_SPARK)
    assert calls == [f"{default} slots", "spark slots"]
    assert [engines.name_of(params) for params in (ON_EITHER, ON_MINIONS)] == [default, "minion"]


@pytest.mark.parametrize(
    ("value", "engine"), [(None, None), ("", None), ("embedded", None), ("spark", "spark")]
)
def test_the_setting_of_the_process(value: str | None, engine: str | None) -> None:
    assert default_engine(value) == engine


@pytest.mark.parametrize("value", ["minion", "local", "Spark"])
def test_a_setting_that_is_no_engine_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=f"the engine is '{value}'") as error:
        default_engine(value, "profile p in f")
    assert (error.value.expected, error.value.where) == ("spark or embedded", "profile p in f")


def test_subtasks_on_minions_outlive_the_process_that_submitted_them(
    engines: Engines, calls: list[str]
) -> None:
    """Even if the table has another engine now."""
    engines.wait("Task_x_1", ON_SPARK, lambda: False)
    assert calls == ["minion opened", "minion waits for Task_x_1"]
    assert engines.explain("Task_x_1") == {1: "minion explains Task_x_1"}


def test_a_spark_job_of_another_process_ended_with_it(engines: Engines, calls: list[str]) -> None:
    engines.wait("spark:1", ON_MINIONS, lambda: False)
    engines.cancel("spark:1")
    assert engines.explain("spark:1") == {}
    assert calls == []


def test_a_spark_job_of_this_process_is_found(engines: Engines, calls: list[str]) -> None:
    engines.slots(ON_SPARK)
    calls.clear()
    engines.wait("spark:1", ON_MINIONS, lambda: False)
    engines.cancel("spark:1")
    assert calls == ["spark waits for spark:1", "spark cancels spark:1"]


def test_an_engine_that_lacks_its_dependencies_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("spark", "no_such_module:open_engine [spark]", ENTRY_POINT_GROUP)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [point])
    with pytest.raises(SetupError, match=r"no_such_module.*\n.*pip install 'pinot-plugins\[spark\]'"):
        _installed().slots(ON_SPARK)


def test_an_engine_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    with pytest.raises(SetupError, match="the engine 'spark' is not installed"):
        _installed().slots(ON_SPARK)


def test_a_subtask_survives_the_round_trip_through_helix() -> None:
    subtask = Subtask(TableName("t_OFFLINE"), "20240101-1", 2, (0, 3))
    assert Subtask.from_configs(subtask.to_configs()) == subtask


@pytest.mark.parametrize("session", ["../../home", "/home/x", "..", ""])
def test_a_subtask_whose_session_is_a_path_is_refused(session: str) -> None:
    configs = Subtask(TableName("t_OFFLINE"), session, 0, (0,)).to_configs()
    with pytest.raises(DataError, match="cannot be used as a file name"):
        Subtask.from_configs(configs)


def _installed() -> Engines:
    return Engines.installed(EngineContext(None, None, FakeClock()))  # type: ignore[arg-type]
