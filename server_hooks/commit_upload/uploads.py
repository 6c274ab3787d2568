"""Uploads of committed segments: a commit waits for a short time, and the upload continues after that."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, replace
from pathlib import Path

from controller_client.common.redaction import mask_text
from server_hooks.commit_upload.backlog import Backlog, KeptTar
from server_hooks.commit_upload.kept_tars import KeptTars
from server_hooks.commit_upload.metrics import OutcomeCounts, UploadOutcome
from server_hooks.commit_upload.store import SegmentStore
from server_hooks.commit_upload.upload_state import UploadState

__all__ = ["CommitUploads", "Upload"]

logger = logging.getLogger(__name__)

Upload = Callable[[Path, str, str, str], bool]
"""Uploads a segment's tar; arguments and result as for :meth:`CommitUploads.upload`."""


@dataclass(frozen=True)
class _Upload:
    """One upload: the tar, and a future of its end."""

    tar: KeptTar
    done: Future[None]


class CommitUploads:
    """Uploads segments in its own threads; Pinot's threads call its methods.

    Args:
        store: The store; called in threads of this object.
        kept: Keeps the files until they are uploaded: Pinot deletes its own when the commit is over.
        backlog: Receives the tars that are not uploaded in time.
        counts: Counts the outcomes.
        wait_s: How long a commit waits.
        threads: How many uploads run at once. The others queue; their commits do not wait any longer.
        wake: Called in any thread when the backlog has changed.
    """

    def __init__(
        self,
        store: SegmentStore,
        kept: KeptTars,
        backlog: Backlog,
        counts: OutcomeCounts,
        *,
        wait_s: float,
        threads: int = 8,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._kept = kept
        self._backlog = backlog
        self._counts = counts
        self._wait_s = wait_s
        self._wake = wake
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="commit-upload")
        self._lock = threading.Lock()
        self._uploads: dict[str, _Upload] = {}
        self._closed = False

    def upload(self, file: Path, raw_table: str, segment: str, uri: str) -> bool:
        """Upload a newly built segment, and wait for it as long as a commit may.

        A retried commit with the same file does not upload it again: the object is copied in the store if it
        is still there.

        Args:
            file: The segment's tar; may be deleted when this returns.
            raw_table: Table name without type.
            segment: Name of the segment.
            uri: Where to upload it; no two commits use the same URI.

        Returns:
            Whether the tar is in the store. If not, the commit continues without it: only the servers have
            copies of the segment, and the backlog has the tar.
        """
        end_s = time.monotonic() + self._wait_s
        upload = self._begin(file, raw_table, segment, uri)
        try:
            upload.done.result(self._wait_s)
            if upload.tar.uri != uri:
                with self._lock:
                    again = self._submit(self._again, upload, uri)
                again.result(max(0.0, end_s - time.monotonic()))
        except FutureTimeoutError:
            self._counts.add(UploadOutcome.TIMED_OUT)
            logger.warning(
                "%s: not uploaded within %.1f s, the commit continues and the upload finishes later",
                segment,
                self._wait_s,
            )
            self._leave(upload)
            return False
        except CancelledError:
            logger.info("%s: the server is stopping, its next start uploads the tar", segment)
            self._leave(upload)
            return False
        except Exception as error:  # noqa: BLE001  # the file system may raise anything
            self._counts.add(UploadOutcome.FAILED)
            logger.warning("%s: upload failed, the commit continues without it: %s", segment, error)
            self._leave(upload)
            return False
        self._counts.add(UploadOutcome.OK)
        present = self._backlog.find(upload.tar)
        if present is None or present.tar.file != upload.tar.file:
            self._kept.delete(upload.tar)
        return True

    def close(self) -> None:
        """Start no further uploads; running ones end with the process, and the next process resumes them."""
        with self._lock:
            self._closed = True
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, work: Callable[..., None], *arguments: object) -> Future[None]:
        """Run something in a thread, or return a cancelled future if closed; call it with the lock."""
        if self._closed:
            ended: Future[None] = Future()
            ended.cancel()
            return ended
        return self._pool.submit(work, *arguments)

    def _begin(self, file: Path, raw_table: str, segment: str, uri: str) -> _Upload:
        """Return the upload of this content if it is running or has succeeded, else start a new one."""
        stat = file.stat()
        with self._lock:
            last = self._uploads.get(segment)
            is_same = last is not None and last.tar.content[2:] == (stat.st_size, stat.st_mtime_ns)
            if last is not None and is_same and not last.done.done():
                return last
            if last is not None and is_same and not _has_failed(last.done):
                # The previous commit deleted its tar.
                tar = self._kept.keep(file, raw_table, segment, last.tar.uri)
                self._uploads[segment] = again = replace(last, tar=tar)
                return again
            tar = self._kept.keep(file, raw_table, segment, uri)
            upload = _Upload(tar, self._submit(self._store.put, tar.file, uri))
            self._uploads[segment] = upload
            self._forget_old()
        return upload

    def _again(self, upload: _Upload, uri: str) -> None:
        try:
            self._store.copy(upload.tar.uri, uri)
        except OSError as error:
            # The controller moves the object before it commits the segment.
            shown = mask_text(upload.tar.uri)
            logger.info("cannot copy %s, uploading the tar again: %s", shown, error)
            self._store.put(upload.tar.file, uri)

    def _forget_old(self) -> None:
        """Keep only the most recent uploads: a commit is retried within minutes."""
        for name in list(self._uploads)[:-1000]:
            if self._uploads[name].done.done():
                del self._uploads[name]

    def _leave(self, upload: _Upload) -> None:
        """Add a tar to the backlog, which uploads it unless the upload has already started."""
        tar, done = upload.tar, upload.done
        present = self._backlog.find(tar)
        if present is not None:
            if present.tar.file != tar.file:
                done.cancel()
                self._kept.delete(tar)
            return
        if done.cancel() or _has_failed(done):
            self._backlog.add(tar, UploadState.WAITING)
        elif done.done():
            self._backlog.add(tar, UploadState.UPLOADED)
        else:
            self._backlog.add(tar, UploadState.UPLOADING)
            done.add_done_callback(lambda _done: self._ended(upload))
        self._wake()

    def _ended(self, upload: _Upload) -> None:
        """Record in the backlog how an upload ended after its commit; called in a thread of the pool."""
        entry = self._backlog.find(upload.tar)
        if entry is None or entry.state is not UploadState.UPLOADING:
            return
        if _has_failed(upload.done):
            self._counts.add(UploadOutcome.FAILED)
            logger.warning("%s: upload failed after the commit, retrying later", upload.tar.segment)
            self._backlog.change(entry, UploadState.WAITING)
        else:
            self._counts.add(UploadOutcome.LATE)
            self._backlog.change(entry, UploadState.UPLOADED)
        self._wake()


def _has_failed(done: Future[None]) -> bool:
    return done.done() and (done.cancelled() or done.exception() is not None)
