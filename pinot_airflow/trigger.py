"""The one trigger of this package: it waits in the triggerer for a condition."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from controller_client.errors import PinotPluginError
from pinot_airflow.access import ClusterAddress, PinotAccess
from pinot_airflow.airflow_api import BaseHook, BaseTrigger, TriggerEvent
from pinot_airflow.conditions.base import Condition, Seen, is_passing

__all__ = ["ConditionTrigger", "event_of", "seen_in"]


class ConditionTrigger(BaseTrigger):
    """Looks again and again, each time in a thread, so that other triggers go on meanwhile.

    A cluster that is away is waited for; how long is the task's to say. What is stored of it names the
    connection, and holds no address and no secret.

    Args:
        pinot_conn_id: The connection.
        condition: As :meth:`Condition.to_json` writes it.
        poll_interval_s: Seconds between two looks.
    """

    def __init__(
        self, pinot_conn_id: str, condition: Mapping[str, Any], poll_interval_s: float = 10.0
    ) -> None:
        super().__init__()
        self._pinot_conn_id = pinot_conn_id
        self._condition = dict(condition)
        self._poll_interval_s = poll_interval_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Tell Airflow how to make it again."""
        kind = type(self)
        return f"{kind.__module__}.{kind.__qualname__}", {
            "pinot_conn_id": self._pinot_conn_id,
            "condition": self._condition,
            "poll_interval_s": self._poll_interval_s,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield the one event."""
        try:
            condition = Condition.from_json(self._condition)
        except PinotPluginError as error:
            yield TriggerEvent({"failed": str(error), "error": type(error).__name__})
            return
        looks = _Looks(condition, await self._access())
        last = None
        try:
            while True:
                try:
                    seen = await asyncio.to_thread(looks.look)
                except PinotPluginError as error:
                    if not is_passing(error):
                        yield TriggerEvent({"failed": str(error), "error": type(error).__name__})
                        return
                    seen = Seen(False, error.message)
                if seen.text != last:
                    self.log.info("%s", seen.text)
                    last = seen.text
                if seen.done:
                    yield event_of(seen)
                    return
                await asyncio.sleep(self._poll_interval_s)
        finally:
            await asyncio.to_thread(looks.close)

    async def on_kill(self) -> None:
        """Take back what the task began; Airflow calls it when a user fails or clears the waiting task."""
        condition, access = Condition.from_json(self._condition), await self._access()

        def take_back() -> None:
            with access:
                condition.on_kill(access)

        await asyncio.to_thread(take_back)

    async def _access(self) -> PinotAccess:
        connection = await BaseHook.aget_connection(self._pinot_conn_id)
        return PinotAccess(ClusterAddress.of(connection), by="airflow triggerer")


class _Looks:
    """Looks, and closes the clients; a thread that is left alone by its trigger ends its look first."""

    def __init__(self, condition: Condition, access: PinotAccess) -> None:
        self._condition = condition
        self._access = access
        self._watch: Callable[[], Seen] | None = None
        self._mutex = threading.Lock()

    def look(self) -> Seen:
        """Look once."""
        with self._mutex:
            if self._watch is None:
                self._watch = self._condition.watch(self._access)
            return self._watch()

    def close(self) -> None:
        """Close the clients."""
        with self._mutex:
            self._access.close()


def event_of(seen: Seen) -> TriggerEvent:
    """Return the event of a condition that holds."""
    return TriggerEvent({"text": seen.text, "value": seen.value})


def seen_in(event: Mapping[str, Any]) -> Seen | str:
    """Return what an event reports: what was seen, or why waiting is in vain."""
    if "failed" in event:
        return f"{event['error']}: {event['failed']}"
    return Seen(True, event["text"], event["value"])
