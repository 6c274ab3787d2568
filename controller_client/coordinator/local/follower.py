"""Brings a state to where the versions are that were sent, without sending anything.

That is how a coordinator begins after it was killed, and what a standby does all the time. The records of the
versions, in the updates topic, say of which input the state is to be, and what was not known any more; how
the input was split into versions does not matter to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from controller_client.coordinator.entries import Entries
from controller_client.coordinator.local.input_topic import InputTopic
from controller_client.coordinator.local.steps import Step, step
from controller_client.coordinator.reading.records import Messages, RecordReader
from controller_client.coordinator.sent_versions import SentVersions
from controller_client.coordinator.state.store import Store, StoredUpTo
from controller_client.errors import SourceError
from controller_client.upsert.update_message import VersionRecord

__all__ = ["floors_of", "follow", "replay"]

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
    return sum(step.rows for step in replay(store, source, reader, sent))


def replay(
    store: Store,
    source: InputTopic,
    reader: RecordReader,
    sent: SentVersions,
    *,
    since: int | None = None,
    most_rows: int = _ROWS,
) -> Iterator[Step]:
    """Bring a state to the newest version, and yield what each part of the input did.

    Args:
        store: As of :func:`follow`.
        source: Likewise.
        reader: Likewise.
        sent: Likewise.
        since: Follow the versions of all generations from this version on; None: those of the state's own.
        most_rows: Of one part.

    Raises:
        SourceError: As of :func:`follow`.
    """
    now = store.up_to
    if now is None:
        return
    newest: VersionRecord | None = None
    offset = now.record_offset
    for found in sent.records_after(offset + 1):
        record = found.record
        if record.version <= now.version:
            continue
        if record.version < since if since is not None else record.generation != now.generation:
            continue
        if floors_of(record) != now.floors:
            if newest is not None:  # the former floors count up to here
                yield from _read_up_to(newest, offset, now, store, source, reader, most_rows)
            now = replace(store.up_to or now, floors=floors_of(record))
        newest, offset = record, found.offset
    if newest is not None:
        yield from _read_up_to(newest, offset, now, store, source, reader, most_rows)


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
    most_rows: int,
) -> Iterator[Step]:
    """Read the input of versions up to one, which the state is of then."""
    behind = {each: end for each, end in record.ends.items() if now.ends.get(each, 0) < end}
    if behind:
        source.begin(now.ends, only=behind)
    silent = 0
    while any(source.ends.get(each, 0) < end for each, end in behind.items()):
        messages = source.take(most_rows, _WAIT_S)
        silent = 0 if len(messages) else silent + 1
        if silent == _PATIENCE:
            raise SourceError(
                "the input does not reach where the versions are that were sent",
                where=f"offsets {dict(source.ends)}",
                expected=f"offsets {behind}",
                remedy="if the topic was cut, 'pinotctl upsert rebuild' reads it from its beginning",
            )
        done = step(
            *(store, reader, now, _before(messages, behind)),
            {each: min(end, behind[each]) for each, end in source.ends.items() if each in behind},
        )
        now = done.up_to
        done.keep(store)
        yield done
    ends = {each: max(end, now.ends.get(each, 0)) for each, end in record.ends.items()}
    store.put(Entries.empty(), replace(now, version=record.version, ends=ends, record_offset=offset), 0)


def _before(messages: Messages, ends: Mapping[int, int]) -> Messages:
    """Leave out what belongs to later versions."""
    limit = np.zeros(max(ends) + 1, np.int64)
    limit[list(ends)] = list(ends.values())
    kept = messages.offset < limit[messages.partition]
    return messages if kept.all() else messages.take(kept)
