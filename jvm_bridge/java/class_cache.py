"""Compiled classes on disk, in the same cache folder as the jars.

::

    <cache>/classes/<package>-<digest>.jar    a package's classes, after a line with the sha256 of the rest

An entry is created by a rename, so it is always complete, and processes that compile the same package at the
same time write the same entry. A corrupt entry is ignored.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

from controller_client.common.folders import scratch_folder
from jvm_bridge.jars.own_folder import make_folder

__all__ = ["ClassCache"]

logger = logging.getLogger(__name__)

_DIGITS = 16
_TIME = (1980, 1, 1, 0, 0, 0)
"""A fixed time, so that the same classes give the same bytes."""


class ClassCache:
    """Classes by package and digest; each is a mapping of relative file names to contents.

    Args:
        folder: The folder of the entries; created if missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, package: str, digest: str) -> Path:
        """Return the path of an entry, whether it exists or not."""
        return self._folder / f"{package}-{digest[:_DIGITS]}.jar"

    def get(self, package: str, digest: str) -> Mapping[str, bytes] | None:
        """Return the classes, or None if the entry is missing or corrupt."""
        path = self.path(package, digest)
        try:
            line, _, packed = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            logger.warning("cannot read compiled classes, compiling them again: %s", error)
            return None
        if line != _checksum(packed):
            logger.warning("%s is corrupt, compiling it again", path)
            return None
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def put(self, package: str, digest: str, classes: Mapping[str, bytes]) -> None:
        """Store classes; if that fails, the next process compiles them again."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, content in sorted(classes.items()):
                archive.writestr(zipfile.ZipInfo(name, _TIME), content)
        try:
            make_folder(self._folder)
            with scratch_folder("incoming-", self._folder) as incoming:
                scratch_file = incoming / "classes"
                with scratch_file.open("wb") as file:
                    file.write(_checksum(packed.getvalue()) + b"\n" + packed.getvalue())
                    file.flush()
                    os.fchmod(file.fileno(), 0o644)
                    os.fsync(file.fileno())
                scratch_file.replace(self.path(package, digest))
        except OSError as error:
            logger.warning("cannot store compiled classes of %s in %s: %s", package, self._folder, error)


def _checksum(packed: bytes) -> bytes:
    return hashlib.sha256(packed).hexdigest().encode()
