"""Uploads the tars in the backlog to the store, and registers their URLs in the segments' records."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from urllib.parse import quote_plus

from controller_client.common.redaction import mask_text
from controller_client.errors import DataError, PinotPluginError
from controller_client.segment_tar import TarLimits, content_crc
from controller_client.zookeeper import PropertyStore
from server_hooks.commit_upload.backlog import Backlog, BacklogEntry
from server_hooks.commit_upload.kept_tars import KeptTars
from server_hooks.commit_upload.metrics import OutcomeCounts, UploadOutcome
from server_hooks.commit_upload.registering import (
    LateUpload,
    Registered,
    is_needed,
    move_to_final_uri,
    register,
)
from server_hooks.commit_upload.store import SegmentStore
from server_hooks.commit_upload.upload_state import UploadState

__all__ = ["LateUploads"]

logger = logging.getLogger(__name__)

# A server of this cluster built the tar, so its size is not limited.
_ANY_SIZE = TarLimits(1 << 50, 1 << 50)
_FINAL = {
    Registered.DONE: UploadState.REGISTERED,
    Registered.OTHER: UploadState.NOT_NEEDED,
    Registered.GONE: UploadState.NOT_NEEDED,
    Registered.TAKEN: UploadState.DISCARDED,
}


class LateUploads:
    """Works on the backlog; threads of the pool do everything that may hang.

    Args:
        backlog: The backlog.
        kept: The tars on the disk.
        store: The store to upload to.
        records: The cluster's property store.
        counts: Counts the outcomes.
        final_base_uri: Where Pinot keeps the tables' segments: the controller's data directory.
        pool: Runs everything that may hang.
        threads: Number of tars at a time; after a failed attempt, one at a time until an attempt succeeds.
        wake: Called in any thread when there is more to do.
    """

    def __init__(
        self,
        backlog: Backlog,
        kept: KeptTars,
        store: SegmentStore,
        records: PropertyStore,
        counts: OutcomeCounts,
        *,
        final_base_uri: str,
        pool: Executor,
        threads: int = 2,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._backlog = backlog
        self._kept = kept
        self._store = store
        self._records = records
        self._counts = counts
        self._final_base_uri = final_base_uri.rstrip("/")
        self._pool = pool
        self._threads = threads
        self._wake = wake
        self._running: set[Path] = set()
        self._store_answers = True

    def resume(self) -> None:
        """Add the tars that an earlier process left; call it before the first step."""
        for tar in self._kept.leftovers():
            if not self._backlog.add(tar, UploadState.WAITING):
                self._kept.delete(tar)

    def step(self) -> None:
        """Discard the tars that exceed the limits, and start due work; called repeatedly in one thread."""
        for entry in self._backlog.discard_excess():
            self._counts.add(UploadOutcome.DISCARDED)
            is_in_store = entry.state is UploadState.UPLOADED and self._is_temporary(entry)
            self._delete_tar(entry, in_store=is_in_store)
        # Tars that are already in the store come first: they need little work, and make room.
        for state, work in ((UploadState.UPLOADED, self._settle), (UploadState.WAITING, self._upload)):
            for entry in self._backlog.due(state):
                if len(self._running) >= (self._threads if self._store_answers else 1):
                    return
                if entry.tar.file not in self._running:
                    self._running.add(entry.tar.file)
                    self._pool.submit(self._run, work, entry)

    def _run(self, work: Callable[[BacklogEntry], None], entry: BacklogEntry) -> None:
        """Work on one tar in a thread of the pool; nobody handles an exception of that thread."""
        try:
            work(entry)
        except Exception:
            logger.exception("%s: late upload failed, retrying later", entry.tar.segment)
        finally:
            self._running.discard(entry.tar.file)
            self._wake()

    def _upload(self, waiting: BacklogEntry) -> None:
        entry = self._backlog.change(waiting, UploadState.UPLOADING)
        if entry is None:
            return
        crc = entry.crc
        is_put = False
        try:
            late = self._late(entry)
            crc = late.crc
            if not is_needed(self._records, late):
                self._finish(entry, UploadState.NOT_NEEDED, in_store=False)
                return
            self._store.put(entry.tar.file, entry.uri)
            is_put = True
            self._kept.check(entry.tar)
        except DataError as error:
            logger.warning(
                "%s: unusable tar, left to `pinotctl deepstore repair`: %s", entry.tar.segment, error
            )
            self._finish(entry, UploadState.DISCARDED, in_store=is_put)
        except PinotPluginError as error:
            logger.warning(
                "%s: cannot read the segment's record, retrying later: %s", entry.tar.segment, error
            )
            self._backlog.change(entry, UploadState.WAITING, crc=crc)
        except Exception as error:  # noqa: BLE001  # the file system may raise anything
            self._store_answers = False
            self._counts.add(UploadOutcome.FAILED)
            logger.info("%s: upload failed, retrying later: %s", entry.tar.segment, error)
            self._backlog.change(entry, UploadState.WAITING, crc=crc)
        else:
            self._store_answers = True
            self._counts.add(UploadOutcome.LATE)
            self._backlog.change(entry, UploadState.UPLOADED, crc=crc)

    def _settle(self, entry: BacklogEntry) -> None:
        """Move an upload to its final URI and register it, or delete it if the segment no longer needs it."""
        try:
            late = self._late(entry)
            late, outcome = move_to_final_uri(self._records, self._store, late, self._content_of)
            if late.uri != entry.uri:
                moved = self._backlog.retry_later(entry, uri=late.uri, crc=late.crc)
                if moved is None:
                    return
                entry = moved
            if outcome is Registered.DONE:
                outcome = register(self._records, late)
        except DataError as error:
            logger.warning(
                "%s: unusable tar, left to `pinotctl deepstore repair`: %s", entry.tar.segment, error
            )
            self._finish(entry, UploadState.DISCARDED, in_store=self._is_temporary(entry))
        except OSError as error:
            # The store is unavailable again, or the controller has deleted the temporary object.
            logger.info("%s: cannot move the upload, uploading it again: %s", entry.tar.segment, error)
            self._backlog.change(entry, UploadState.WAITING)
        except Exception as error:  # noqa: BLE001  # ZooKeeper or the file system may raise anything
            logger.warning("%s: cannot register its URL, retrying later: %s", entry.tar.segment, error)
            self._backlog.retry_later(entry)
        else:
            if outcome is Registered.NOT_YET:
                self._backlog.retry_later(entry, crc=late.crc)
                return
            logger.info("%s: uploaded after its commit: %s", entry.tar.segment, outcome)
            # An object at the final URI is not a leftover, unless the segment no longer exists.
            is_left_over = outcome is Registered.GONE or self._is_temporary(entry)
            self._finish(entry, _FINAL[outcome], in_store=is_left_over)

    def _finish(self, entry: BacklogEntry, state: UploadState, *, in_store: bool) -> None:
        if self._backlog.change(entry, state) is None:
            return
        if state is UploadState.DISCARDED:
            self._counts.add(UploadOutcome.DISCARDED)
        self._delete_tar(entry, in_store=in_store)

    def _delete_tar(self, entry: BacklogEntry, *, in_store: bool) -> None:
        """Delete a tar that no longer waits, and its temporary object in the store."""
        self._kept.delete(entry.tar)
        if in_store:
            self._pool.submit(self._delete_object, entry.uri)

    def _delete_object(self, uri: str) -> None:
        try:
            self._store.delete(uri)
        except Exception as error:  # noqa: BLE001  # the file system may raise anything
            logger.warning(
                "cannot delete %s, run `pinotctl deepstore sweep` to delete it: %s", mask_text(uri), error
            )

    def _late(self, entry: BacklogEntry) -> LateUpload:
        tar = entry.tar
        if entry.crc is None or entry.state is not UploadState.UPLOADED:
            self._kept.check(tar)
        crc = content_crc(tar.file, _ANY_SIZE) if entry.crc is None else entry.crc
        return LateUpload(tar.raw_table, tar.segment, entry.uri, self._final_uri(entry), tar.size_bytes, crc)

    def _content_of(self, uri: str) -> int | None:
        with self._kept.scratch() as file:
            self._store.fetch(uri, file)
            try:
                return content_crc(file, _ANY_SIZE)
            except DataError:
                return None

    def _is_temporary(self, entry: BacklogEntry) -> bool:
        return entry.uri != self._final_uri(entry)

    def _final_uri(self, entry: BacklogEntry) -> str:
        return f"{self._final_base_uri}/{entry.tar.raw_table}/{quote_plus(entry.tar.segment)}"
