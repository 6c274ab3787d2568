"""The url of a late upload, put into the segment's record."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

from controller_client.clock import Clock
from controller_client.common.names import TableName, TableType
from controller_client.deepstore.segment_record import SegmentRecord
from controller_client.errors import PinotPluginError
from controller_client.zookeeper import PropertyStore, Versioned, ZNRecord, segment_path
from server_hooks.commit_upload.uploads import LateUpload

__all__ = ["LateRegistrar", "Registered"]

logger = logging.getLogger(__name__)

_POLL_S = 1.0
_GIVE_UP_S = 600.0


class Registered:
    """What became of a late upload, in words for the log."""

    DONE = "its url is registered"
    OTHER = "the segment has another url, or another content was committed: this copy is not needed"
    GONE = "the segment does not exist any more"
    NOT_YET = "the segment is not committed yet"


class LateRegistrar:
    """Registers late uploads one after the other, in a thread of its own.

    Args:
        store: The cluster's property store.
        delete: Deletes an object of the store that is not needed; may raise.
        clock: Time.
    """

    def __init__(self, store: PropertyStore, delete: Callable[[str], None], clock: Clock) -> None:
        self._store = store
        self._delete = delete
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
            try:
                outcome = register(self._store, late)
            except PinotPluginError as error:
                logger.warning("%s: its url cannot be registered now: %s", late.segment, error)
                outcome = Registered.NOT_YET
            if outcome == Registered.NOT_YET and self._clock.monotonic() - since < _GIVE_UP_S:
                self._stopping.wait(_POLL_S)
                self._queue.put(item)
                continue
            logger.info("%s, uploaded late: %s", late.segment, outcome)
            if outcome in (Registered.OTHER, Registered.GONE):
                self._drop(late)

    def _drop(self, late: LateUpload) -> None:
        try:
            self._delete(late.uri)
        except OSError as error:
            logger.warning("%s cannot be deleted: %s", late.uri, error)


def register(store: PropertyStore, late: LateUpload) -> str:
    """Put the url into the segment's record, if it is the committed one and has none; by compare-and-set.

    Returns:
        One of :class:`Registered`.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        ConflictError: Others changed the record at each attempt.
        OutcomeUnknownError: The reply was lost, and ZooKeeper is away; the same again settles it.
    """
    table = TableName.of(late.raw_table, TableType.REALTIME)
    outcome = Registered.GONE

    def registered(present: ZNRecord | None) -> ZNRecord | None:
        nonlocal outcome
        if present is None:
            outcome = Registered.GONE
            return None
        record = SegmentRecord.of(table, late.segment, Versioned(present, version=-1))
        outcome = _outcome(record, late)
        if outcome == Registered.DONE and record.url != late.uri:
            return record.with_copy(late.uri, late.size_bytes)
        return present

    store.change(segment_path(table, late.segment), registered)
    return outcome


def _outcome(record: SegmentRecord, late: LateUpload) -> str:
    if record.consuming:
        return Registered.NOT_YET
    if record.url == late.uri:
        return Registered.DONE
    return Registered.OTHER if record.url or record.crc != late.crc else Registered.DONE
