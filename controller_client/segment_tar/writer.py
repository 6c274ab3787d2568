"""Writes segments' tars."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from controller_client.common.new_file import new_file
from controller_client.errors import DataError
from controller_client.segment_tar.layout import CREATION_META, PROPERTIES

__all__ = ["METADATA_FILES", "write_files", "write_metadata_tar", "write_tar"]

METADATA_FILES = (CREATION_META, PROPERTIES)
"""The files of a metadata push, from which the controller creates the segment's znode."""

_COPY_BYTES = 1 << 20

OpenGzip = Callable[[IO[bytes]], AbstractContextManager[Any]]
"""Returns a file object that compresses what is written to it."""


def _zlib(file: IO[bytes]) -> AbstractContextManager[Any]:
    # Neither name nor time in the gzip header: the same segment always gives the same tar.
    return gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0)


def write_tar(tar_path: Path, top: str, folder: Path, open_gzip: OpenGzip = _zlib) -> int:
    """Write a folder as one tar.gz with one top folder.

    Args:
        tar_path: The tar; it appears, or is replaced, only when it is complete.
        top: Name of the top folder.
        folder: The files.
        open_gzip: Opens the compressor.

    Returns:
        The size of the tar in bytes.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = [(path.relative_to(folder).as_posix(), path) for path in paths]
    return write_files(tar_path, top, files, open_gzip)


def write_files(
    tar_path: Path, top: str, files: Iterable[tuple[str, Path]], open_gzip: OpenGzip = _zlib
) -> int:
    """Write files as :func:`write_tar` does.

    Args:
        tar_path: The tar; it appears, or is replaced, only when it is complete.
        top: Name of the top folder.
        files: Paths in the top folder, and the files.
        open_gzip: Opens the compressor.

    Returns:
        The size of the tar in bytes.
    """
    files = list(files)
    with new_file(tar_path) as new:
        with (
            new.open("wb") as file,
            open_gzip(file) as stream,
            tarfile.TarFile(
                fileobj=stream, mode="w", format=tarfile.GNU_FORMAT, copybufsize=_COPY_BYTES
            ) as tar,
        ):
            tar.addfile(_entry(tarfile.DIRTYPE, top, 0o755))
            for folder in _folders(files):
                tar.addfile(_entry(tarfile.DIRTYPE, f"{top}/{folder}", 0o755))
            for name, path in files:
                entry = _entry(tarfile.REGTYPE, f"{top}/{name}", 0o644)
                entry.size = path.stat().st_size
                with path.open("rb") as source:
                    tar.addfile(entry, source)
        return new.stat().st_size


def write_metadata_tar(tar_path: Path, folder: Path, open_gzip: OpenGzip = _zlib) -> int:
    """Write the tar.gz of a metadata push: a segment's folder with only :data:`METADATA_FILES`.

    Args:
        tar_path: The tar; it appears, or is replaced, only when it is complete.
        folder: The segment's folder (version 1 or 3); its name is the segment's name.
        open_gzip: Opens the compressor.

    Returns:
        The size of the tar in bytes.
    """
    paths = {path.name: path for path in folder.rglob("*") if path.name in METADATA_FILES and path.is_file()}
    missing = [name for name in METADATA_FILES if name not in paths]
    if missing:
        raise DataError(f"the folder is not a segment: it lacks {', '.join(missing)}", where=str(folder))
    return write_files(tar_path, folder.name, [(name, paths[name]) for name in METADATA_FILES], open_gzip)


def _folders(files: list[tuple[str, Path]]) -> list[str]:
    return sorted({str(parent) for name, _ in files for parent in PurePosixPath(name).parents} - {"."})


def _entry(entry_type: bytes, name: str, mode: int) -> tarfile.TarInfo:
    # No user, group or time of this machine: the same segment always gives the same tar.
    entry = tarfile.TarInfo(name)
    entry.type = entry_type
    entry.mode = mode
    return entry
