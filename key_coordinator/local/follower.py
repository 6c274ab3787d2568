"""Brings a state up to date with the sent versions, without sending anything.

A coordinator does this when it starts after being killed, and a standby does it all the time. The version
records in the updates topic contain the input offsets of the state and the floors of its keys; how the input
was split into versions does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from controller_client.errors import SourceError
from controller_client.upsert.update_message import VersionRecord
from key_coordinator.entries import Entries
from key_coordinator.local.input_topic import InputTopic
from key_coordinator.local.steps import PendingStep, step
from key_coordinator.reading.records import Messages, RecordReader
from key_coordinator.sent_versions import SentVersions
from key_coordinator.state.store import KeyStore, StoredUpTo

__all__ = ["floors_of", "follow", "replay"]

_ROWS = 50_000
_WAIT_S = 1.0
_PATIENCE = 60
"""After this many waits in a row without a row, the input counts as lost."""


def follow(store: KeyStore, source: InputTopic, reader: RecordReader, sent: SentVersions) -> int:
    """Bring a state to the newest version of its generation.

    Args:
        store: The state; it has been started.
        source: The table's input.
        reader: Reader of its messages.
        sent: Its updates topic.

    Returns:
        The number of rows read.

    Raises:
        SourceError: Kafka does not answer, or no longer has all of the input.
    """
    return sum(step.rows for step in replay(store, source, reader, sent))


def replay(
    store: KeyStore,
    source: InputTopic,
    reader: RecordReader,
    sent: SentVersions,
    *,
    since: int | None = None,
    expire: bool = True,
    max_rows: int = _ROWS,
) -> Iterator[PendingStep]:
    """Bring a state to the newest version, and yield the effects of each part of the input.

    Args:
        store: State of the keys.
        source: The input topic.
        reader: Turns messages into records.
        sent: The versions in the updates topic.
        since: Follow the versions of all generations from this version on; None: only those of the state's
            own.
        expire: Whether keys expire as when the versions were made.
        max_rows: Maximum number of rows per part.

    Raises:
        SourceError: See :func:`follow`.
    """
    now = store.up_to
    if now is None:
        return
    newest: VersionRecord | None = None
    offset = now.record_offset
    for sent_record in sent.records_after(offset + 1):
        record = sent_record.record
        if record.version <= now.version:
            continue
        if record.version < since if since is not None else record.generation != now.generation:
            continue
        if expire and floors_of(record) != now.floors:
            if newest is not None:  # the previous floors apply up to here
                yield from _read_up_to(newest, offset, now, store, source, reader, max_rows)
            now = replace(store.up_to or now, floors=floors_of(record))
        newest, offset = record, sent_record.offset
    if newest is not None:
        yield from _read_up_to(newest, offset, now, store, source, reader, max_rows)


def floors_of(record: VersionRecord) -> tuple[int, ...]:
    """Return a version's floors, by partition from 0 on, without trailing zeros."""
    floors = [record.floors.get(each, 0) for each in range(max(record.ends, default=-1) + 1)]
    while floors and not floors[-1]:
        floors.pop()
    return tuple(floors)


def _read_up_to(
    record: VersionRecord,
    offset: int,
    now: StoredUpTo,
    store: KeyStore,
    source: InputTopic,
    reader: RecordReader,
    max_rows: int,
) -> Iterator[PendingStep]:
    """Read the input up to a version; the state is then of that version."""
    behind = {partition: end for partition, end in record.ends.items() if now.ends.get(partition, 0) < end}
    if behind:
        source.begin(now.ends, only=behind)
    silent = 0
    while any(source.ends.get(partition, 0) < end for partition, end in behind.items()):
        messages = source.take(max_rows, _WAIT_S)
        silent = 0 if len(messages) else silent + 1
        if silent == _PATIENCE:
            raise SourceError(
                "the input topic ends before the offsets of the sent versions",
                where=f"offsets {dict(source.ends)}",
                expected=f"offsets {behind}",
                remedy="if the topic was truncated, run 'pinotctl upsert rebuild' to read it from its start",
            )
        done = step(
            store,
            reader,
            now,
            _before(messages, behind),
            {
                partition: min(end, behind[partition])
                for partition, end in source.ends.items()
                if partition in behind
            },
        )
        now = done.up_to
        done.keep(store)
        yield done
    ends = {partition: max(end, now.ends.get(partition, 0)) for partition, end in record.ends.items()}
    store.put(Entries.empty(), replace(now, version=record.version, ends=ends, record_offset=offset), 0)


def _before(messages: Messages, ends: Mapping[int, int]) -> Messages:
    """Drop the messages of later versions."""
    limit = np.zeros(max(ends) + 1, np.int64)
    limit[list(ends)] = list(ends.values())
    kept = messages.offset < limit[messages.partition]
    return messages if kept.all() else messages.take(kept)
