"""Brings the tars of the backlog to the store, and their urls into the segments' records."""

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
from server_hooks.commit_upload.outcomes import Outcome, OutcomeCounts
from server_hooks.commit_upload.registering import LateUpload, Registered, bring_home, is_needed, register
from server_hooks.commit_upload.store import Store
from server_hooks.commit_upload.upload_state import UploadState

__all__ = ["LateUploads"]

logger = logging.getLogger(__name__)

# A server of this cluster has built it.
_ANY_SIZE = TarLimits(1 << 50, 1 << 50)
_FINAL = {
    Registered.DONE: UploadState.REGISTERED,
    Registered.OTHER: UploadState.NOT_NEEDED,
    Registered.GONE: UploadState.NOT_NEEDED,
    Registered.TAKEN: UploadState.GIVEN_UP,
}


class LateUploads:
    """Works on the backlog; whatever may hang is done by threads of the pool.

    Args:
        backlog: The tars.
        kept: Where they are.
        store: Gets them.
        records: The cluster's property store.
        counts: Counts what becomes of them.
        home_uri: Where Pinot keeps the tables' segments: the controller's data directory.
        pool: Runs what may hang.
        threads: Tars at a time; one, after an attempt that failed, until one ends well.
        wake: Called when there is more to do; in any thread.
    """

    def __init__(
        self,
        backlog: Backlog,
        kept: KeptTars,
        store: Store,
        records: PropertyStore,
        counts: OutcomeCounts,
        *,
        home_uri: str,
        pool: Executor,
        threads: int = 2,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._backlog = backlog
        self._kept = kept
        self._store = store
        self._records = records
        self._counts = counts
        self._home_uri = home_uri.rstrip("/")
        self._pool = pool
        self._threads = threads
        self._wake = wake
        self._running: set[Path] = set()
        self._store_answers = True

    def resume(self) -> None:
        """Take in what an earlier process has left; before the first step."""
        for tar in self._kept.left():
            if not self._backlog.add(tar, UploadState.WAITING):
                self._kept.discard(tar)

    def step(self) -> None:
        """Give up what is too much, and begin what is due; called in one thread, again and again."""
        for entry in self._backlog.over_bounds():
            self._counts.add(Outcome.GIVEN_UP)
            is_in_store = entry.state is UploadState.UPLOADED and self._is_temporary(entry)
            self._discard(entry, in_store=is_in_store)
        # What is in the store comes first: it needs little, and makes room.
        for state, work in ((UploadState.UPLOADED, self._settle), (UploadState.WAITING, self._upload)):
            for entry in self._backlog.due(state):
                if len(self._running) >= (self._threads if self._store_answers else 1):
                    return
                if entry.tar.file not in self._running:
                    self._running.add(entry.tar.file)
                    self._pool.submit(self._run, work, entry)

    def _run(self, work: Callable[[BacklogEntry], None], entry: BacklogEntry) -> None:
        """Work on one tar; in a thread of the pool, whose callers look at no error."""
        try:
            work(entry)
        except Exception:
            logger.exception("%s: its late upload is tried again", entry.tar.segment)
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
            logger.warning("%s: its tar is of no use, left to the repair: %s", entry.tar.segment, error)
            self._finish(entry, UploadState.GIVEN_UP, in_store=is_put)
        except PinotPluginError as error:
            logger.warning("%s: its record cannot be read now: %s", entry.tar.segment, error)
            self._backlog.change(entry, UploadState.WAITING, crc=crc)
        except Exception as error:  # noqa: BLE001  # whatever the file system raises
            self._store_answers = False
            self._counts.add(Outcome.FAILED)
            logger.info("%s: the store has not taken it, tried again later: %s", entry.tar.segment, error)
            self._backlog.change(entry, UploadState.WAITING, crc=crc)
        else:
            self._store_answers = True
            self._counts.add(Outcome.LATE)
            self._backlog.change(entry, UploadState.UPLOADED, crc=crc)

    def _settle(self, entry: BacklogEntry) -> None:
        """Move an upload home, and register it; or delete it, where the segment needs it no more."""
        try:
            late = self._late(entry)
            late, outcome = bring_home(self._records, self._store, late, self._content_of)
            if late.uri != entry.uri:
                moved = self._backlog.again(entry, uri=late.uri, crc=late.crc)
                if moved is None:
                    return
                entry = moved
            if outcome is Registered.DONE:
                outcome = register(self._records, late)
        except DataError as error:
            logger.warning("%s: its tar is of no use, left to the repair: %s", entry.tar.segment, error)
            self._finish(entry, UploadState.GIVEN_UP, in_store=self._is_temporary(entry))
        except OSError as error:
            # The store is away again; or the object is gone, since the controller clears temporary names.
            logger.info("%s: it cannot be moved, and is uploaded again: %s", entry.tar.segment, error)
            self._backlog.change(entry, UploadState.WAITING)
        except Exception as error:  # noqa: BLE001  # ZooKeeper is away, or what the file system raises
            logger.warning("%s: its url cannot be registered now: %s", entry.tar.segment, error)
            self._backlog.again(entry)
        else:
            if outcome is Registered.NOT_YET:
                self._backlog.again(entry, crc=late.crc)
                return
            logger.info("%s, uploaded late: %s", entry.tar.segment, outcome)
            # What lies in the segment's place is nobody's leftover, unless the segment is gone.
            is_left_over = outcome is Registered.GONE or self._is_temporary(entry)
            self._finish(entry, _FINAL[outcome], in_store=is_left_over)

    def _finish(self, entry: BacklogEntry, state: UploadState, *, in_store: bool) -> None:
        if self._backlog.change(entry, state) is None:
            return
        if state is UploadState.GIVEN_UP:
            self._counts.add(Outcome.GIVEN_UP)
        self._discard(entry, in_store=in_store)

    def _discard(self, entry: BacklogEntry, *, in_store: bool) -> None:
        """Delete a tar that waits no more, and what it has left in the store under a temporary name."""
        self._kept.discard(entry.tar)
        if in_store:
            self._pool.submit(self._delete, entry.uri)

    def _delete(self, uri: str) -> None:
        try:
            self._store.delete(uri)
        except Exception as error:  # noqa: BLE001  # whatever the file system raises
            logger.warning(
                "%s cannot be deleted: `pinotctl deepstore sweep` does it: %s", mask_text(uri), error
            )

    def _late(self, entry: BacklogEntry) -> LateUpload:
        tar = entry.tar
        if entry.crc is None or entry.state is not UploadState.UPLOADED:
            self._kept.check(tar)
        crc = content_crc(tar.file, _ANY_SIZE) if entry.crc is None else entry.crc
        return LateUpload(tar.raw_table, tar.segment, entry.uri, self._home(entry), tar.size_bytes, crc)

    def _content_of(self, uri: str) -> int | None:
        with self._kept.scratch() as file:
            self._store.fetch(uri, file)
            try:
                return content_crc(file, _ANY_SIZE)
            except DataError:
                return None

    def _is_temporary(self, entry: BacklogEntry) -> bool:
        return entry.uri != self._home(entry)

    def _home(self, entry: BacklogEntry) -> str:
        return f"{self._home_uri}/{entry.tar.raw_table}/{quote_plus(entry.tar.segment)}"
