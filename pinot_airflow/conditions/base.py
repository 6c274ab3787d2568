"""What a condition is."""

from __future__ import annotations

import dataclasses
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controller_client.broker.client import UNKNOWN_TABLE
from controller_client.common.formats import Format, only_known
from controller_client.errors import (
    ConfigError,
    OutcomeUnknownError,
    PartialResultError,
    PinotPluginError,
    QueryError,
    UnreachableError,
)
from pinot_airflow.access import PinotAccess

__all__ = ["CONDITION_FORMAT", "Condition", "Seen", "is_passing"]

CONDITION_FORMAT = Format("the condition that a deferred task waits for")


@dataclass(frozen=True)
class Seen:
    """What a look has shown.

    Attributes:
        done: Whether the condition holds.
        text: In words.
        value: What the task returns when it holds; JSON can hold it.
    """

    done: bool
    text: str
    value: Any = None


class Condition(ABC):
    """Something about a cluster that comes to hold; a frozen dataclass, whose fields JSON can hold."""

    def watch(self, access: PinotAccess) -> Callable[[], Seen]:
        """Return what looks once each time that it is called; it may keep something between its looks."""
        return lambda: self.look(access)

    @abstractmethod
    def look(self, access: PinotAccess) -> Seen:
        """Look once.

        Raises:
            PinotPluginError: Waiting is in vain, unless :func:`is_passing` says that the error will pass.
        """

    def on_kill(self, access: PinotAccess) -> None:  # noqa: B027  # most have nothing to do
        """Take back what the task began, when a user ends it while it waits in the triggerer."""

    def to_json(self) -> dict[str, Any]:
        """As :meth:`from_json` reads it."""
        kind = type(self)
        fields = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}  # type: ignore[arg-type]
        return CONDITION_FORMAT.stamp_json(
            {"condition": f"{kind.__module__}:{kind.__qualname__}", "fields": fields}
        )

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> Condition:
        """Make a condition again.

        Raises:
            ConfigError: It names something else.
            FormatVersionError: A worker of a later release wrote it.
        """
        CONDITION_FORMAT.check(document, "the metadata database of Airflow")
        module, _, name = str(document["condition"]).partition(":")
        kind = getattr(importlib.import_module(module), name, None)
        if not (isinstance(kind, type) and issubclass(kind, Condition)):
            raise ConfigError(f"{document['condition']} is no condition", expected="a class of conditions")
        return kind(**only_known(kind, document["fields"]))


def is_passing(error: PinotPluginError) -> bool:
    """Whether an error of a look says only that the cluster is not to be asked now."""
    if isinstance(error, QueryError):
        # Brokers hear of a new table some moments after it was made.
        return isinstance(error, PartialResultError) or UNKNOWN_TABLE in error.codes
    return isinstance(error, UnreachableError | OutcomeUnknownError)
