"""Engines that run a function on many items beside this process; packages register them as entry points."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from controller_client.common.extras import install_command, missing_module
from controller_client.errors import SetupError

__all__ = ["ENTRY_POINT_GROUP", "ParallelEngine", "load_engine", "open_parallel_engine"]

ENTRY_POINT_GROUP = "pinot_plugins.parallel_engines"
"""Each entry: ``name = "module:callable [extra]"``; the callable makes a `ParallelEngine` of its settings."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class ParallelEngine(Protocol):
    """Runs functions on other machines, or in other processes of this one."""

    def run(
        self, work: Callable[[Iterable[_Item]], Iterable[_Result]], items: Sequence[_Item], title: str
    ) -> list[_Result]:
        """Run a function on parts of the items, side by side; returns when all are done.

        Args:
            work: Gets a part of the items, and gives its results. Pickled, as the items and results are; it
                may be run again on items that it was run on before.
            items: All of them.
            title: What the engine shows of it.

        Raises:
            OutcomeUnknownError: The engine failed; what was done is unknown.
        """
        ...

    def close(self) -> None:
        """End what was started for it."""
        ...


def open_parallel_engine(name: str, settings: Mapping[str, str]) -> ParallelEngine:
    """Open an engine that is installed.

    Args:
        name: Its entry point's name.
        settings: The engine's own.

    Raises:
        SetupError: It is not installed, or does not start.
    """
    opener: Callable[[Mapping[str, str]], ParallelEngine] = load_engine(ENTRY_POINT_GROUP, name)
    return opener(settings)


def load_engine(group: str, name: str) -> Any:
    """Load what an engine's entry point names.

    Args:
        group: The entry points' group.
        name: The engine's name, which is that of the extra with its dependencies too.

    Raises:
        SetupError: It is not installed, or what it needs is not.
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
