"""Compiled classes on disk, in the folder that keeps the jars, too.

::

    <cache>/classes/<package>-<digest>.jar    a package's classes, after a line with the sha256 of the rest

An entry appears by a rename, so there is none that is half written, and processes that compile the same at
once write the same. One that was damaged later is as none.
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

__all__ = ["ClassCache"]

logger = logging.getLogger(__name__)

_DIGITS = 16
_TIME = (1980, 1, 1, 0, 0, 0)
"""The same classes are the same bytes, whenever they were compiled."""


class ClassCache:
    """Classes by package and digest; each is a mapping of relative file names to contents.

    Args:
        folder: Where they are; made when it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, package: str, digest: str) -> Path:
        """Where an entry is, or will be."""
        return self._folder / f"{package}-{digest[:_DIGITS]}.jar"

    def get(self, package: str, digest: str) -> Mapping[str, bytes] | None:
        """Return the classes; None where they are not there, or not as they were written."""
        path = self.path(package, digest)
        try:
            line, _, packed = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            logger.warning("compiled classes cannot be read, compiling them again: %s", error)
            return None
        if line != _checksum(packed):
            logger.warning("%s is damaged: compiling it again", path)
            return None
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def put(self, package: str, digest: str, classes: Mapping[str, bytes]) -> None:
        """Keep classes; where the disk refuses, the next process compiles again."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, content in sorted(classes.items()):
                archive.writestr(zipfile.ZipInfo(name, _TIME), content)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with scratch_folder("incoming-", self._folder) as incoming:
                made = incoming / "classes"
                with made.open("wb") as file:
                    file.write(_checksum(packed.getvalue()) + b"\n" + packed.getvalue())
                    file.flush()
                    os.fsync(file.fileno())
                made.replace(self.path(package, digest))
        except OSError as error:
            logger.warning("compiled classes of %s cannot be kept in %s: %s", package, self._folder, error)


def _checksum(packed: bytes) -> bytes:
    return hashlib.sha256(packed).hexdigest().encode()
