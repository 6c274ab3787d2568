"""Who paused a table, when and why: stored by this project, because Pinot 0.11 does not store it.

::

    /<cluster>/PROPERTYSTORE/PINOT_PLUGINS/consumption/<table>/pause
        simpleFields.format     version of the record
        mapFields.<holder>      by, since (epoch milliseconds), reason, comment
        simpleFields.foreign    "true": the table was already paused when the first holder paused it
        simpleFields.sequences  newest segment of each partition during the pause, JSON
        simpleFields.ends       offset after the last row of each partition when the pause was finished, JSON

The flag in the ideal state is authoritative; this record only explains it. While a table is paused, no
segment is added to its ideal state. So if the ideal state has later segments than the record, the record
belongs to an older pause and is ignored, as is the record of a dropped table of the same name. If the record
has later segments, they were deleted since.
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
"""Name of the holder of an explicit pause, which lasts until somebody resumes the table."""


@dataclass(frozen=True)
class Holder:
    """Somebody who wants the table paused.

    Attributes:
        by: Who, e.g. user, host and process.
        since_ms: Since when, in epoch milliseconds of that machine.
        reason: Short reason; None if none was given.
        comment: Free text.
    """

    by: str
    since_ms: int
    reason: str | None = None
    comment: str | None = None

    def to_fields(self, present: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the stored form, including present fields that this release does not know."""
        fields = {"by": self.by, "since": str(self.since_ms), "reason": self.reason, "comment": self.comment}
        wanted = {key: value for key, value in fields.items() if value is not None}
        return with_unknown(wanted, present or {}, fields.keys())

    @classmethod
    def from_fields(cls, fields: Mapping[str, str]) -> Holder:
        """Read what :meth:`to_fields` wrote."""
        return cls(fields["by"], int(fields["since"]), fields.get("reason"), fields.get("comment"))


@dataclass(frozen=True)
class PauseRecord:
    """Who wants a table paused.

    Attributes:
        holders: Holders by name; the table stays paused until the last one is gone.
        foreign: Whether somebody else had already paused the table before the first holder.
        sequences: Newest sequence number by partition; None until the pause was observed.
        ends: Offset after the last row by partition; None until the pause was finished.
    """

    holders: Mapping[str, Holder] = field(default_factory=dict)
    foreign: bool = False
    sequences: Mapping[int, int] | None = None
    ends: Mapping[int, str] | None = None

    def explains(self, ideal: IdealState) -> bool:
        """Return whether this record belongs to the pause that the ideal state shows."""
        if not ideal.flags.table_paused:
            return False
        noted = self.sequences
        return noted is None or all(
            sequence <= noted.get(partition, -1) for partition, sequence in sequences_of(ideal).items()
        )


def plugin_path(table: TableName, name: str) -> str:
    """Return the path of a record of this project about a table's consumption."""
    return f"/PINOT_PLUGINS/consumption/{table}/{name}"


def sequences_of(ideal: IdealState) -> dict[int, int]:
    """Return the newest sequence number of each partition in the ideal state."""
    return {partition: each.sequence for partition, each in newest_by_partition(ideal.segments).items()}


def read_record(store: PropertyStore, table: TableName) -> PauseRecord | None:
    """Return the record of a table; None if there is none, or only that of a dropped table of the same name.

    Raises:
        FormatVersionError: A later release wrote it.
        UnreachableError: ZooKeeper does not answer.
    """
    found = store.get(plugin_path(table, "pause"))
    return _of_this_table(store, table, found.record if found else None)


def change_record(
    store: PropertyStore, table: TableName, change: Callable[[PauseRecord | None], PauseRecord | None]
) -> PauseRecord | None:
    """Change a table's record with compare-and-set; retry if somebody else changes it meanwhile.

    Args:
        store: The cluster's property store.
        table: Name with type.
        change: Returns the new record for the present one (None: there is none); called in the caller's
            thread, and again after a conflict. If it returns None, the record is deleted.

    Returns:
        The new record.

    Raises:
        FormatVersionError: A later release wrote the present one.
        UnreachableError: ZooKeeper does not answer.
        OutcomeUnknownError: A reply was lost, and ZooKeeper cannot be read to find out.
    """
    record: PauseRecord | None = None

    def changed(present: ZNRecord | None) -> ZNRecord | None:
        nonlocal record
        current = _of_this_table(store, table, present)
        record = change(current)
        if record == current:
            return present
        # Nothing is kept of a pause that is over, or of another table.
        return None if record is None else _to_record(record, present if current else None)

    store.change(plugin_path(table, "pause"), changed)
    return record


def drop_record(store: PropertyStore, table: TableName) -> None:
    """Delete a table's record; errors as for :func:`change_record`."""
    change_record(store, table, lambda _present: None)


def _of_this_table(store: PropertyStore, table: TableName, record: ZNRecord | None) -> PauseRecord | None:
    """Return the content of a record; None if it is left over from a dropped table of the same name."""
    if record is None:
        return None
    born = store.creation_order(table_config_path(table))
    began = store.creation_order(plugin_path(table, "pause"))
    outlived = born is not None and began is not None and began < born
    return None if outlived else _from_record(record, plugin_path(table, "pause"))


def _to_record(record: PauseRecord, present: ZNRecord | None) -> ZNRecord:
    old = present or ZNRecord("pause")
    simple = PAUSE_FORMAT.stamp({"foreign": str(record.foreign).lower()})
    for name, values in (("sequences", record.sequences), ("ends", record.ends)):
        if values is not None:
            simple[name] = json.dumps({str(key): value for key, value in values.items()})
    holders = {name: holder.to_fields(old.map_fields.get(name)) for name, holder in record.holders.items()}
    known = (PAUSE_FORMAT.field, "foreign", "sequences", "ends")
    return ZNRecord("pause", with_unknown(simple, old.simple_fields, known), old.list_fields, holders)


def _from_record(record: ZNRecord, where: str) -> PauseRecord:
    with PAUSE_FORMAT.reading(record.simple_fields, where):
        sequences, ends = (record.simple_fields.get(name) for name in ("sequences", "ends"))
        return PauseRecord(
            holders={name: Holder.from_fields(fields) for name, fields in record.map_fields.items()},
            foreign=record.simple_fields.get("foreign") == "true",
            sequences={int(key): int(value) for key, value in json.loads(sequences).items()}
            if sequences
            else None,
            ends={int(key): str(value) for key, value in json.loads(ends).items()} if ends else None,
        )
