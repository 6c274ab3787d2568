"""The trigger that waits for a condition in the triggerer."""

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
    """Checks a condition periodically, each time in a thread, so that other triggers are not blocked.

    While the cluster is unavailable, it keeps waiting, up to the task's time-out. Airflow stores only the
    name of the connection, no address and no secret.

    Args:
        pinot_conn_id: The connection.
        condition: The condition, as written by :meth:`Condition.to_json`.
        poll_interval_s: Seconds between checks.
    """

    def __init__(
        self, pinot_conn_id: str, condition: Mapping[str, Any], poll_interval_s: float = 10.0
    ) -> None:
        super().__init__()
        self._pinot_conn_id = pinot_conn_id
        self._condition = dict(condition)
        self._poll_interval_s = poll_interval_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return how Airflow can create the trigger again."""
        kind = type(self)
        return f"{kind.__module__}.{kind.__qualname__}", {
            "pinot_conn_id": self._pinot_conn_id,
            "condition": self._condition,
            "poll_interval_s": self._poll_interval_s,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, then yield the only event."""
        try:
            condition = Condition.from_json(self._condition)
        except PinotPluginError as error:
            yield TriggerEvent({"failed": str(error), "error": type(error).__name__})
            return
        checks = _Checks(condition, await self._access())
        last = None
        try:
            while True:
                try:
                    seen = await asyncio.to_thread(checks.check)
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
            await asyncio.to_thread(checks.close)

    async def on_kill(self) -> None:
        """Cancel what the task started; called by Airflow when a user fails or clears the waiting task."""
        condition, access = Condition.from_json(self._condition), await self._access()

        def cancel() -> None:
            with access:
                condition.on_kill(access)

        await asyncio.to_thread(cancel)

    async def _access(self) -> PinotAccess:
        connection = await BaseHook.aget_connection(self._pinot_conn_id)
        return PinotAccess(ClusterAddress.of(connection), by="airflow triggerer")


class _Checks:
    """Runs checks and closes the clients; waits for a check in progress before closing."""

    def __init__(self, condition: Condition, access: PinotAccess) -> None:
        self._condition = condition
        self._access = access
        self._watch: Callable[[], Seen] | None = None
        self._mutex = threading.Lock()

    def check(self) -> Seen:
        """Check once."""
        with self._mutex:
            if self._watch is None:
                self._watch = self._condition.watch(self._access)
            return self._watch()

    def close(self) -> None:
        """Close the clients."""
        with self._mutex:
            self._access.close()


def event_of(seen: Seen) -> TriggerEvent:
    """Return the event for a condition that is met."""
    return TriggerEvent({"text": seen.text, "value": seen.value})


def seen_in(event: Mapping[str, Any]) -> Seen | str:
    """Return the result in an event, or the reason why waiting failed."""
    if "failed" in event:
        return f"{event['error']}: {event['failed']}"
    return Seen(True, event["text"], event["value"])
