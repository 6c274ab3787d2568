"""The base class of conditions."""

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
    """The result of a check.

    Attributes:
        done: Whether the condition is met.
        text: The result in words.
        value: What the task returns once the condition is met; a JSON value.
    """

    done: bool
    text: str
    value: Any = None


class Condition(ABC):
    """A condition about a cluster; a frozen dataclass with JSON values as fields."""

    def watch(self, access: PinotAccess) -> Callable[[], Seen]:
        """Return a function that checks the condition on each call; it may keep state between calls."""
        return lambda: self.look(access)

    @abstractmethod
    def look(self, access: PinotAccess) -> Seen:
        """Check once.

        Raises:
            PinotPluginError: Waiting is useless, unless the error is temporary according to
                :func:`is_passing`.
        """

    def on_kill(self, access: PinotAccess) -> None:  # noqa: B027  # most have nothing to do
        """Cancel what the task started, when a user stops it while it waits in the triggerer."""

    def to_json(self) -> dict[str, Any]:
        """Return the condition as JSON values, for :meth:`from_json`."""
        kind = type(self)
        fields = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}  # type: ignore[arg-type]
        return CONDITION_FORMAT.stamp_json(
            {"condition": f"{kind.__module__}:{kind.__qualname__}", "fields": fields}
        )

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> Condition:
        """Create a condition from the result of :meth:`to_json`.

        Raises:
            ConfigError: The document does not name a condition.
            DataError: It lacks a field, or has one of another form.
            FormatVersionError: A worker of a later release wrote it.
        """
        with CONDITION_FORMAT.reading(document, "the metadata database of Airflow"):
            module, _, name = str(document["condition"]).partition(":")
            try:
                kind = getattr(importlib.import_module(module), name, None)
            except ImportError:
                kind = None
            if not (isinstance(kind, type) and issubclass(kind, Condition)):
                raise ConfigError(
                    f"{document['condition']} is not a condition", expected="a subclass of Condition"
                )
            return kind(**only_known(kind, document["fields"]))


def is_passing(error: PinotPluginError) -> bool:
    """Whether an error of a check is temporary."""
    if isinstance(error, QueryError):
        # Brokers learn of a new table shortly after its creation.
        return isinstance(error, PartialResultError) or UNKNOWN_TABLE in error.codes
    return isinstance(error, UnreachableError | OutcomeUnknownError)
