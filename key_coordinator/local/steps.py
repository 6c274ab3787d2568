"""One step: the effects of some messages on the state of keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from key_coordinator.reading.records import Messages, RecordReader
from key_coordinator.rules import Resolution, resolve
from key_coordinator.state.store import KeyStore, StoredUpTo

__all__ = ["PendingStep", "step"]


@dataclass(frozen=True)
class PendingStep:
    """The effects of messages, not yet applied to the state.

    Attributes:
        resolution: The effects on keys.
        up_to: What the state covers afterwards; its version is still the previous one.
        rows: The number of messages.
        refused: The number of messages without a key.
        example: See :class:`..reading.records.Read`.
    """

    resolution: Resolution
    up_to: StoredUpTo
    rows: int
    refused: int
    example: str | None

    def keep(self, store: KeyStore, up_to: StoredUpTo | None = None) -> None:
        """Apply it to the state; raises what :meth:`Store.put` raises."""
        store.put(self.resolution.entries, up_to or self.up_to, self.rows)


def step(
    store: KeyStore, reader: RecordReader, now: StoredUpTo, messages: Messages, ends: Mapping[int, int]
) -> PendingStep:
    """Compute the effects of messages.

    Args:
        store: The state.
        reader: Reader of the table's messages.
        now: What the state covers now; its floors apply.
        messages: The messages, in any order.
        ends: By input partition, the offset after the last message.

    Raises:
        SourceError: The schema registry does not answer.
    """
    read = reader.read(messages)
    previous = store.known(read.records, now.floors)
    resolution = resolve(previous, read.records)
    after = replace(
        now,
        ends={**now.ends, **ends},
        keys=now.keys + len(resolution.entries) - len(previous),
        refused=now.refused + read.refused,
    )
    return PendingStep(resolution, after, len(messages), read.refused, read.example)
