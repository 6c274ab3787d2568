"""A late upload is moved to its place, and its url put into the segment's record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from controller_client.common.names import TableName, TableType
from controller_client.deepstore.segment_record import SegmentRecord
from controller_client.zookeeper import PropertyStore, Versioned, ZNRecord, segment_path
from server_hooks.commit_upload.store import Store

__all__ = ["LateUpload", "Registered", "bring_home", "is_needed", "register"]


@dataclass(frozen=True)
class LateUpload:
    """An upload that ended after its commit went on.

    Attributes:
        raw_table: Table name without type.
        segment: Its name.
        uri: Where it is.
        home: Where it belongs: what Pinot deletes with the segment.
        size_bytes: Size of the tar.
        crc: Check sum of the segment in the tar.
    """

    raw_table: str
    segment: str
    uri: str
    home: str
    size_bytes: int
    crc: int

    @property
    def table(self) -> TableName:
        """Name with type."""
        return TableName.of(self.raw_table, TableType.REALTIME)


class Registered(StrEnum):
    """What became of a late upload."""

    DONE = "its url is registered"
    OTHER = "the segment has another url, or another content was committed: this copy is not needed"
    GONE = "the segment does not exist any more"
    NOT_YET = "the segment is not committed yet"
    TAKEN = "another object is in its place: left to the repair"


def is_needed(records: PropertyStore, late: LateUpload) -> bool:
    """Whether the segment still lacks this copy, or may come to; before it is uploaded.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    return _read(records, late) in (Registered.DONE, Registered.NOT_YET)


def bring_home(
    records: PropertyStore, store: Store, late: LateUpload, content_of: Callable[[str], int | None]
) -> tuple[LateUpload, Registered]:
    """Move a late upload to where Pinot keeps the segment's tar, if the segment is to have it.

    The name that a commit uploads to is a temporary one: Pinot never deletes what has it together with the
    segment, and may delete it while it is in use. An object that is in its place already is left alone. Where
    it has the same content it is the upload: a server that was killed here had moved it, or a repair has
    just written it.

    Args:
        records: The cluster's property store.
        store: Where it is.
        late: The upload.
        content_of: Returns the check sum of the segment in an object; None: it is no segment's tar.

    Returns:
        The upload as it is now, and what is to become of it; ``DONE``: its url may be registered.

    Raises:
        OSError: The store refuses.
        UnreachableError: ZooKeeper does not answer.
    """
    outcome = _read(records, late)
    if outcome is not Registered.DONE or late.uri == late.home:
        return late, outcome
    if not store.move(late.uri, late.home):
        if content_of(late.home) != late.crc:
            return late, Registered.TAKEN
        store.delete(late.uri)
    return replace(late, uri=late.home), outcome


def register(records: PropertyStore, late: LateUpload) -> Registered:
    """Put the url into the segment's record, if it is the committed one and has none; by compare-and-set.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        ConflictError: Others changed the record at each attempt.
        OutcomeUnknownError: The reply was lost, and ZooKeeper is away; the same again settles it.
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
        # A size that stands there is of the unpacked folder, since Pinot 1.3, and stays.
        return replace(record, size_is_of_tar=record.size_bytes is None).with_copy(late.uri, late.size_bytes)

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
