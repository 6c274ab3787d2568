"""Uploads of committed segments: each is waited for a short time, and goes on after that."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitedLongEnough
from dataclasses import dataclass, replace
from pathlib import Path

from controller_client.common.redaction import mask_text
from server_hooks.commit_upload.backlog import Backlog, KeptTar
from server_hooks.commit_upload.kept_tars import KeptTars
from server_hooks.commit_upload.outcomes import Outcome, OutcomeCounts
from server_hooks.commit_upload.store import Store
from server_hooks.commit_upload.upload_state import UploadState

__all__ = ["CommitUploads", "Upload"]

logger = logging.getLogger(__name__)

Upload = Callable[[Path, str, str, str], bool]
"""Uploads a segment's tar; arguments and answer of :meth:`CommitUploads.upload`."""


@dataclass(frozen=True)
class _Upload:
    """One upload: of what, and its end."""

    tar: KeptTar
    done: Future[None]


class CommitUploads:
    """Uploads segments in threads of its own; its methods are called in threads of Pinot's.

    Args:
        store: Gets the files; called in threads of this object.
        kept: Keeps the files until they are uploaded: Pinot deletes its own when the commit is over.
        backlog: Gets what is not there in time.
        counts: Counts the outcomes.
        wait_s: How long a commit waits.
        threads: How many uploads run at once; the others wait, and their commits do not wait longer for that.
        wake: Called when the backlog has changed; in any thread.
    """

    def __init__(
        self,
        store: Store,
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
        """Upload a built segment, and wait for it as long as a commit may.

        A commit that is retried with the same file uploads it no second time: the object is copied, if it is
        still there.

        Args:
            file: Its tar; may be deleted when this returns.
            raw_table: Table name without type.
            segment: Its name.
            uri: Where it is to be; no two commits name the same.

        Returns:
            Whether it is there; else the commit goes on without it, the other replicas have the only copies,
            and the backlog has the tar.
        """
        end_s = time.monotonic() + self._wait_s
        upload = self._begin(file, raw_table, segment, uri)
        try:
            upload.done.result(self._wait_s)
            if upload.tar.uri != uri:
                with self._lock:
                    again = self._submit(self._again, upload, uri)
                again.result(max(0.0, end_s - time.monotonic()))
        except WaitedLongEnough:
            self._counts.add(Outcome.TIMED_OUT)
            logger.warning("%s: the upload continues after the commit (%.1f s)", segment, self._wait_s)
            self._leave(upload)
            return False
        except CancelledError:
            logger.info("%s: the server stops; its next start uploads the tar", segment)
            self._leave(upload)
            return False
        except Exception as error:  # noqa: BLE001  # whatever the file system raises
            self._counts.add(Outcome.FAILED)
            logger.warning("%s: the upload failed, the commit continues without it: %s", segment, error)
            self._leave(upload)
            return False
        self._counts.add(Outcome.OK)
        present = self._backlog.find(upload.tar)
        if present is None or present.tar.file != upload.tar.file:
            self._kept.discard(upload.tar)
        return True

    def close(self) -> None:
        """Start no further upload; those under way end with the process, and the next one resumes them."""
        with self._lock:
            self._closed = True
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, work: Callable[..., None], *arguments: object) -> Future[None]:
        """Have a thread do something; cancelled at once where the server stops. The lock is held."""
        if self._closed:
            ended: Future[None] = Future()
            ended.cancel()
            return ended
        return self._pool.submit(work, *arguments)

    def _begin(self, file: Path, raw_table: str, segment: str, uri: str) -> _Upload:
        """The upload of this content: the one that runs or has ended well, else a new one."""
        stat = file.stat()
        with self._lock:
            known = self._uploads.get(segment)
            is_same = known is not None and known.tar.content[2:] == (stat.st_size, stat.st_mtime_ns)
            if known is not None and is_same and not known.done.done():
                return known
            if known is not None and is_same and not _has_failed(known.done):
                # Its file went with the commit before.
                tar = self._kept.keep(file, raw_table, segment, known.tar.uri)
                self._uploads[segment] = again = replace(known, tar=tar)
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
            # The controller takes the object away before it has committed the segment.
            shown = mask_text(upload.tar.uri)
            logger.info("%s cannot be copied, its file is uploaded again: %s", shown, error)
            self._store.put(upload.tar.file, uri)

    def _forget_old(self) -> None:
        """Keep the last ones only: a retried commit comes within minutes."""
        for name in list(self._uploads)[:-1000]:
            if self._uploads[name].done.done():
                del self._uploads[name]

    def _leave(self, upload: _Upload) -> None:
        """Leave a tar to the backlog, which begins what has not begun; what runs is not uploaded twice."""
        tar, done = upload.tar, upload.done
        present = self._backlog.find(tar)
        if present is not None:
            if present.tar.file != tar.file:
                done.cancel()
                self._kept.discard(tar)
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
        """Tell the backlog how an upload ended that a commit has left; in a thread of the pool."""
        entry = self._backlog.find(upload.tar)
        if entry is None or entry.state is not UploadState.UPLOADING:
            return
        if _has_failed(upload.done):
            self._counts.add(Outcome.FAILED)
            logger.warning("%s: the upload failed after the commit, tried again later", upload.tar.segment)
            self._backlog.change(entry, UploadState.WAITING)
        else:
            self._counts.add(Outcome.LATE)
            self._backlog.change(entry, UploadState.UPLOADED)
        self._wake()


def _has_failed(done: Future[None]) -> bool:
    return done.done() and (done.cancelled() or done.exception() is not None)
