"""Engines that run a function on many items in other processes; packages register them as entry points."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from controller_client.common.extras import install_command, missing_module
from controller_client.errors import ConfigError, SetupError

__all__ = [
    "ENGINE_VARIABLE",
    "ENTRY_POINT_GROUP",
    "ParallelEngine",
    "default_engine",
    "load_engine",
    "open_parallel_engine",
]

ENTRY_POINT_GROUP = "pinot_plugins.parallel_engines"
"""Each entry: ``name = "module:callable [extra]"``; the callable returns a `ParallelEngine`."""

ENGINE_VARIABLE = "PINOT_PLUGINS_ENGINE"
"""The variable that chooses the engine of what names none."""

_EMBEDDED, _SPARK = "embedded", "spark"

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class ParallelEngine(Protocol):
    """Runs functions on other machines, or in other processes on this one."""

    def run(
        self, work: Callable[[Iterable[_Item]], Iterable[_Result]], items: Sequence[_Item], title: str
    ) -> list[_Result]:
        """Run a function on parts of the items in parallel; returns when all are done.

        Args:
            work: Takes a part of the items and returns its results. It is pickled, like the items and
                results, and may run on the same items more than once.
            items: All items.
            title: Title shown by the engine.

        Raises:
            OutcomeUnknownError: The engine failed; which items were processed is unknown.
        """
        ...

    def close(self) -> None:
        """Stop everything that was started for it."""
        ...


def default_engine(value: str | None, where: str = f"env {ENGINE_VARIABLE}") -> str | None:
    """Return the engine of what names none.

    Args:
        value: What was set: ``spark``, or ``embedded`` for minions and this process; None or empty: nothing.
        where: Where it was set, for the error.

    Returns:
        ``spark``; or None for the embedded engine of whatever asks.

    Raises:
        ConfigError: It is another word.
    """
    if value in (None, "", _EMBEDDED):
        return None
    if value != _SPARK:
        raise ConfigError(f"the engine is {value!r}", expected=f"{_SPARK} or {_EMBEDDED}", where=where)
    return value


def open_parallel_engine(name: str, settings: Mapping[str, str]) -> ParallelEngine:
    """Open an installed engine.

    Args:
        name: Its entry point's name.
        settings: The engine's settings.

    Raises:
        SetupError: The engine is not installed, or does not start.
    """
    opener: Callable[[Mapping[str, str]], ParallelEngine] = load_engine(ENTRY_POINT_GROUP, name)
    return opener(settings)


def load_engine(group: str, name: str) -> Any:
    """Load the object of an engine's entry point.

    Args:
        group: Group of the entry points.
        name: The engine's name, which is also the name of the extra with its dependencies.

    Raises:
        SetupError: The engine, or something it needs, is not installed.
    """
    for point in importlib.metadata.entry_points(group=group, name=name):
        try:
            return point.load()
        except ModuleNotFoundError as error:
            raise missing_module(error, f"the engine {name!r}", point.extras) from error
    raise SetupError(
        f"the engine {name!r} is not installed",
        expected=f"an entry {name!r} in the entry-point group {group}",
        remedy=install_command(name),
    )
