"""Writes segment tars with the fast compression of ISA-L.

Pinot's controller and servers accept any gzip stream whose first entry is the segment's folder. Compressing
in Python saves the time that Java's deflater needs (up to 40 % of a build).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

from isal import igzip

from controller_client.errors import DataError
from controller_client.segment_tar.writer import write_files, write_tar

__all__ = ["METADATA_FILES", "create_metadata_tar", "create_tar"]

METADATA_FILES = ("creation.meta", "metadata.properties")
"""The files of a metadata push, from which the controller creates the segment's znode."""

_COMPRESSION_LEVEL = 1
_GzipFile: Callable[..., AbstractContextManager[Any]] = (
    igzip.IGzipFile
)  # python-isal has types for some of its functions only


def create_tar(folder: Path, tar_path: Path) -> int:
    """Write ``folder`` (a segment) as one tar.gz whose single top entry is the folder's name.

    Args:
        folder: The segment's folder; its name is the segment's name.
        tar_path: Path that ends in ``.tar.gz``; the file appears only when it is complete.

    Returns:
        The size of the tar in bytes.
    """
    return write_tar(_checked(tar_path), folder.name, folder, _isal)


def create_metadata_tar(folder: Path, tar_path: Path) -> int:
    """Write the tar.gz of a metadata push: the segment's folder with only :data:`METADATA_FILES`.

    Args:
        folder: The segment's folder (version 1 or 3).
        tar_path: Path that ends in ``.tar.gz``; the file appears only when it is complete.

    Returns:
        The size of the tar in bytes.
    """
    paths = {path.name: path for path in folder.rglob("*") if path.name in METADATA_FILES and path.is_file()}
    missing = [name for name in METADATA_FILES if name not in paths]
    if missing:
        raise DataError(f"the folder is not a segment: it lacks {', '.join(missing)}", where=str(folder))
    files = [(name, paths[name]) for name in METADATA_FILES]
    return write_files(_checked(tar_path), folder.name, files, _isal)


def _isal(file: IO[bytes]) -> AbstractContextManager[Any]:
    # No name and no time in the gzip header, so that the same segment gives the same tar.
    return _GzipFile("", "wb", compresslevel=_COMPRESSION_LEVEL, fileobj=file, mtime=0)


def _checked(tar_path: Path) -> Path:
    if not tar_path.name.endswith(".tar.gz"):
        raise ValueError(f"the name must end in .tar.gz for Pinot: {tar_path}")
    return tar_path
