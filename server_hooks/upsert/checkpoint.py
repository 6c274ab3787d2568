"""Records up to which message the files of sealed segments are flushed: a restart applies only later ones.

Data in a mapped file survives the process, but not a crash of the machine. So the files are flushed from time
to time, and then the checkpoint records the offset. A signature file in a segment's folder shows whether the
folder is still the same one: a copy of the segment, from a reload or from another server, has another inode.

The file is JSON: ``format``, its version; ``segments``, by name ``signature`` and ``next``; ``endsFrom``, by
partition of the updates topic the first version whose end counts, after messages were deleted unread.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path

from controller_client.common.formats import Format
from controller_client.errors import DataError

__all__ = ["CHECKPOINT_FORMAT", "BitmapCheckpoint", "sign"]

CHECKPOINT_FORMAT = Format("the checkpoint of an upsert table on this server")

_SIGNATURE = "pinotPlugins.upsert"


class BitmapCheckpoint:
    """The checkpoint of one table.

    Args:
        file: Its file; a damaged file is ignored.

    Raises:
        FormatVersionError: A later release wrote the file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._segments: dict[str, dict[str, object]] = {}
        self.ends_from: dict[int, int] = {}
        try:
            checkpoint = json.loads(file.read_text())
            CHECKPOINT_FORMAT.check(checkpoint, str(file))
            self._segments = {
                str(name): {"signature": str(entry["signature"]), "next": int(entry["next"])}
                for name, entry in checkpoint["segments"].items()
            }
            self.ends_from = {
                int(number): int(since) for number, since in checkpoint.get("endsFrom", {}).items()
            }
        except (
            *(OSError, ValueError, KeyError, TypeError, AttributeError),
            *(ArithmeticError, RecursionError, DataError),
        ):
            self._segments, self.ends_from = {}, {}

    def since(self, segment: str, folder: Path) -> int:
        """Return the offset of the updates topic from which a segment may lack events; 0 if unknown."""
        entry = self._segments.get(segment)
        if not entry or entry.get("signature") != signature(folder):
            return 0
        return int(str(entry.get("next", 0)))

    def save(self, flushed: Mapping[str, tuple[str, int]]) -> None:
        """Record what was flushed: for each segment its signature, and the offset after its last message.

        Raises:
            OSError: The file cannot be written; the previous checkpoint still counts.
        """
        self._segments = {
            name: {"signature": sign_of, "next": following} for name, (sign_of, following) in flushed.items()
        }
        self._write()

    def count_ends_from(self, number: int, version: int) -> None:
        """Record the first version whose end counts in a partition of the updates topic.

        Raises:
            OSError: The file cannot be written.
        """
        before = self.ends_from
        if before.get(number, 0) != version:
            self.ends_from = {**before, number: version}
            try:
                self._write()
            except OSError:
                self.ends_from = before
                raise

    def _write(self) -> None:
        document = {
            "segments": self._segments,
            "endsFrom": {str(number): version for number, version in self.ends_from.items()},
        }
        new = self._file.with_suffix(".new")
        with new.open("w") as stream:
            json.dump(CHECKPOINT_FORMAT.stamp_json(document), stream)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(self._file)


def sign(folder: Path) -> str:
    """Mark a segment's folder as the one that is kept up to date here; returns its signature.

    Raises:
        OSError: The signature file cannot be written.
    """
    new = folder / f"{_SIGNATURE}.new"
    new.write_text(uuid.uuid4().hex)
    new.replace(folder / _SIGNATURE)
    return signature(folder)


def signature(folder: Path) -> str:
    """Return a folder's signature, or an empty string if it has none."""
    try:
        text = (folder / _SIGNATURE).read_text()
        return f"{text}-{(folder / 'v3' / 'columns.psf').stat().st_ino}"
    except OSError:
        return ""
