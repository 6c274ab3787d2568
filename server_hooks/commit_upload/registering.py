"""Moves a late upload to its final URI, and registers its URL in the segment's record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from controller_client.common.names import TableName, TableType
from controller_client.deepstore.segment_record import SegmentRecord
from controller_client.zookeeper import PropertyStore, Versioned, ZNRecord, segment_path
from server_hooks.commit_upload.store import SegmentStore

__all__ = ["LateUpload", "Registered", "is_needed", "move_to_final_uri", "register"]


@dataclass(frozen=True)
class LateUpload:
    """An upload that finished after its commit continued.

    Attributes:
        raw_table: Table name without type.
        segment: Name of the segment.
        uri: Where the tar is.
        final_uri: The final URI: the object that Pinot deletes with the segment.
        size_bytes: Size of the tar.
        crc: Checksum of the segment in the tar.
    """

    raw_table: str
    segment: str
    uri: str
    final_uri: str
    size_bytes: int
    crc: int

    @property
    def table(self) -> TableName:
        """Table name with type."""
        return TableName.of(self.raw_table, TableType.REALTIME)


class Registered(StrEnum):
    """The outcome of registering a late upload."""

    DONE = "its URL is registered"
    OTHER = "this copy is not needed: the segment has another URL, or was committed with other content"
    GONE = "the segment does not exist any more"
    NOT_YET = "the segment is not committed yet"
    TAKEN = "another object is at its URI, left to `pinotctl deepstore repair`"


def is_needed(records: PropertyStore, late: LateUpload) -> bool:
    """Return whether the segment needs this copy, or may need it later; checked before an upload.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    return _read(records, late) in (Registered.DONE, Registered.NOT_YET)


def move_to_final_uri(
    records: PropertyStore, store: SegmentStore, late: LateUpload, content_of: Callable[[str], int | None]
) -> tuple[LateUpload, Registered]:
    """Move a late upload to where Pinot keeps the segment's tar, if the segment needs it.

    A commit uploads to a temporary name: Pinot does not delete that object together with the segment, and may
    delete it while it is in use. An object that is already at the final URI stays. If it has the same content
    it counts as the upload: a server moved it before it was killed here, or a repair has just written it.

    Args:
        records: The cluster's property store.
        store: The store.
        late: The upload.
        content_of: Returns the checksum of the segment in an object; None if that is not a segment's tar.

    Returns:
        The upload as it is now, and its outcome; with ``DONE`` its URL may be registered.

    Raises:
        OSError: The store rejected the request or failed.
        UnreachableError: ZooKeeper does not answer.
    """
    outcome = _read(records, late)
    if outcome is not Registered.DONE or late.uri == late.final_uri:
        return late, outcome
    if not store.move(late.uri, late.final_uri):
        if content_of(late.final_uri) != late.crc:
            return late, Registered.TAKEN
        store.delete(late.uri)
    return replace(late, uri=late.final_uri), outcome


def register(records: PropertyStore, late: LateUpload) -> Registered:
    """Set the URL in the segment's record by compare-and-set, if it has none and this content was committed.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        ConflictError: Others changed the record during each attempt.
        OutcomeUnknownError: The reply was lost and ZooKeeper is unreachable; calling it again settles it.
    """
    outcome = Registered.GONE

    def registered(present: ZNRecord | None) -> ZNRecord | None:
        nonlocal outcome
        if present is None:
            outcome = Registered.GONE
            return None
        record = SegmentRecord.of(late.table, late.segment, Versioned(present, version=-1))
        outcome = _outcome(record, late)
        if outcome is not Registered.DONE or record.url == late.uri:
            return present
        # Since Pinot 1.3 a size that is already there is that of the unpacked folder, and stays.
        record = replace(record, size_is_of_tar=record.size_bytes is None)
        return record.with_copy(present, late.uri, late.size_bytes)

    records.change(segment_path(late.table, late.segment), registered)
    return outcome


def _read(records: PropertyStore, late: LateUpload) -> Registered:
    found = records.get(segment_path(late.table, late.segment))
    return _outcome(SegmentRecord.of(late.table, late.segment, found), late) if found else Registered.GONE


def _outcome(record: SegmentRecord, late: LateUpload) -> Registered:
    if record.consuming:
        return Registered.NOT_YET
    if record.url == late.uri:
        return Registered.DONE
    return Registered.OTHER if record.url or record.crc != late.crc else Registered.DONE
