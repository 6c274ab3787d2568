"""Finds the engine named by a table's parameter ``engine``: minions, or one that a package registers."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence

from controller_client.common.parallel import load_engine
from minion_tasks.file_ingestion.engine.minion import MINION, Engine, EngineContext, MinionEngine
from minion_tasks.file_ingestion.params.parameters import ENGINES
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.session.model import Session

__all__ = ["ENTRY_POINT_GROUP", "Engines"]

ENTRY_POINT_GROUP = "pinot_plugins.engines"
"""Each entry: ``name = "module:callable [extra]"``; the callable maps an `EngineContext` to an `Engine`."""


class Engines:
    """Delegates each table's subtasks to the engine that its parameters name.

    Engines are opened on first use, so a table with engine ``minion`` never starts Spark. Thread-safe.

    Args:
        openers: Maps each engine's name to a function that opens it.
        default: The engine of tables that name none.
    """

    def __init__(self, openers: Mapping[str, Callable[[], Engine]], default: str = MINION) -> None:
        self._openers = openers
        self._default = default
        self._opened: dict[str, Engine] = {}
        self._lock = threading.Lock()

    @classmethod
    def installed(cls, context: EngineContext) -> Engines:
        """Return all known engines; one that is not installed is an error only if a table uses it."""
        openers: dict[str, Callable[[], Engine]] = {
            name: functools.partial(_open, name, context) for name in ENGINES
        }
        openers[MINION] = lambda: MinionEngine(context.client, context.store, context.clock)
        return cls(openers, context.default_engine)

    def name_of(self, params: FileIngestionParams) -> str:
        """Return the name of a table's engine."""
        return params.engine or self._default

    def slots(self, params: FileIngestionParams) -> int:
        """Return the slots of the table's engine, which is opened if necessary."""
        return self._named(self.name_of(params)).slots(params)

    def submit(self, session: Session, tasks: Sequence[Sequence[int]], params: FileIngestionParams) -> str:
        """Start subtasks on the table's engine."""
        return self._named(self.name_of(params)).submit(session, tasks, params)

    def wait(self, task_name: str, params: FileIngestionParams, on_poll: Callable[[], bool]) -> None:
        """Wait for subtasks, including those of a killed run or of the engine that the table used before."""
        engine = self._of(task_name)
        if engine is not None:
            engine.wait(task_name, params, on_poll)

    def explain(self, task_name: str) -> Mapping[int, str]:
        """Return how the subtasks ended, as reported by their engine."""
        engine = self._of(task_name)
        return {} if engine is None else engine.explain(task_name)

    def cancel(self, task_name: str) -> None:
        """Cancel subtasks on the engine that runs them."""
        engine = self._of(task_name)
        if engine is not None:
            engine.cancel(task_name)

    def _of(self, task_name: str) -> Engine | None:
        """The engine of subtasks; None if they ended with the process that submitted them."""
        name, colon, _ = task_name.partition(":")
        # Only Helix jobs outlive the process that submitted them.
        return self._opened.get(name) if colon else self._named(MINION)

    def _named(self, name: str) -> Engine:
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._openers[name]()
            return self._opened[name]


def _open(name: str, context: EngineContext) -> Engine:
    opener: Callable[[EngineContext], Engine] = load_engine(ENTRY_POINT_GROUP, name)
    return opener(context)
