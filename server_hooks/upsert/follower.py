"""The thread of a table: updates topic, log, segments, and the server's record in ZooKeeper."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from controller_client.clock import Clock
from controller_client.errors import PinotPluginError, SourceError
from jvm_bridge.role_host import TickingThread
from server_hooks.upsert.table_state import TableState
from server_hooks.upsert.updates_log import Message
from server_hooks.upsert.updates_topic import UpdatesTopic

__all__ = ["Follower"]

logger = logging.getLogger(__name__)

_IDLE_S = 0.5
_LEAST_PAUSE_S, _MOST_PAUSE_S = 0.005, 0.1
"""Between looks at the consuming segments while rows are to come."""
_RETRY_S = 1.0
_PARTITIONS_S = 10.0
_FLUSH_S = 60.0


class Follower:
    """Follows the updates of one table in a thread of its own.

    Args:
        table: Name with type.
        state: The table on this server.
        open_topic: Connects to the updates topic.
        first_version: Returns the first version that is of this table, and not of a former one of its name;
            called in the thread, may raise :class:`~controller_client.errors.PinotPluginError`.
        publish: Writes the server's record where it changed; called in the thread, may raise
            :class:`~controller_client.errors.PinotPluginError`.
        retention_s: Logs that were last written so long ago are deleted, seconds.
        guard: Logs and counts what nobody expected, given what was done.
        clock: Time.
    """

    def __init__(
        self,
        table: str,
        state: TableState,
        open_topic: Callable[[], UpdatesTopic],
        first_version: Callable[[], int],
        publish: Callable[[], None],
        *,
        retention_s: float,
        guard: Callable[[str], AbstractContextManager[None]],
        clock: Clock,
    ) -> None:
        self.state = state
        self._table = table
        self._open_topic = open_topic
        self._first_version = first_version
        self._since = 0
        self._publish = publish
        self._retention_s = retention_s
        self._clock = clock
        self._kept: dict[int, list[Message]] = {}
        self._pause_s = _LEAST_PAUSE_S
        self._complaint = ""
        self._partitions_at = self._flush_at = clock.monotonic()
        self._topic: UpdatesTopic | None = None
        self._thread = TickingThread(
            f"upsert {table}",
            self._tick,
            lambda: guard(f"for the updates of {table}"),
            pause_s=_RETRY_S,
            at_end=self._end,
        )

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what was applied is on the disk then."""
        self._thread.stop(_RETRY_S * 5)

    def _tick(self) -> float | None:
        try:
            if self._topic is None:
                self._topic = self._open_topic()
            self._step(self._topic)
        except (PinotPluginError, OSError) as error:
            self._complain(error)
            return None
        self._complaint = ""
        return 0.0

    def _end(self) -> None:
        if self._topic is not None:
            self._topic.close()
        self._flush()

    def _step(self, topic: UpdatesTopic) -> None:
        now = self._clock.monotonic()
        if now >= self._partitions_at:
            self._look_for_partitions(topic)
            self._partitions_at = now + _PARTITIONS_S
        if not self._kept:
            self._kept = topic.poll(self._pause_s if self.state.is_waiting() else _IDLE_S)
            self._pause_s = _LEAST_PAUSE_S if self._kept else min(2 * self._pause_s, _MOST_PAUSE_S)
        is_idle = not self._kept
        # What the disk refuses is tried again, and nothing is read before it is written.
        while self._kept:
            number, messages = next(iter(self._kept.items()))
            self.state.take(number, [each for each in messages if each[2].version >= self._since])
            del self._kept[number]
        self.state.refresh(everywhere=is_idle)
        self._publish()
        if now >= self._flush_at + _FLUSH_S:
            self._flush_at = now
            self._flush()
            self.state.drop_before(self._clock.now() - self._retention_s)

    def _look_for_partitions(self, topic: UpdatesTopic) -> None:
        self._since = self._first_version()
        found = topic.partitions()
        if not found:
            raise SourceError(
                f"the updates topic of {self._table} is not there",
                expected="the key coordinator makes it",
                remedy="is it started? pinotctl upsert coordinate",
            )
        self.state.follow(found)
        topic.assign(self.state.next_offsets())

    def _flush(self) -> None:
        try:
            self.state.flush()
        except OSError as error:
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        """Log what stands in the way, once while it is the same."""
        text = f"{error}"
        if text != self._complaint:
            logger.error("%s: its updates wait: %s", self._table, text)
            self._complaint = text
