"""The segments that a broker queries, by its own routing, and the message if an answer lacks some."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import jpype

from controller_client.errors import PinotPluginError

__all__ = ["PACKAGE", "BrokerRouting", "refusal_text"]


def refusal_text(error: Exception) -> str:
    """Return the message for an error; an unexpected error is included for the broker's operators."""
    return str(error) if isinstance(error, PinotPluginError) else f"the hook upsert failed: {error!r}"


PACKAGE = "io.pinotplugins.broker"
"""The Java package that stores which segments an answer needs."""


class BrokerRouting:
    """A broker's routing, see :class:`~server_hooks.upsert_query.routing_state.Routing`.

    Args:
        manager: Returns Pinot's routing manager, or None before it is created.
        unrouted: Given the manager, a table (with type) and segments, returns those that the broker does not
            query.
    """

    def __init__(
        self,
        manager: Callable[[], Any | None],
        unrouted: Callable[[Any, str, Sequence[str]], Collection[str]],
    ) -> None:
        self._manager = manager
        self._unrouted = unrouted
        self._needed: dict[str, Collection[str]] = {}

    def unrouted(self, table: str, segments: Collection[str]) -> Collection[str]:
        """Return which of the given segments of a table (with type) the broker does not query."""
        manager = self._manager()
        return segments if manager is None else self._unrouted(manager, table, tuple(segments))

    def need(self, table: str, segments: Collection[str]) -> None:
        """Require an answer for a table to include all of these segments, from now on; may be empty."""
        if self._needed.get(table, ()) != segments:
            names = jpype.JArray(jpype.JString)(list(segments))
            jpype.JClass(f"{PACKAGE}.NeededSegments").set(table, names)
            self._needed[table] = segments
