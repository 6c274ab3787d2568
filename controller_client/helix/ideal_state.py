"""The consumption state in the ideal state of a realtime table: its flags and consuming segments.

::

    /<cluster>/IDEALSTATES/<table>
        simpleFields.isTablePaused      "true": Pinot 0.11 and later start no new consuming segments
        simpleFields.pauseState         the same since Pinot 1.3, as JSON with reason, comment and time; since
                                        1.5 also the indexes of individually paused topics
        listFields.pausedPartitions     this project's own: paused partition groups, e.g. ["0", "3"]
        mapFields.<segment>.<instance>  CONSUMING, ONLINE or OFFLINE

A table with paused partitions is also in the list of all such tables (:mod:`.paused_tables`).

Pinot writes the table's flags with its own compare-and-set and keeps unknown list fields.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from controller_client.common.names import TableName
from controller_client.common.parsing import whole_number
from controller_client.errors import (
    ConflictError,
    DataError,
    NotFoundError,
)
from controller_client.helix import read_record_at
from controller_client.helix.paused_tables import listing_writes
from controller_client.zookeeper import PropertyStore, Write, ZNRecord, mentions

__all__ = [
    "ConsumptionFlags",
    "IdealState",
    "PinotPause",
    "add_offline_segments",
    "finish_commits",
    "ideal_state_path",
    "read_external_view",
    "read_flags",
    "read_flags_at",
    "read_ideal_state",
    "set_paused_partitions",
    "watch_ideal_state",
]

_PAUSED = "isTablePaused"
_PAUSE_STATE = "pauseState"
_PARTITIONS = "pausedPartitions"
_FLAGS = (_PAUSED, _PAUSE_STATE, _PARTITIONS)
_ADMINISTRATIVE = "ADMINISTRATIVE"
_CONSUMING = "CONSUMING"
_OFFLINE = "OFFLINE"
_ONLINE = "ONLINE"


class ConsumptionFlags(NamedTuple):
    """What is paused.

    Attributes:
        table_paused: Whether the whole table is paused.
        paused_partitions: Individually paused partition groups.
    """

    table_paused: bool
    paused_partitions: frozenset[int]


@dataclass(frozen=True)
class PinotPause:
    """The data on a pause stored by Pinot 1.3 and later.

    Attributes:
        reason_code: E.g. ``ADMINISTRATIVE`` or ``STORAGE_QUOTA_EXCEEDED``.
        comment: Comment on the pause.
        time_text: Time of the pause, as written by Pinot (in the controller's time zone).
    """

    reason_code: str | None = None
    comment: str | None = None
    time_text: str | None = None

    @property
    def is_pinots_own(self) -> bool:
        """Whether Pinot's own checks paused the table, rather than a user."""
        return self.reason_code not in (None, _ADMINISTRATIVE)


@dataclass(frozen=True)
class IdealState:
    """The parts of a table's ideal state that concern consumption.

    Attributes:
        flags: What is paused.
        pinot_pause: Pinot's own data on the pause; None if there is none.
        segments: Segment -> instance -> state.
        enabled: False for a disabled table.
        zxid: ZooKeeper's number of the transaction that wrote it.
        paused_topics: Indexes of individually paused topics (Pinot 1.5 and later), whether or not the table
            is paused.
    """

    flags: ConsumptionFlags
    pinot_pause: PinotPause | None
    segments: Mapping[str, Mapping[str, str]]
    enabled: bool
    zxid: int
    paused_topics: frozenset[int] = frozenset()

    @functools.cached_property
    def consuming(self) -> Mapping[str, tuple[str, ...]]:
        """The segments that should consume, with their instances."""
        by_segment = {
            segment: tuple(sorted(name for name, state in states.items() if state == _CONSUMING))
            for segment, states in self.segments.items()
        }
        return {segment: instances for segment, instances in sorted(by_segment.items()) if instances}


def read_flags(store: PropertyStore, table: TableName) -> ConsumptionFlags:
    """Return what is paused of a table.

    Raises:
        NotFoundError: The table has no ideal state, so it does not exist.
        DataError: A flag has a value that neither Pinot nor this project writes.
        UnreachableError: ZooKeeper does not answer.
    """
    return read_flags_at(store, table)[0]


def read_flags_at(store: PropertyStore, table: TableName) -> tuple[ConsumptionFlags, int]:
    """Return what :func:`read_flags` returns, and ZooKeeper's number of the transaction that wrote it.

    An ideal state that names no flag is not parsed: that of a table with very many segments takes seconds.
    """
    path = ideal_state_path(store, table)
    content, zxid = _read(store, table)
    if not mentions(content, _FLAGS):
        return ConsumptionFlags(False, frozenset()), zxid
    return _flags(ZNRecord.from_bytes(content, where=path), path), zxid


def read_ideal_state(store: PropertyStore, table: TableName) -> IdealState:
    """Return a table's ideal state; raises what :func:`read_flags` raises."""
    return watch_ideal_state(store, table, None)


def watch_ideal_state(
    store: PropertyStore, table: TableName, changed: Callable[[Any], None] | None
) -> IdealState:
    """Like :func:`read_ideal_state`; ``changed`` is called once, in kazoo's thread, on the next change."""
    where = ideal_state_path(store, table)
    content, zxid = _read(store, table, changed)
    record = ZNRecord.from_bytes(content, where=where)
    state = _pause_state(record, where)
    pause = None
    if state.get("paused"):
        pause = PinotPause(state.get("reasonCode"), state.get("comment"), state.get("timeInMillis"))
    return IdealState(
        flags=_flags(record, where),
        pinot_pause=pause,
        segments=record.map_fields,
        enabled=record.simple_fields.get("HELIX_ENABLED", "true").lower() == "true",
        zxid=zxid,
        paused_topics=frozenset(state.get("indexOfInactiveTopics") or ()),
    )


def set_paused_partitions(
    store: PropertyStore, table: TableName, change: Callable[[frozenset[int]], frozenset[int]]
) -> frozenset[int]:
    """Change the paused partitions, by compare-and-set on the ideal state and the list of paused tables.

    Commits of segments change the ideal state all the time, so version conflicts are common; the change is
    then applied to the new state.

    Args:
        store: The cluster's property store.
        table: E.g. ``flights_REALTIME``.
        change: Computes the partitions to be paused from those that are; called in the caller's thread, and
            again after a conflict. It must be idempotent (add or remove members): after a lost reply it is
            applied again to the state read back.

    Returns:
        The partitions paused now. Nothing is written if they already are, and listed.

    Raises:
        NotFoundError: There is no such table.
        DataError: The list does not contain partitions, or the record became too large.
        UnreachableError: ZooKeeper does not answer; nothing was sent.
        OutcomeUnknownError: A reply was lost, and ZooKeeper cannot be reached to check the outcome.
    """
    path = ideal_state_path(store, table)

    def changed(record: ZNRecord) -> ZNRecord:
        present = _flags(record, path).paused_partitions
        partitions = change(present)
        if partitions == present:
            return record
        lists = {key: items for key, items in record.list_fields.items() if key != _PARTITIONS}
        if partitions:
            lists[_PARTITIONS] = [str(partition) for partition in sorted(partitions)]
        return replace(record, list_fields=lists)

    def listed(record: ZNRecord) -> list[Write]:
        return listing_writes(store, table, is_paused=bool(record.list_fields.get(_PARTITIONS)))

    return _flags(_change(store, table, changed, listed), path).paused_partitions


def add_offline_segments(
    store: PropertyStore, table: TableName, segments: Mapping[str, Collection[str]]
) -> None:
    """Add OFFLINE segments, which servers do not load, to a paused table.

    Args:
        store: The cluster's property store.
        table: E.g. ``flights_REALTIME``.
        segments: Segment -> instances.

    Raises:
        ConflictError: The table is not paused.
        OutcomeUnknownError: A reply was lost, and ZooKeeper cannot be reached to check the outcome.
    """
    path = ideal_state_path(store, table)

    def changed(record: ZNRecord) -> ZNRecord:
        if not _flags(record, path).table_paused:
            raise ConflictError(f"{table} is no longer paused", where=path)
        added = {segment: dict.fromkeys(instances, _OFFLINE) for segment, instances in segments.items()}
        states = {**record.map_fields, **added}
        # Pinot maintains this count with each of its own changes.
        simple = {**record.simple_fields, "NUM_PARTITIONS": str(len(states))}
        return replace(record, map_fields=states, simple_fields=simple)

    _change(store, table, changed)


def finish_commits(store: PropertyStore, table: TableName, segments: Collection[str]) -> None:
    """Have servers seal committed segments of a paused table, as the controller does last in each commit.

    Args:
        store: The cluster's property store.
        table: E.g. ``flights_REALTIME``.
        segments: Segments whose records say that they are committed; those that do not consume are ignored.

    Raises:
        OutcomeUnknownError: A reply was lost, and ZooKeeper cannot be reached to check the outcome.
    """
    path = ideal_state_path(store, table)

    def changed(record: ZNRecord) -> ZNRecord:
        consuming = [name for name in segments if _CONSUMING in record.map_fields.get(name, {}).values()]
        if not consuming or not _flags(record, path).table_paused:
            return record
        sealed = {name: dict.fromkeys(record.map_fields[name], _ONLINE) for name in consuming}
        return replace(record, map_fields={**record.map_fields, **sealed})

    _change(store, table, changed)


def _change(
    store: PropertyStore,
    table: TableName,
    change: Callable[[ZNRecord], ZNRecord],
    alongside: Callable[[ZNRecord], list[Write]] | None = None,
) -> ZNRecord:
    path = ideal_state_path(store, table)

    def of_table(present: ZNRecord | None) -> ZNRecord:
        if present is None:
            raise NotFoundError(f"there is no table {table}", where=path)
        return change(present)

    return store.change_at(path, of_table, alongside=alongside).current.record


def ideal_state_path(store: PropertyStore, table: TableName) -> str:
    """Return the znode of a table's ideal state."""
    return f"/{store.cluster_name}/IDEALSTATES/{table}"


def read_external_view(store: PropertyStore, table: TableName) -> Mapping[str, Mapping[str, str]]:
    """Read a table's external view: segment -> server -> state; empty if there is none yet."""
    path = f"/{store.cluster_name}/EXTERNALVIEW/{table}"
    record = read_record_at(store, path)
    return record.map_fields if record else {}


def _read(
    store: PropertyStore, table: TableName, changed: Callable[[Any], None] | None = None
) -> tuple[bytes, int]:
    path = ideal_state_path(store, table)
    found = store.connection.read(path, changed)
    if found is None or not found.content:
        raise NotFoundError(f"there is no table {table}", where=path)
    return found.content, found.zxid


def _flags(record: ZNRecord, where: str) -> ConsumptionFlags:
    # Boolean.parseBoolean: "true" in any case, nothing else.
    paused = record.simple_fields.get(_PAUSED, "").lower() == "true"
    names = record.list_fields.get(_PARTITIONS, [])
    numbers = [whole_number(name) for name in names]
    partitions = frozenset(number for number in numbers if number is not None)
    if None in numbers:
        raise DataError(
            f"{_PARTITIONS} of the ideal state is {names!r}",
            expected="numbers of partition groups as strings",
            where=where,
            remedy="correct this list field manually; only pinot-plugins writes it",
        )
    return ConsumptionFlags(paused or bool(_pause_state(record, where).get("paused")), partitions)


def _pause_state(record: ZNRecord, where: str) -> Mapping[str, Any]:
    text = record.simple_fields.get(_PAUSE_STATE)
    if not text:
        return {}
    try:
        state = json.loads(text)
    except ValueError as error:
        raise DataError(f"{_PAUSE_STATE} of the ideal state is {text[:200]!r}", where=where) from error
    if not isinstance(state, dict):
        raise DataError(
            f"{_PAUSE_STATE} of the ideal state is {text[:200]!r}", expected="a JSON object", where=where
        )
    return state
