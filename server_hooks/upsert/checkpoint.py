"""Up to which message the files of sealed segments are on the disk: a restart applies only later ones.

What is written into a mapped file outlives the process, but not the machine. So the files are flushed now and
then, and after that it is noted up to where. Whether a segment's folder is still the one that was meant is
shown by a file in it: a copy of the segment, from a reload or from another server, has another inode number.

The file is JSON: ``format``, its version; ``segments``, by name ``signature`` and ``next``.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path

from controller_client.common.formats import Format
from controller_client.errors import DataError

__all__ = ["CHECKPOINT_FORMAT", "Checkpoint", "sign"]

CHECKPOINT_FORMAT = Format("the checkpoint of an upsert table on this server")

_SIGNATURE = "pinotPlugins.upsert"


class Checkpoint:
    """One table's.

    Args:
        file: Where it is kept; one that is damaged is as none.

    Raises:
        FormatVersionError: A later release wrote it.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._segments: dict[str, dict[str, object]] = {}
        try:
            found = json.loads(file.read_text())
            CHECKPOINT_FORMAT.check(found, str(file))
            self._segments = dict(found["segments"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, DataError):
            self._segments = {}

    def since(self, segment: str, folder: Path) -> int:
        """From which offset of the updates topic on a file may lack events; 0 where it is another one."""
        known = self._segments.get(segment)
        if not known or known.get("signature") != signature(folder):
            return 0
        return int(str(known.get("next", 0)))

    def save(self, flushed: Mapping[str, tuple[str, int]]) -> None:
        """Note what was flushed: by segment its signature, and the offset after the last message in it.

        Raises:
            OSError: The disk refuses; what was noted before counts.
        """
        self._segments = {
            name: {"signature": sign_of, "next": following} for name, (sign_of, following) in flushed.items()
        }
        new = self._file.with_suffix(".new")
        with new.open("w") as stream:
            json.dump(CHECKPOINT_FORMAT.stamp_json({"segments": self._segments}), stream)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(self._file)


def sign(folder: Path) -> str:
    """Mark a segment's folder as the one that is kept up to date here; returns its signature.

    Raises:
        OSError: The disk refuses.
    """
    new = folder / f"{_SIGNATURE}.new"
    new.write_text(uuid.uuid4().hex)
    new.replace(folder / _SIGNATURE)
    return signature(folder)


def signature(folder: Path) -> str:
    """A folder's signature; empty where it has none."""
    try:
        text = (folder / _SIGNATURE).read_text()
        return f"{text}-{(folder / 'v3' / 'columns.psf').stat().st_ino}"
    except OSError:
        return ""
