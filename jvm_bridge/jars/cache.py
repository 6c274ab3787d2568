"""The folder that pinned jars are fetched into, once per machine and user.

::

    <cache>/repository/<group>/<artifact>/<version>/<jar>   the jars, in Maven's layout, shared by all sets
    <cache>/sets/<name>-<fingerprint>.json                  a complete set: size and mtime of each jar
    <cache>/incoming/                                       running downloads
    <cache>/lock                                            lock of the process that fetches

A jar is moved to ``repository`` after its sha256 was verified, so a process that is killed at any time leaves
no incomplete files there, and the next process continues. A complete set needs one ``stat`` per jar and no
network; a jar whose size or mtime has changed is verified and, if necessary, fetched again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from controller_client.errors import SetupError
from jvm_bridge.jars.download import Repository
from jvm_bridge.jars.own_folder import make_folder
from jvm_bridge.jars.pins import Pin, PinSet

__all__ = ["JarCache", "Progress"]

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called in the calling thread with (jars done, jars in total)."""

_DOWNLOADS_AT_ONCE = 8


class JarCache:
    """Pinned jars on disk.

    Args:
        folder: The cache folder; created if missing.
        repository: The repository of missing jars.
    """

    def __init__(self, folder: Path, repository: Repository) -> None:
        self.folder = folder
        self._repository = repository

    def path(self, pin: Pin) -> Path:
        """Return the path of a jar, whether it exists or not."""
        return self.folder / "repository" / pin.path

    def ensure(self, pins: PinSet, progress: Progress | None = None) -> tuple[Path, ...]:
        """Return the set's jars in class path order, fetching missing ones.

        Raises:
            SetupError: A jar cannot be fetched or does not match its pin, or the folder cannot be written.
        """
        try:
            if not self._is_complete(pins):
                with self._locked():
                    # The previous holder of the lock may have done the work.
                    if not self._is_complete(pins):
                        self._fetch_missing(pins, progress)
        except OSError as error:
            raise SetupError(
                f"the jar cache cannot be read or written: {error}",
                where=str(self.folder),
                remedy="free disk space, or set PINOT_PLUGINS_CACHE to a writable folder",
            ) from error
        return tuple(self.path(pin) for pin in pins.pins)

    def _marker(self, pins: PinSet) -> Path:
        return self.folder / "sets" / f"{pins.name}-{pins.fingerprint}.json"

    def _is_complete(self, pins: PinSet) -> bool:
        try:
            recorded = json.loads(self._marker(pins).read_text())
        except (FileNotFoundError, ValueError):
            return False
        return all(_stamp(self.path(pin)) == recorded.get(str(pin.path)) for pin in pins.pins)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_folder(self.folder)
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                logger.info("another process is fetching jars into %s, waiting for it", self.folder)
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _fetch_missing(self, pins: PinSet, progress: Progress | None) -> None:
        incoming = self.folder / "incoming"
        shutil.rmtree(incoming, ignore_errors=True)  # files of a killed process; this process has the lock
        make_folder(incoming)
        missing = [pin for pin in pins.pins if not self._is_good(pin)]
        done = len(pins.pins) - len(missing)
        if progress:
            progress(done, len(pins.pins))
        with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE, thread_name_prefix="jars") as pool:
            futures = [pool.submit(self._fetch, pin, incoming) for pin in missing]
            try:
                for future in as_completed(futures):
                    future.result()
                    done += 1
                    if progress:
                        progress(done, len(pins.pins))
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
        marker = self._marker(pins)
        make_folder(marker.parent)
        temporary = incoming / marker.name
        temporary.write_text(json.dumps({str(pin.path): _stamp(self.path(pin)) for pin in pins.pins}))
        temporary.chmod(0o644)
        temporary.replace(marker)

    def _is_good(self, pin: Pin) -> bool:
        path = self.path(pin)
        if not path.is_file():
            return False
        if _sha256(path) == pin.sha256:
            return True
        logger.warning("%s is corrupt (its sha256 does not match its pin), fetching it again", path)
        return False

    def _fetch(self, pin: Pin, incoming: Path) -> None:
        """Fetch one jar; runs in a thread of this module's pool."""
        with tempfile.TemporaryDirectory(dir=incoming) as folder:
            jar = self._repository.fetch(pin, Path(folder))
            found = _sha256(jar)
            if found != pin.sha256:
                raise SetupError(
                    f"{pin.coordinate} has the sha256 {found}",
                    expected=pin.sha256,
                    where=self._repository.shown,
                    remedy="the repository has a different file than the pinned one: check the mirror",
                )
            target = self.path(pin)
            make_folder(target.parent)
            with jar.open("rb") as written:
                os.fchmod(written.fileno(), 0o644)
                os.fsync(written.fileno())  # after a power failure there must be no marker without the bytes
            jar.replace(target)


def _stamp(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return [status.st_size, status.st_mtime_ns]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
