"""The tars that are kept on this server's disk until the store has them; they outlive the process.

One is ``<folder>/<table>/<segment>.<uuid>.tar.gz``, names percent-encoded: a hard link to what the commit
has built, with its time. Nothing else is written down: what the tar holds is judged by its content, and
whether it is needed by the segment's record.
"""

from __future__ import annotations

import logging
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote

from controller_client.errors import DataError
from server_hooks.commit_upload.backlog import KeptTar

__all__ = ["KeptTars"]

logger = logging.getLogger(__name__)

_SUFFIX = ".tar.gz"


class KeptTars:
    """A folder of tars; threads share it.

    Args:
        folder: Of this server alone, on the disk of its segments.
        store_uri: Where the tables' folders in the store are.
    """

    def __init__(self, folder: Path, store_uri: str) -> None:
        self._folder = folder
        self._store_uri = store_uri.rstrip("/")
        folder.mkdir(parents=True, exist_ok=True)

    def keep(self, file: Path, raw_table: str, segment: str, uri: str) -> KeptTar:
        """Keep a tar that may be deleted soon: as a hard link where the disk is the same, else as a copy."""
        kept = self._folder / _quoted(raw_table) / f"{_quoted(segment)}.{uuid.uuid4()}{_SUFFIX}"
        kept.parent.mkdir(exist_ok=True)
        try:
            os.link(file, kept)
        except OSError:  # another file system
            _copy(file, kept)
        stat = kept.stat()
        return KeptTar(kept, raw_table, segment, uri, stat.st_size, stat.st_mtime_ns)

    def left(self) -> list[KeptTar]:
        """Return what an earlier process has left; what is no whole tar of ours is deleted."""
        found = []
        for path in sorted(self._folder.glob("*")):
            if not path.is_dir():
                path.unlink()
                continue
            raw_table = unquote(path.name)
            for file in sorted(path.iterdir()):
                segment, _, lot = file.name.removesuffix(_SUFFIX).rpartition(".")
                if not (segment and file.name.endswith(_SUFFIX) and _is_uuid(lot) and file.is_file()):
                    logger.warning("%s is no tar that waits for the store: it is deleted", file)
                    shutil.rmtree(file) if file.is_dir() else file.unlink()
                    continue
                segment = unquote(segment)
                uri = f"{self._store_uri}/{raw_table}/{quote_plus(segment)}.tmp.{lot}"
                stat = file.stat()
                found.append(KeptTar(file, raw_table, segment, uri, stat.st_size, stat.st_mtime_ns))
        return found

    def check(self, tar: KeptTar) -> None:
        """Refuse a tar that is not what it was when it was kept.

        A server that was killed in a commit builds the segment anew, and writes into the file that it finds:
        where that is linked, into the kept one.

        Raises:
            DataError: It is gone, or was written to.
        """
        try:
            stat = tar.file.stat()
        except FileNotFoundError:
            raise DataError(f"{tar.file} is gone") from None
        if (stat.st_size, stat.st_mtime_ns) != (tar.size_bytes, tar.modified_ns):
            raise DataError(f"{tar.file} was written to since it was kept")

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give a file's path for the time of the block; what a kill leaves of it is no tar."""
        path = self._folder / f"{uuid.uuid4()}.part"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def discard(self, tar: KeptTar) -> None:
        """Delete a tar."""
        tar.file.unlink(missing_ok=True)

    def free_bytes(self) -> int:
        """What is free on the disk."""
        return shutil.disk_usage(self._folder).free


def _copy(file: Path, kept: Path) -> None:
    part = kept.with_name(f"{kept.name}.part")
    try:
        shutil.copy2(file, part)
        part.rename(kept)
    finally:
        part.unlink(missing_ok=True)


def _quoted(name: str) -> str:
    # A dot alone would name a folder.
    return quote(name, safe="").replace(".", "%2E")


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
