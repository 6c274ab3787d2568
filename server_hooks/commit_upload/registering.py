"""The url of a late upload, put into the segment's record."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from queue import SimpleQueue

from controller_client.clock import Clock
from controller_client.common.names import TableName, TableType
from controller_client.deepstore.segment_record import SegmentRecord
from controller_client.errors import PinotPluginError
from controller_client.zookeeper import PropertyStore, Versioned, ZNRecord, segment_path
from server_hooks.commit_upload.uploads import LateUpload, Store

__all__ = ["LateRegistrar", "Registered"]

logger = logging.getLogger(__name__)

_POLL_S = 1.0
_GIVE_UP_S = 600.0


class Registered:
    """What became of a late upload, in words for the log."""

    DONE = "its url is registered"
    OTHER = "the segment has another url, or another content was committed: this copy is not needed"
    GONE = "the segment does not exist any more"
    NOT_YET = "the segment is not committed yet, or its place in the store is taken: left to the repair"


class LateRegistrar:
    """Registers late uploads one after the other, in a thread of its own.

    Args:
        records: The cluster's property store.
        store: Has the uploads.
        clock: Time.
    """

    def __init__(self, records: PropertyStore, store: Store, clock: Clock) -> None:
        self._records = records
        self._store = store
        self._clock = clock
        self._queue: SimpleQueue[tuple[LateUpload, float] | None] = SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="commit-upload-register", daemon=True)
        self._thread.start()

    def add(self, late: LateUpload) -> None:
        """Have an upload registered once its segment is committed; called in any thread."""
        self._queue.put((late, self._clock.monotonic()))

    def close(self) -> None:
        """End the thread; what is not registered yet is left to the repair."""
        self._stopping.set()
        self._queue.put(None)
        self._thread.join(timeout=2 * _POLL_S)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None and not self._stopping.is_set():
            late, since = item
            outcome = Registered.NOT_YET
            try:
                late = bring_home(self._records, self._store, late)
                outcome = register(self._records, late)
            except (PinotPluginError, OSError) as error:
                logger.warning("%s: its url cannot be registered now: %s", late.segment, error)
            if outcome == Registered.NOT_YET and self._clock.monotonic() - since < _GIVE_UP_S:
                self._stopping.wait(_POLL_S)
                self._queue.put((late, since))
                continue
            logger.info("%s, uploaded late: %s", late.segment, outcome)
            if outcome in (Registered.OTHER, Registered.GONE):
                self._drop(late)

    def _drop(self, late: LateUpload) -> None:
        try:
            self._store.delete(late.uri)
        except OSError as error:
            logger.warning("%s cannot be deleted: %s", late.uri, error)


def bring_home(records: PropertyStore, store: Store, late: LateUpload) -> LateUpload:
    """Move a late upload to where Pinot keeps the segment's tar, if the segment is to have it.

    The name that a commit uploads to is a temporary one: Pinot never deletes what has it together with the
    segment, and may delete it while it is in use. An object that is there already is left alone.

    Returns:
        The upload as it is now.

    Raises:
        OSError: The store refuses.
        UnreachableError: ZooKeeper does not answer.
    """
    table = _table(late)
    found = records.get(segment_path(table, late.segment))
    record = SegmentRecord.of(table, late.segment, found) if found else None
    wanted = record is not None and _outcome(record, late) == Registered.DONE
    if late.uri != late.home and wanted and store.move(late.uri, late.home):
        return replace(late, uri=late.home)
    return late


def register(records: PropertyStore, late: LateUpload) -> str:
    """Put the url into the segment's record, if it is the committed one and has none; by compare-and-set.

    Returns:
        One of :class:`Registered`.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        ConflictError: Others changed the record at each attempt.
        OutcomeUnknownError: The reply was lost, and ZooKeeper is away; the same again settles it.
    """
    table = _table(late)
    outcome = Registered.GONE

    def registered(present: ZNRecord | None) -> ZNRecord | None:
        nonlocal outcome
        if present is None:
            outcome = Registered.GONE
            return None
        record = SegmentRecord.of(table, late.segment, Versioned(present, version=-1))
        outcome = _outcome(record, late)
        if outcome != Registered.DONE or record.url == late.uri:
            return present
        if late.uri != late.home:
            outcome = Registered.NOT_YET
            return present
        # A size that stands there is of the unpacked folder, since Pinot 1.3, and stays.
        return replace(record, size_is_of_tar=record.size_bytes is None).with_copy(late.uri, late.size_bytes)

    records.change(segment_path(table, late.segment), registered)
    return outcome


def _table(late: LateUpload) -> TableName:
    return TableName.of(late.raw_table, TableType.REALTIME)


def _outcome(record: SegmentRecord, late: LateUpload) -> str:
    if record.consuming:
        return Registered.NOT_YET
    if record.url == late.uri:
        return Registered.DONE
    return Registered.OTHER if record.url or record.crc != late.crc else Registered.DONE
