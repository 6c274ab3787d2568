"""The thread of a table: reads the updates topic into the log and the segments, and reports to ZooKeeper."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from controller_client.clock import Clock
from controller_client.errors import PinotPluginError, SourceError
from controller_client.upsert.generation import Generation
from jvm_bridge.role_host import TickingThread
from server_hooks.upsert.lost_messages import first_whole_version, lost
from server_hooks.upsert.table_state import UpsertTableState
from server_hooks.upsert.updates_log import Message
from server_hooks.upsert.updates_topic import UpdatesReader

__all__ = ["Follower"]

logger = logging.getLogger(__name__)

_IDLE_S = 0.5
_MIN_PAUSE_S, _MAX_PAUSE_S = 0.005, 0.1
"""Time between checks of the consuming segments while versions wait for rows."""
_RETRY_S = 1.0
_PARTITIONS_S = 10.0
_FLUSH_S = 60.0


class Follower:
    """Follows the updates of one table in its own thread.

    Args:
        table: Table name with type.
        state: The table's state on this server.
        open_topic: Connects to the updates topic.
        generation: Returns the generation of the coordinator's state; called in the thread, may raise
            :class:`~controller_client.errors.PinotPluginError`, as if it belongs to an earlier table with the
            same name.
        publish: Writes the server's record if it has changed; called in the thread, may raise
            :class:`~controller_client.errors.PinotPluginError`.
        floors: Returns the offset of the first row that the table can have, by partition; called in the
            thread, may raise :class:`~controller_client.errors.PinotPluginError`.
        guard: Logs and counts unexpected errors; its argument describes what was being done.
        clock: The clock.
    """

    def __init__(
        self,
        table: str,
        state: UpsertTableState,
        open_topic: Callable[[], UpdatesReader],
        generation: Callable[[], Generation | None],
        publish: Callable[[], None],
        floors: Callable[[], Mapping[int, int]],
        *,
        guard: Callable[[str], AbstractContextManager[None]],
        clock: Clock,
    ) -> None:
        self.state = state
        self._table = table
        self._open_topic = open_topic
        self._generation = generation
        self._since = 0
        self._publish = publish
        self._floors = floors
        self._clock = clock
        self._kept: dict[int, list[Message]] = {}
        self._pause_s = _MIN_PAUSE_S
        self._last_error = ""
        self._partitions_at = self._flush_at = clock.monotonic()
        self._topic: UpdatesReader | None = None
        self._thread = TickingThread(
            f"upsert {table}",
            self._tick,
            lambda: guard(f"while applying updates of {table}"),
            pause_s=_RETRY_S,
            at_end=self._end,
        )

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; everything that was applied is flushed to the disk then."""
        self._thread.stop(_RETRY_S * 5)

    def _tick(self) -> float | None:
        try:
            if self._topic is None:
                self._topic = self._open_topic()
            self._step(self._topic)
        except (PinotPluginError, OSError) as error:
            self._log_error(error)
            return None
        self._last_error = ""
        return 0.0

    def _end(self) -> None:
        if self._topic is not None:
            self._topic.close()
        self._flush()

    def _step(self, topic: UpdatesReader) -> None:
        now = self._clock.monotonic()
        if now >= self._partitions_at or topic.holes.keys() - self.state.lost_partitions:
            self._update_partitions(topic)
            self._partitions_at = now + _PARTITIONS_S
        if not self._kept:
            self._kept = topic.poll(self._pause_s if self.state.is_waiting() else _IDLE_S)
            self._pause_s = _MIN_PAUSE_S if self._kept else min(2 * self._pause_s, _MAX_PAUSE_S)
        is_idle = not self._kept
        # After a failed write the same messages are retried; nothing more is read before they are written.
        while self._kept:
            number, messages = next(iter(self._kept.items()))
            self.state.take(number, [each for each in messages if each[2].version >= self._since])
            del self._kept[number]
        self.state.refresh(everywhere=is_idle)
        self._publish()
        if now >= self._flush_at + _FLUSH_S:
            self._flush_at = now
            self._flush()
            self.state.drop_rows_before(self._floors())

    def _update_partitions(self, topic: UpdatesReader) -> None:
        generation = self._generation()
        self._since = generation.since if generation else 0
        partitions = topic.partitions()
        if not partitions:
            raise SourceError(
                f"the updates topic of {self._table} does not exist",
                expected="the topic that the table's key coordinator creates",
                remedy="start the key coordinator: pinotctl upsert coordinate",
            )
        self.state.follow(partitions)
        topic.assign(self.state.next_offsets())
        self._resume_after_holes(topic, generation)

    def _resume_after_holes(self, topic: UpdatesReader, generation: Generation | None) -> None:
        """Continue to read partitions of which nothing was deleted that the table's rows need."""
        floors = self._floors() if topic.holes else {}
        refused = set()
        for number, hole in list(topic.holes.items()):
            version = first_whole_version(number, hole, floors, generation)
            if version is None:
                refused.add(number)
                if number not in self.state.lost_partitions:
                    logger.error("%s", lost(self._table, number, hole, floors))
            else:
                self.state.count_ends_from(number, version)
                topic.resume(number)
        self.state.lost_partitions = frozenset(refused)

    def _flush(self) -> None:
        try:
            self.state.flush()
        except OSError as error:
            self._log_error(error)

    def _log_error(self, error: Exception) -> None:
        """Log an error, unless it is the same as the last one."""
        text = f"{error}"
        if text != self._last_error:
            logger.error("%s: cannot apply updates, retrying: %s", self._table, text)
            self._last_error = text
