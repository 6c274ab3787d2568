"""One step of the work: what some messages do to the state of keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from controller_client.coordinator.reading.records import Messages, RecordReader
from controller_client.coordinator.rules import Resolution, resolve
from controller_client.coordinator.state.store import Store, StoredUpTo

__all__ = ["Step", "step"]


@dataclass(frozen=True)
class Step:
    """What messages do; nothing is kept of it yet.

    Attributes:
        resolution: To the keys.
        up_to: What the state is of then; its version is the one before.
        rows: How many messages there were.
        refused: How many of them have no key.
        example: As of :class:`..reading.records.Read`.
    """

    resolution: Resolution
    up_to: StoredUpTo
    rows: int
    refused: int
    example: str | None

    def keep(self, store: Store, up_to: StoredUpTo | None = None) -> None:
        """Take it into the state; errors as of :meth:`Store.put`."""
        store.put(self.resolution.entries, up_to or self.up_to, self.rows)


def step(
    store: Store, reader: RecordReader, now: StoredUpTo, messages: Messages, ends: Mapping[int, int]
) -> Step:
    """Find out what messages do.

    Args:
        store: The state.
        reader: Of the table's messages.
        now: What the state is of; its floors count.
        messages: In any order.
        ends: By partition of the input, the offset after the last one that they bring.

    Raises:
        SourceError: The schema registry does not answer.
    """
    read = reader.read(messages)
    known = store.known(read.records, now.floors)
    resolution = resolve(known, read.records)
    after = replace(
        now,
        ends={**now.ends, **ends},
        keys=now.keys + len(resolution.entries) - len(known),
        refused=now.refused + read.refused,
    )
    return Step(resolution, after, len(messages), read.refused, read.example)
