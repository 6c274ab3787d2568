"""Makes versions from the input, each sent as one transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from controller_client.clock import Clock
from controller_client.upsert.floors import Floors
from controller_client.upsert.generation import Generation
from controller_client.upsert.update_message import VersionEnd, VersionRecord
from key_coordinator.local.input_topic import InputTopic
from key_coordinator.local.rebuild import Rebuild
from key_coordinator.local.steps import PendingStep, step
from key_coordinator.reading.records import Messages, RecordReader
from key_coordinator.report import VersionReport, events_of
from key_coordinator.rules import Resolution
from key_coordinator.state.store import KeyStore
from key_coordinator.updates_topic import UpdatesWriter

__all__ = ["Leader", "LeaderParts"]

_IDLE_S = 0.2


@dataclass(frozen=True)
class LeaderParts:
    """The parts a leader works with; nothing else uses them.

    Attributes:
        generation: The current generation.
        store: Its state, at the newest sent version.
        source: The input.
        reader: Reader of the table's messages.
        topic: The updates topic, fenced.
        floors: The table's floors.
        clock: Time.
    """

    generation: Generation
    store: KeyStore
    source: InputTopic
    reader: RecordReader
    topic: UpdatesWriter
    floors: Floors
    clock: Clock


class Leader:
    """Makes the versions of one generation, in one thread.

    Args:
        parts: The parts it works with.
        max_rows: Maximum number of rows per version.
        interval_s: Shortest time between the starts of two versions.
        on_version: Called after each version, in the same thread.
    """

    def __init__(
        self,
        parts: LeaderParts,
        *,
        max_rows: int,
        interval_s: float,
        on_version: Callable[[VersionReport], None],
    ) -> None:
        self._parts = parts
        self._max_rows = max_rows
        self._interval_s = interval_s
        self._on_version = on_version
        self._rebuild: Rebuild | None = None
        self._to_send: list[Resolution] = []

    def run(self, stop: threading.Event, duties: Callable[[], Rebuild | None], *, once: bool) -> bool:
        """Make versions until stopped.

        Args:
            stop: Set to stop it.
            duties: Called before each version, and several times a second while idle; returns a rebuild to
                run beside the versions.
            once: Stop once all present input is in a version.

        Returns:
            True if all work is done or ``stop`` is set; False if the rebuild takes over.

        Raises:
            SourceError: Kafka or the schema registry does not answer; the state contains only what was sent.
            ConflictError: Another coordinator now writes the table's versions.
            OutcomeUnknownError: The last version may or may not have been sent; it is not in the state.
            OSError: The disk is full, or broken.
        """
        source, clock = self._parts.source, self._parts.clock
        now = self._parts.store.up_to
        source.begin(now.ends if now else {})
        empty = 0
        while not stop.is_set():
            self._rebuild = duties()
            began_s = clock.monotonic()
            messages = source.take(self._max_rows, 0.0 if self._rebuild else _IDLE_S)
            if self._advance(messages):
                empty = 0
            else:
                empty += 1
            if self._rebuild is not None and self._advance_rebuild(self._rebuild):
                return False
            if once and empty and source.at_end and self._rebuild is None:
                return True
            if not empty:
                stop.wait(max(0.0, self._interval_s - (clock.monotonic() - began_s)))
        return True

    def _advance_rebuild(self, rebuild: Rebuild) -> bool:
        """Let a rebuild process its next part; returns whether its state takes over."""
        part = rebuild.next()
        if part is not None:
            self._to_send.append(part.resolution)
        now = self._parts.store.up_to
        if now is None or not rebuild.takes_over(now):
            return False
        if self._to_send:
            # The new version leaves the state unchanged.
            self._advance(None)
            now = self._parts.store.up_to
        return now is not None and rebuild.takes_over(now)

    def _advance(self, messages: Messages | None) -> bool:
        """Make a version if there is anything to send; without messages, only of a rebuild's events."""
        parts = self._parts
        now = parts.store.up_to
        if now is None:
            return False
        ends = dict(parts.source.ends) if messages is not None else now.ends
        if messages is None:
            messages = Messages(np.empty(0, np.int32), np.empty(0, np.int64), [])
        if not len(messages) and ends == now.ends and not self._to_send:
            return False
        if not parts.generation.holds_back(ends):
            # Before that, events are sent again: also those of a row that replaced another, and is gone.
            now = replace(now, floors=parts.floors.after(now.floors))
        done = step(parts.store, parts.reader, now, messages, ends)
        self._send(done, max(now.version + 1, parts.generation.base))
        return True

    def _send(self, done: PendingStep, version: int) -> None:
        parts = self._parts
        begins = parts.store.up_to.ends if parts.store.up_to else {}
        ends = done.up_to.ends
        partitions = parts.topic.ensure(max(ends, default=0) + 1)
        held_back = parts.generation.holds_back(ends)
        at_ms = int(parts.clock.now() * 1000)
        events = events_of([done.resolution, *self._to_send], version)
        offset = parts.topic.send_version(
            events,
            {}
            if held_back
            else {
                partition: VersionEnd(version, begins.get(partition, 0), ends.get(partition, 0), at_ms)
                for partition in range(partitions)
            },
            VersionRecord(version, parts.generation.number, ends, dict(enumerate(done.up_to.floors))),
        )
        # Only sent input enters the state: after a kill, what was sent is reread from the input.
        self._to_send.clear()
        done.keep(parts.store, replace(done.up_to, version=version, record_offset=offset))
        self._on_version(
            VersionReport(
                version,
                done.rows,
                done.refused,
                sum(len(each.offsets) for each in events.values()),
                done.up_to.keys,
                held_back,
                parts.source.lag(),
                done.example,
            )
        )
