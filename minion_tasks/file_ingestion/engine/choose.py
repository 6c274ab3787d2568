"""Finds the engine that a table's parameter ``engine`` names: minions, or one that a package registers."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence

from controller_client.common.parallel import load_engine
from minion_tasks.file_ingestion.engine.minion import Engine, EngineContext, MinionEngine
from minion_tasks.file_ingestion.params.parameters import ENGINES
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.session.model import Session

__all__ = ["ENTRY_POINT_GROUP", "Engines"]

ENTRY_POINT_GROUP = "pinot_plugins.engines"
"""Each entry: ``name = "module:callable [extra]"``; the callable makes an `Engine` of an `EngineContext`."""

_MINION = "minion"


class Engines:
    """An engine that hands each table's subtasks to the one that its parameters name.

    Engines are opened when they are first used, so nobody starts Spark for a table of engine ``minion``.
    Threads may share it.

    Args:
        openers: By name, what opens an engine.
    """

    def __init__(self, openers: Mapping[str, Callable[[], Engine]]) -> None:
        self._openers = openers
        self._opened: dict[str, Engine] = {}
        self._lock = threading.Lock()

    @classmethod
    def installed(cls, context: EngineContext) -> Engines:
        """Take all that there are; one that is not installed is an error when a table wants it."""
        openers: dict[str, Callable[[], Engine]] = {
            name: functools.partial(_open, name, context) for name in ENGINES
        }
        openers[_MINION] = lambda: MinionEngine(context.client, context.store, context.clock)
        return cls(openers)

    def slots(self, params: FileIngestionParams) -> int:
        """Ask the table's engine; opens it."""
        return self._named(params.engine).slots(params)

    def submit(self, session: Session, tasks: Sequence[Sequence[int]], params: FileIngestionParams) -> str:
        """Let the table's engine start subtasks."""
        return self._named(params.engine).submit(session, tasks, params)

    def wait(self, task_name: str, params: FileIngestionParams, on_poll: Callable[[], bool]) -> None:
        """Wait for subtasks, also of a run that was killed, or when the table had another engine."""
        engine = self._of(task_name)
        if engine is not None:
            engine.wait(task_name, params, on_poll)

    def explain(self, task_name: str) -> Mapping[int, str]:
        """Ask the engine of the subtasks."""
        engine = self._of(task_name)
        return {} if engine is None else engine.explain(task_name)

    def cancel(self, task_name: str) -> None:
        """Let the engine of the subtasks take them back."""
        engine = self._of(task_name)
        if engine is not None:
            engine.cancel(task_name)

    def _of(self, task_name: str) -> Engine | None:
        """The engine of subtasks; None where they ended with the process that submitted them."""
        name, colon, _ = task_name.partition(":")
        # Only Helix' jobs outlive whoever submitted them.
        return self._opened.get(name) if colon else self._named(_MINION)

    def _named(self, name: str) -> Engine:
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._openers[name]()
            return self._opened[name]


def _open(name: str, context: EngineContext) -> Engine:
    opener: Callable[[EngineContext], Engine] = load_engine(ENTRY_POINT_GROUP, name)
    return opener(context)
