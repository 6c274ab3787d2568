"""Unpacks segments' tars into folders with trusted names, and repacks what was committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from controller_client.common.folders import scratch_folder
from controller_client.errors import ConfigError, SetupError
from controller_client.segment_tar.committed import Committed
from controller_client.segment_tar.content import CopyContent
from controller_client.segment_tar.layout import COLUMNS, INDEX_MAP, IndexEntry, format_index_map
from controller_client.segment_tar.names import file_name_of
from controller_client.segment_tar.reader import TarLimits, read_tar
from controller_client.segment_tar.writer import write_tar

__all__ = ["on_this_disk", "repack", "unpack_tar"]

_COPY_BYTES = 1 << 20


def unpack_tar(tar_path: Path, into: Path, segment: str, limits: TarLimits | None = None) -> Path:
    """Unpack a segment's tar.gz into a folder named after the segment, whatever the tar calls it.

    Args:
        tar_path: A tar.gz with one top folder.
        into: An existing folder.
        segment: The segment's name; the folder must not contain anything of that name.
        limits: How much may be unpacked.

    Returns:
        The segment's folder.

    Raises:
        DataError: The file is not a complete tar.gz of a segment, or the segment's name cannot be a file
            name.
        ConfigError: Something of that name already exists.
        SetupError: The disk is full, or the folder is not writable.
    """
    target = into / file_name_of(segment)
    with _work_folder(into, segment) as folder:
        _write_files(tar_path, folder, limits or TarLimits(), lambda _path: True)
        # A rename would silently replace an empty folder.
        if target.exists():
            raise ConfigError(f"{target} already exists", remedy="remove it, or choose another folder")
        folder.rename(target)
    return target


def repack(
    tar_path: Path, content: CopyContent, committed: Committed, segment: str, limits: TarLimits
) -> None:
    """Replace a tar by one of the committed part of it, laid out as Pinot does.

    Args:
        tar_path: The tar.
        content: Its content.
        committed: The committed part.
        segment: The segment's name.
        limits: How much may be read.

    Raises:
        DataError: The segment's name cannot be a file name.
        SetupError: The disk is full.
    """
    with _work_folder(tar_path.parent, segment) as folder:
        _write_files(tar_path, folder, limits, lambda path: path in committed.files)
        if committed.properties is not None:
            (folder / content.properties_path).write_bytes(committed.properties)
        if committed.entries not in (None, content.entries):
            _rebuild_columns(folder, committed.entries or ())
        write_tar(tar_path, file_name_of(segment), folder)


@contextmanager
def on_this_disk(path: Path) -> Iterator[None]:
    """Report errors of this machine's disk differently from those of the data that is read.

    Raises:
        SetupError: In place of an OSError.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise SetupError(str(error)) from error
        raise SetupError(
            f"{path} cannot be written: {error.strerror}",
            where=str(path),
            remedy="free space on that disk, or choose another folder",
        ) from error


@contextmanager
def _work_folder(parent: Path, segment: str) -> Iterator[Path]:
    with on_this_disk(parent), scratch_folder(".pinot-segment-", parent) as work:
        folder = work / file_name_of(segment)
        folder.mkdir()
        yield folder


def _write_files(tar_path: Path, folder: Path, limits: TarLimits, is_included: Callable[[str], bool]) -> None:
    """Write files into an empty folder; the reader has checked their paths."""
    for entry in read_tar(tar_path, limits):
        target = folder / entry.path
        if entry.is_folder:
            target.mkdir(parents=True, exist_ok=True)
        elif is_included(entry.path):
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.writelines(entry.pieces)


def _rebuild_columns(folder: Path, entries: Iterable[IndexEntry]) -> None:
    """Rewrite columns.psf with only some of its entries, and the index_map to match."""
    entries = tuple(entries)
    columns = folder / COLUMNS
    rebuilt = columns.with_name("columns.rebuilt")
    with columns.open("rb") as source, rebuilt.open("xb") as target:
        for entry in entries:
            source.seek(entry.start)
            left = entry.size_bytes
            while left:
                piece = source.read(min(left, _COPY_BYTES))
                left -= target.write(piece)
    rebuilt.replace(columns)
    (folder / INDEX_MAP).write_bytes(format_index_map(entries))
