"""Uploads of committed segments: each is waited for a short time, and goes on after that."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitedLongEnough
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from controller_client.segment_tar import TarLimits, content_crc

__all__ = ["CommitUploads", "LateUpload", "Outcome"]

logger = logging.getLogger(__name__)

# This server has built the tar itself.
_ANY_SIZE = TarLimits(1 << 50, 1 << 50)


class Outcome(StrEnum):
    """What became of an upload; each is a counter."""

    OK = "ok"
    """It ended within the wait."""
    FAILED = "failed"
    """The store refused it, or broke off."""
    TIMED_OUT = "timedOut"
    """The commit went on without it; it may still end."""
    LATE = "late"
    """It ended after the wait."""


@dataclass(frozen=True)
class LateUpload:
    """An upload that ended after its commit went on.

    Attributes:
        raw_table: Table name without type.
        segment: Its name.
        uri: Where it is.
        size_bytes: Size of the tar.
        crc: Check sum of the segment in the tar.
    """

    raw_table: str
    segment: str
    uri: str
    size_bytes: int
    crc: int


@dataclass(frozen=True)
class _Upload:
    """One upload: what is uploaded, where to, and its end."""

    content: tuple[int, int]
    kept: Path
    uri: str
    done: Future[None]


class CommitUploads:
    """Uploads segments in threads of its own; its methods are called in consumer threads.

    Args:
        copy: Copies a file to a uri; called in a thread of this object, raises when it fails.
        on_late: Called with an upload that ended after its wait; called in such a thread too.
        store_uri: Where the table's folders are.
        folder: Keeps the files until they are uploaded: Pinot deletes its own when the commit is over.
            Emptied at the start.
        wait_s: How long a commit waits.
        threads: How many uploads run at once; the others wait, and their commits do not wait longer for that.
    """

    def __init__(
        self,
        copy: Callable[[Path, str], None],
        on_late: Callable[[LateUpload], None],
        *,
        store_uri: str,
        folder: Path,
        wait_s: float,
        threads: int = 8,
    ) -> None:
        self._copy = copy
        self._on_late = on_late
        self._store_uri = store_uri.rstrip("/")
        self._folder = folder
        self._wait_s = wait_s
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="commit-upload")
        self._lock = threading.Lock()
        self._uploads: dict[str, _Upload] = {}
        self._counts: Counter[Outcome] = Counter()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def upload(self, file: Path, raw_table: str, segment: str) -> str | None:
        """Upload a built segment, and wait for it as long as a commit may.

        Args:
            file: Its tar; may be deleted when this returns.
            raw_table: Table name without type.
            segment: Its name.

        Returns:
            The uri, or None: then the commit goes on without it, and the other replicas have the only copies.
        """
        upload = self._begin(file, raw_table, segment)
        try:
            upload.done.result(self._wait_s)
        except WaitedLongEnough:
            self._count(Outcome.TIMED_OUT)
            logger.warning("%s: the upload continues after the commit (%.1f s)", segment, self._wait_s)
            upload.done.add_done_callback(lambda _done: self._ended_late(upload, raw_table, segment))
            return None
        except Exception as error:  # noqa: BLE001  # whatever the file system raises
            self._count(Outcome.FAILED)
            logger.warning("%s: the upload failed, the commit continues without it: %s", segment, error)
            upload.kept.unlink(missing_ok=True)
            return None
        self._count(Outcome.OK)
        upload.kept.unlink(missing_ok=True)
        return upload.uri

    def count(self, outcome: Outcome) -> int:
        """How often that was the outcome."""
        with self._lock:
            return self._counts[outcome]

    def close(self) -> None:
        """Start no further upload; those under way end with the process."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, file: Path, raw_table: str, segment: str) -> _Upload:
        """The upload of this content: the one that runs or has ended well, else a new one."""
        stat = file.stat()
        content = (stat.st_size, stat.st_mtime_ns)
        with self._lock:
            known = self._uploads.get(segment)
            if known and known.content == content and not _has_failed(known.done):
                return known
            kept = self._keep(file)
            uri = f"{self._store_uri}/{raw_table}/{segment}{uuid.uuid4()}"
            upload = _Upload(content, kept, uri, self._pool.submit(self._copy, kept, uri))
            self._uploads[segment] = upload
            self._forget_old()
            return upload

    def _keep(self, file: Path) -> Path:
        kept = self._folder / f"{uuid.uuid4()}.tar.gz"
        try:
            os.link(file, kept)
        except OSError:  # another file system
            shutil.copyfile(file, kept)
        return kept

    def _forget_old(self) -> None:
        """Keep the last ones only: a retried commit comes within minutes."""
        for name in list(self._uploads)[:-1000]:
            if self._uploads[name].done.done():
                del self._uploads[name]

    def _ended_late(self, upload: _Upload, raw_table: str, segment: str) -> None:
        if upload.done.cancelled():
            return
        try:
            upload.done.result()
            crc = content_crc(upload.kept, _ANY_SIZE)
            late = LateUpload(raw_table, segment, upload.uri, upload.content[0], crc)
        except Exception as error:  # noqa: BLE001  # whatever the file system raises
            self._count(Outcome.FAILED)
            logger.warning("%s: the upload failed after the commit: %s", segment, error)
            return
        finally:
            upload.kept.unlink(missing_ok=True)
        self._count(Outcome.LATE)
        self._on_late(late)

    def _count(self, outcome: Outcome) -> None:
        with self._lock:
            self._counts[outcome] += 1


def _has_failed(done: Future[None]) -> bool:
    return done.done() and (done.cancelled() or done.exception() is not None)
