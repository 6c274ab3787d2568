"""Writes segments' tars."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any

from controller_client.common.new_file import new_file
from controller_client.errors import DataError
from controller_client.segment_tar.layout import CREATION_META, PROPERTIES
from controller_client.segment_tar.reader import TarLimits, read_tar

__all__ = [
    "METADATA_FILES",
    "BatchEntry",
    "write_batch_tar",
    "write_files",
    "write_metadata_tar",
    "write_tar",
]

_BATCH_URIS = "all_segments_metadata"
"""In the tar of a batch: of each segment, a line with its name and one with the URI of its tar."""

METADATA_FILES = (CREATION_META, PROPERTIES)
"""The files of a metadata push, from which the controller creates the segment's znode."""

_COPY_BYTES = 1 << 20
_METADATA_LIMITS = TarLimits(max_tar_bytes=64 << 20, max_unpacked_bytes=256 << 20)

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
            _open_tar(stream) as tar,
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


@dataclass(frozen=True)
class BatchEntry:
    """A segment of a batch of metadata pushes.

    Attributes:
        name: Its name.
        download_uri: Where its tar.gz is, percent-encoded.
        metadata_tar: What :func:`write_metadata_tar` has written.
    """

    name: str
    download_uri: str
    metadata_tar: Path


def write_batch_tar(tar_path: Path, entries: Iterable[BatchEntry]) -> None:
    """Write the tar.gz of a batch of metadata pushes.

    Args:
        tar_path: The tar; it is replaced if it exists.
        entries: The segments.

    Raises:
        DataError: A metadata tar is damaged, or lacks a file.
    """
    uris = []
    with tar_path.open("wb") as target, _zlib(target) as stream, _open_tar(stream) as tar:
        for entry in entries:
            uris += [entry.name, entry.download_uri]
            files = {
                file.path: b"".join(file.pieces)
                for file in read_tar(entry.metadata_tar, _METADATA_LIMITS)
                if file.path in METADATA_FILES
            }
            missing = [name for name in METADATA_FILES if name not in files]
            if missing:
                raise DataError(f"the metadata of segment {entry.name} lacks {', '.join(missing)}")
            for name, content in files.items():
                _add_content(tar, f"{entry.name}.{name}", content)
        _add_content(tar, _BATCH_URIS, "".join(f"{line}\n" for line in uris).encode(errors="surrogatepass"))


def _add_content(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = _entry(tarfile.REGTYPE, name, 0o644)
    entry.size = len(content)
    tar.addfile(entry, BytesIO(content))


def _open_tar(stream: Any) -> tarfile.TarFile:
    return tarfile.TarFile(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT, copybufsize=_COPY_BYTES)


def _folders(files: list[tuple[str, Path]]) -> list[str]:
    return sorted({str(parent) for name, _ in files for parent in PurePosixPath(name).parents} - {"."})


def _entry(entry_type: bytes, name: str, mode: int) -> tarfile.TarInfo:
    # No user, group or time of this machine: the same segment always gives the same tar.
    entry = tarfile.TarInfo(name)
    entry.type = entry_type
    entry.mode = mode
    return entry
