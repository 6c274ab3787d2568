"""Makes versions: what is there of the input, as one transaction after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from controller_client.clock import Clock
from controller_client.coordinator.floors import Floors
from controller_client.coordinator.generation import Generation
from controller_client.coordinator.local.input_topic import InputTopic
from controller_client.coordinator.local.steps import Step, step
from controller_client.coordinator.reading.records import Messages, RecordReader
from controller_client.coordinator.report import VersionReport
from controller_client.coordinator.state.store import Store
from controller_client.coordinator.updates_topic import UpdatesTopic
from controller_client.coordinator.version_events import events_of
from controller_client.upsert.update_message import VersionEnd, VersionRecord

__all__ = ["Leader", "LeaderParts"]

_IDLE_S = 0.2


@dataclass(frozen=True)
class LeaderParts:
    """What a leader works with; it alone uses them.

    Attributes:
        generation: The present one.
        store: Its state, at the newest version that was sent.
        source: The input.
        reader: Of the table's messages.
        topic: The updates topic, fenced.
        floors: Of the table.
        clock: Time.
        retention_ms: Of a new updates topic.
        replication: Of a new updates topic.
    """

    generation: Generation
    store: Store
    source: InputTopic
    reader: RecordReader
    topic: UpdatesTopic
    floors: Floors
    clock: Clock
    retention_ms: int
    replication: int


class Leader:
    """Makes the versions of one generation, in one thread.

    Args:
        parts: What it works with.
        most_rows: Of one version.
        interval_s: At least so long from the start of one version to that of the next.
        on_version: Called after each version, in that thread.
    """

    def __init__(
        self,
        parts: LeaderParts,
        *,
        most_rows: int,
        interval_s: float,
        on_version: Callable[[VersionReport], None],
    ) -> None:
        self._parts = parts
        self._most_rows = most_rows
        self._interval_s = interval_s
        self._on_version = on_version

    def run(self, stop: threading.Event, goes_on: Callable[[], bool], *, once: bool) -> bool:
        """Make versions until it is to stop.

        Args:
            stop: Set when it is to end.
            goes_on: Asked before each version, and some times a second while there is nothing to do.
            once: End when all that is there is in a version.

        Returns:
            Whether it ended because all is done, or ``stop`` is set.

        Raises:
            SourceError: Kafka, or the schema registry, does not answer; the state has only what was sent.
            ConflictError: Another coordinator writes the table's versions now.
            OutcomeUnknownError: Whether the last version was sent is not known; it is not in the state.
            OSError: The disk is full, or broken.
        """
        source = self._parts.source
        now = self._parts.store.up_to
        source.begin(now.ends if now else {})
        empty = 0
        while not stop.is_set() and goes_on():
            began_s = self._parts.clock.monotonic()
            messages = source.take(self._most_rows, _IDLE_S)
            if self._advance(messages):
                empty = 0
                stop.wait(max(0.0, self._interval_s - (self._parts.clock.monotonic() - began_s)))
            else:
                empty += 1
            if once and empty and source.at_end:
                return True
        return stop.is_set()

    def _advance(self, messages: Messages) -> bool:
        """Make a version, where there is something for it."""
        parts = self._parts
        now = parts.store.up_to
        if now is None:
            return False
        ends = dict(parts.source.ends)
        if not len(messages) and ends == now.ends:
            return False
        now = replace(now, floors=parts.floors.after(now.floors))
        done = step(parts.store, parts.reader, now, messages, ends)
        self._send(done, max(now.version + 1, parts.generation.base))
        return True

    def _send(self, done: Step, version: int) -> None:
        parts = self._parts
        begins = parts.store.up_to.ends if parts.store.up_to else {}
        ends = done.up_to.ends
        partitions = parts.topic.ensure(
            max(ends, default=0) + 1, retention_ms=parts.retention_ms, replication=parts.replication
        )
        held_back = parts.generation.holds_back(ends)
        at_ms = int(parts.clock.now() * 1000)
        events = events_of(done.resolution, version)
        offset = parts.topic.send_version(
            events,
            {}
            if held_back
            else {
                each: VersionEnd(version, begins.get(each, 0), ends.get(each, 0), at_ms)
                for each in range(partitions)
            },
            VersionRecord(version, parts.generation.number, ends, dict(enumerate(done.up_to.floors))),
        )
        # Only what is sent is known: what was sent before a kill is read from the input again.
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
