"""Tars kept on this server's disk until the store has them; they outlive the process.

Each is ``<folder>/<table>/<segment>.<uuid>.tar.gz``, with percent-encoded names: a hard link to the tar that
the commit built, with its modification time. Nothing else is stored: the content of the tar identifies it,
and the segment's record shows whether it is needed.
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
    """A folder of tars; thread-safe.

    Args:
        folder: The folder, used by this server alone, on the disk of its segments.
        store_uri: Where the tables' folders are in the store.
    """

    def __init__(self, folder: Path, store_uri: str) -> None:
        self._folder = folder
        self._store_uri = store_uri.rstrip("/")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def keep(self, file: Path, raw_table: str, segment: str, uri: str) -> KeptTar:
        """Keep a tar that may be deleted soon, as a hard link or, from another disk, as a copy."""
        kept = self._folder / _quoted(raw_table) / f"{_quoted(segment)}.{uuid.uuid4()}{_SUFFIX}"
        kept.parent.mkdir(exist_ok=True)
        try:
            os.link(file, kept)
        except OSError:  # another file system
            _copy(file, kept)
        stat = kept.stat()
        return KeptTar(kept, raw_table, segment, uri, stat.st_size, stat.st_mtime_ns)

    def leftovers(self) -> list[KeptTar]:
        """Return the tars that an earlier process left, and delete all other files in the folder."""
        tars = []
        for path in sorted(self._folder.glob("*")):
            if not path.is_dir():
                path.unlink()
                continue
            raw_table = unquote(path.name)
            for file in sorted(path.iterdir()):
                segment, _, suffix = file.name.removesuffix(_SUFFIX).rpartition(".")
                if not (segment and file.name.endswith(_SUFFIX) and _is_uuid(suffix) and file.is_file()):
                    logger.warning("deleting %s: it is not a tar that waits for the store", file)
                    shutil.rmtree(file) if file.is_dir() else file.unlink()
                    continue
                segment = unquote(segment)
                uri = f"{self._store_uri}/{raw_table}/{quote_plus(segment)}.tmp.{suffix}"
                stat = file.stat()
                tars.append(KeptTar(file, raw_table, segment, uri, stat.st_size, stat.st_mtime_ns))
        return tars

    def check(self, tar: KeptTar) -> None:
        """Reject a tar that has changed since it was kept.

        A server that was killed during a commit builds the segment again and writes into the file that it
        finds. If that file is a hard link, it writes into the kept tar.

        Raises:
            DataError: The tar is missing, or was modified.
        """
        try:
            stat = tar.file.stat()
        except FileNotFoundError:
            raise DataError(f"{tar.file} does not exist any more") from None
        if (stat.st_size, stat.st_mtime_ns) != (tar.size_bytes, tar.modified_ns):
            raise DataError(f"{tar.file} was modified after it was kept")

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Provide the path of a temporary file; its name shows that it is not a tar, should it be left."""
        path = self._folder / f"{uuid.uuid4()}.part"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def delete(self, tar: KeptTar) -> None:
        """Delete a tar."""
        tar.file.unlink(missing_ok=True)

    def free_bytes(self) -> int:
        """Return the free space on the disk."""
        return shutil.disk_usage(self._folder).free


def _copy(file: Path, kept: Path) -> None:
    part = kept.with_name(f"{kept.name}.part")
    try:
        shutil.copy2(file, part)
        part.rename(kept)
    finally:
        part.unlink(missing_ok=True)


def _quoted(name: str) -> str:
    # A name of dots would mean a folder.
    return quote(name, safe="").replace(".", "%2E")


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
