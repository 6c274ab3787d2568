"""Uploads of committed segments: each is waited for a short time, and goes on after that."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitedLongEnough
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol
from urllib.parse import quote_plus

from controller_client.common.redaction import mask_text
from controller_client.segment_tar import TarLimits, content_crc

__all__ = ["CommitUploads", "LateUpload", "Outcome", "Store", "Upload"]

logger = logging.getLogger(__name__)

Upload = Callable[[Path, str, str, str], bool]
"""Uploads a segment's tar; arguments and answer of :meth:`CommitUploads.upload`."""

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


class Store(Protocol):
    """A deep store; each method raises OSError where the store refuses, or breaks off."""

    def put(self, file: Path, uri: str) -> None:
        """Copy a file to the store."""
        ...

    def copy(self, source: str, target: str) -> None:
        """Copy an object within the store."""
        ...

    def move(self, source: str, target: str) -> bool:
        """Move an object within the store; False where there is an object already."""
        ...

    def delete(self, uri: str) -> None:
        """Delete an object."""
        ...


@dataclass(frozen=True)
class _Upload:
    """One upload: what is uploaded, where to, and its end."""

    content: tuple[int, int]
    kept: Path
    uri: str
    done: Future[None]


class CommitUploads:
    """Uploads segments in threads of its own; its methods are called in threads of Pinot's.

    Args:
        store: Gets the files; called in threads of this object.
        on_late: Called with an upload that ended after its wait; called in such a thread too.
        store_uri: Where the tables' folders are.
        folder: Keeps the files until they are uploaded: Pinot deletes its own when the commit is over.
            Emptied at the start.
        wait_s: How long a commit waits.
        threads: How many uploads run at once; the others wait, and their commits do not wait longer for that.
    """

    def __init__(
        self,
        store: Store,
        on_late: Callable[[LateUpload], None],
        *,
        store_uri: str,
        folder: Path,
        wait_s: float,
        threads: int = 8,
    ) -> None:
        self._store = store
        self._on_late = on_late
        self._store_uri = store_uri.rstrip("/")
        self._folder = folder
        self._wait_s = wait_s
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="commit-upload")
        self._lock = threading.Lock()
        self._uploads: dict[str, _Upload] = {}
        self._late: set[str] = set()
        self._counts: Counter[Outcome] = Counter()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

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
            Whether it is there; else the commit goes on without it, and the other replicas have the only
            copies.
        """
        end_s = time.monotonic() + self._wait_s
        upload = self._begin(file, segment, uri)
        try:
            upload.done.result(self._wait_s)
            if upload.uri != uri:
                again = self._pool.submit(self._again, upload, uri)
                again.result(max(0.0, end_s - time.monotonic()))
        except WaitedLongEnough:
            self._count(Outcome.TIMED_OUT)
            logger.warning("%s: the upload continues after the commit (%.1f s)", segment, self._wait_s)
            self._expect_late(upload, raw_table, segment)
            return False
        except Exception as error:  # noqa: BLE001  # whatever the file system raises
            self._count(Outcome.FAILED)
            logger.warning("%s: the upload failed, the commit continues without it: %s", segment, error)
            self._let_go(upload)
            return False
        self._count(Outcome.OK)
        self._let_go(upload)
        return True

    def count(self, outcome: Outcome) -> int:
        """How often that was the outcome."""
        with self._lock:
            return self._counts[outcome]

    def close(self) -> None:
        """Start no further upload; those under way end with the process."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, file: Path, segment: str, uri: str) -> _Upload:
        """The upload of this content: the one that runs or has ended well, else a new one."""
        stat = file.stat()
        content = (stat.st_size, stat.st_mtime_ns)
        with self._lock:
            known = self._uploads.get(segment)
            if known and known.content == content and not _has_failed(known.done):
                if not known.kept.exists():
                    _link(file, known.kept)
                return known
            kept = self._folder / f"{uuid.uuid4()}.tar.gz"
            _link(file, kept)
            upload = _Upload(content, kept, uri, self._pool.submit(self._store.put, kept, uri))
            self._uploads[segment] = upload
            self._forget_old()
        return upload

    def _again(self, upload: _Upload, uri: str) -> None:
        try:
            self._store.copy(upload.uri, uri)
        except OSError as error:
            # The controller takes the object away before it has committed the segment.
            logger.info("%s cannot be copied, its file is uploaded again: %s", mask_text(upload.uri), error)
            self._store.put(upload.kept, uri)

    def _forget_old(self) -> None:
        """Keep the last ones only: a retried commit comes within minutes."""
        for name in list(self._uploads)[:-1000]:
            if self._uploads[name].done.done():
                self._late.discard(self._uploads.pop(name).uri)

    def _let_go(self, upload: _Upload) -> None:
        """Delete the file that was kept for an upload, unless its late end needs it."""
        with self._lock:
            if upload.uri not in self._late:
                upload.kept.unlink(missing_ok=True)

    def _expect_late(self, upload: _Upload, raw_table: str, segment: str) -> None:
        """Have the end of an upload told, once."""
        with self._lock:
            if upload.uri in self._late:
                return
            self._late.add(upload.uri)
        upload.done.add_done_callback(lambda _done: self._ended_late(upload, raw_table, segment))

    def _ended_late(self, upload: _Upload, raw_table: str, segment: str) -> None:
        if upload.done.cancelled():
            return
        try:
            upload.done.result()
            crc = content_crc(upload.kept, _ANY_SIZE)
            home = f"{self._store_uri}/{raw_table}/{quote_plus(segment)}"
            late = LateUpload(raw_table, segment, upload.uri, home, upload.content[0], crc)
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


def _link(file: Path, kept: Path) -> None:
    try:
        os.link(file, kept)
    except OSError:  # another file system
        shutil.copyfile(file, kept)


def _has_failed(done: Future[None]) -> bool:
    return done.done() and (done.cancelled() or done.exception() is not None)
