"""Who paused a table, when and why: kept by this project, as Pinot 0.11 keeps none of it.

::

    /<cluster>/PROPERTYSTORE/PINOT_PLUGINS/consumption/<table>/pause
        simpleFields.format     version of the record
        mapFields.<holder>      by, since (epoch milliseconds), reason, comment
        simpleFields.foreign    "true": the table was paused already when the first holder came
        simpleFields.sequences  newest segment of each partition during the pause, JSON

The flag in the ideal state is the truth; this only explains it. While a table is paused no segment is added
to its ideal state, so a record whose sequence numbers are not those of the ideal state is of an older pause,
and does not count. Neither does one of a dropped table of the same name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller_client.common.formats import Format, with_unknown
from controller_client.common.names import TableName
from controller_client.helix.ideal_state import IdealState
from controller_client.helix.stream_segments import newest_by_partition
from controller_client.helix.table_config import table_config_path
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = [
    "EXPLICIT",
    "PAUSE_FORMAT",
    "Holder",
    "PauseRecord",
    "change_record",
    "drop_record",
    "plugin_path",
    "read_record",
    "sequences_of",
]

PAUSE_FORMAT = Format("the record of who paused a table")

EXPLICIT = "explicit"
"""Name of the holder that has no end of its own: a pause that somebody asked for, until somebody resumes."""


@dataclass(frozen=True)
class Holder:
    """Somebody who wants the table paused.

    Attributes:
        by: Who, e.g. user, host and process.
        since_ms: When, epoch milliseconds of that machine.
        reason: Why, in a word; None when none was given.
        comment: More words.
    """

    by: str
    since_ms: int
    reason: str | None = None
    comment: str | None = None

    def to_fields(self, present: Mapping[str, str] | None = None) -> dict[str, str]:
        """As it is stored; with those of the present fields that this release does not know."""
        fields = {"by": self.by, "since": str(self.since_ms), "reason": self.reason, "comment": self.comment}
        wanted = {key: value for key, value in fields.items() if value is not None}
        return with_unknown(wanted, present or {}, fields.keys())

    @classmethod
    def from_fields(cls, fields: Mapping[str, str]) -> Holder:
        """As :meth:`to_fields` made it."""
        return cls(fields["by"], int(fields["since"]), fields.get("reason"), fields.get("comment"))


@dataclass(frozen=True)
class PauseRecord:
    """Who wants a table paused.

    Attributes:
        holders: By name; the table stays paused until the last one is gone.
        foreign: Whether the table was paused before the first of them came, by somebody else.
        sequences: Newest sequence number by partition; None until the pause was seen.
    """

    holders: Mapping[str, Holder] = field(default_factory=dict)
    foreign: bool = False
    sequences: Mapping[int, int] | None = None

    def explains(self, ideal: IdealState) -> bool:
        """Return whether it is about the pause that the ideal state shows."""
        if not ideal.flags.table_paused:
            return False
        return self.sequences is None or self.sequences == sequences_of(ideal)


def plugin_path(table: TableName, name: str) -> str:
    """Return the path of a record of this project about a table's consumption."""
    return f"/PINOT_PLUGINS/consumption/{table}/{name}"


def sequences_of(ideal: IdealState) -> dict[int, int]:
    """Return the newest sequence number of each partition in the ideal state."""
    return {partition: each.sequence for partition, each in newest_by_partition(ideal.segments).items()}


def read_record(store: PropertyStore, table: TableName) -> PauseRecord | None:
    """Return the record of a table; None where there is none, or one of a dropped table of the same name.

    Raises:
        FormatVersionError: A later release wrote it.
        UnreachableError: ZooKeeper does not answer.
    """
    found = store.get(plugin_path(table, "pause"))
    return _of_this_table(store, table, found.record if found else None)


def change_record(
    store: PropertyStore, table: TableName, change: Callable[[PauseRecord | None], PauseRecord | None]
) -> PauseRecord | None:
    """Change a table's record by compare-and-set, again if somebody else changes it meanwhile.

    Args:
        store: The cluster's property store.
        table: Name with type.
        change: Makes the new record of the present one (None: there is none); called in the caller's thread,
            and again after a conflict. When it returns None, the record is deleted.

    Returns:
        The new record.

    Raises:
        FormatVersionError: A later release wrote the present one.
        UnreachableError: ZooKeeper does not answer.
        OutcomeUnknownError: A reply was lost and ZooKeeper cannot be asked.
    """
    wanted: PauseRecord | None = None

    def changed(present: ZNRecord | None) -> ZNRecord | None:
        nonlocal wanted
        known = _of_this_table(store, table, present)
        wanted = change(known)
        if wanted == known:
            return present
        # Of a pause that is over, or of another table, nothing is kept.
        return None if wanted is None else _to_record(wanted, present if known else None)

    store.change(plugin_path(table, "pause"), changed)
    return wanted


def drop_record(store: PropertyStore, table: TableName) -> None:
    """Delete a table's record; errors as of :func:`change_record`."""
    change_record(store, table, lambda _present: None)


def _of_this_table(store: PropertyStore, table: TableName, record: ZNRecord | None) -> PauseRecord | None:
    """Return what is in a record; None where it outlived a dropped table of the same name."""
    if record is None:
        return None
    born = store.creation_order(table_config_path(table))
    began = store.creation_order(plugin_path(table, "pause"))
    outlived = born is not None and began is not None and began < born
    return None if outlived else _from_record(record, plugin_path(table, "pause"))


def _to_record(record: PauseRecord, present: ZNRecord | None) -> ZNRecord:
    old = present or ZNRecord("pause")
    simple = PAUSE_FORMAT.stamp({"foreign": str(record.foreign).lower()})
    if record.sequences is not None:
        simple["sequences"] = json.dumps({str(key): value for key, value in record.sequences.items()})
    holders = {name: holder.to_fields(old.map_fields.get(name)) for name, holder in record.holders.items()}
    known = (PAUSE_FORMAT.field, "foreign", "sequences")
    return ZNRecord("pause", with_unknown(simple, old.simple_fields, known), old.list_fields, holders)


def _from_record(record: ZNRecord, where: str) -> PauseRecord:
    PAUSE_FORMAT.check(record.simple_fields, where)
    sequences = record.simple_fields.get("sequences")
    return PauseRecord(
        holders={name: Holder.from_fields(fields) for name, fields in record.map_fields.items()},
        foreign=record.simple_fields.get("foreign") == "true",
        sequences={int(key): int(value) for key, value in json.loads(sequences).items()}
        if sequences
        else None,
    )
