"""Brings a state to where the versions are that were sent, without sending anything.

That is how a coordinator begins after it was killed, and what a standby does all the time. The records of the
versions, in the updates topic, say of which input the state is to be, and what was not known any more; how
the input was split into versions does not matter to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from controller_client.coordinator.entries import Entries
from controller_client.coordinator.local.input_topic import InputTopic
from controller_client.coordinator.local.steps import step
from controller_client.coordinator.reading.records import Messages, RecordReader
from controller_client.coordinator.sent_versions import SentVersions
from controller_client.coordinator.state.store import Store, StoredUpTo
from controller_client.errors import SourceError
from controller_client.upsert.update_message import VersionRecord

__all__ = ["floors_of", "follow"]

_ROWS = 50_000
_WAIT_S = 1.0
_PATIENCE = 60
"""So often nothing may come in that time before the input is taken for lost."""


def follow(store: Store, source: InputTopic, reader: RecordReader, sent: SentVersions) -> int:
    """Bring a state to the newest version of its generation.

    Args:
        store: The state, which has begun.
        source: The table's input.
        reader: Of its messages.
        sent: Its updates topic.

    Returns:
        How many rows were read.

    Raises:
        SourceError: Kafka does not answer, or has not all of the input any more.
    """
    now = store.up_to
    if now is None:
        return 0
    rows = 0
    newest: VersionRecord | None = None
    offset = now.record_offset
    for found in sent.records_after(offset + 1):
        record = found.record
        if record.generation != now.generation or record.version <= now.version:
            continue
        if floors_of(record) != now.floors:
            if newest is not None:  # the former floors count up to here
                now, read = _read_up_to(newest, offset, now, store, source, reader)
                rows += read
            now = replace(now, floors=floors_of(record))
        newest, offset = record, found.offset
    if newest is not None:
        rows += _read_up_to(newest, offset, now, store, source, reader)[1]
    return rows


def floors_of(record: VersionRecord) -> tuple[int, ...]:
    """Return a version's floors, by partition from 0 on; those at the end that say nothing are left out."""
    floors = [record.floors.get(each, 0) for each in range(max(record.ends, default=-1) + 1)]
    while floors and not floors[-1]:
        floors.pop()
    return tuple(floors)


def _read_up_to(
    record: VersionRecord,
    offset: int,
    now: StoredUpTo,
    store: Store,
    source: InputTopic,
    reader: RecordReader,
) -> tuple[StoredUpTo, int]:
    """Read the input of versions up to one; returns what the state is of then, and how many rows it read."""
    behind = {each: end for each, end in record.ends.items() if now.ends.get(each, 0) < end}
    if behind:
        source.begin(now.ends, only=behind)
    rows = silent = 0
    while any(source.ends.get(each, 0) < end for each, end in behind.items()):
        messages = source.take(_ROWS, _WAIT_S)
        silent = 0 if len(messages) else silent + 1
        if silent == _PATIENCE:
            raise SourceError(
                "the input does not reach where the versions are that were sent",
                where=f"offsets {dict(source.ends)}",
                expected=f"offsets {behind}",
                remedy="if the topic was cut, 'pinotctl upsert rebuild' reads it from its beginning",
            )
        messages = _before(messages, behind)
        rows += len(messages)
        done = step(
            *(store, reader, now, messages),
            {each: min(end, behind[each]) for each, end in source.ends.items() if each in behind},
        )
        now = done.up_to
        done.keep(store)
    ends = {each: max(end, now.ends.get(each, 0)) for each, end in record.ends.items()}
    now = replace(now, version=record.version, ends=ends, record_offset=offset)
    store.put(Entries.empty(), now, 0)
    return now, rows


def _before(messages: Messages, ends: Mapping[int, int]) -> Messages:
    """Leave out what belongs to later versions."""
    limit = np.zeros(max(ends) + 1, np.int64)
    limit[list(ends)] = list(ends.values())
    kept = messages.offset < limit[messages.partition]
    return messages if kept.all() else messages.take(kept)
