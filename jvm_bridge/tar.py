"""Segment tars: written fast (ISA-L deflate) and unpacked with suspicion.

Pinot's controller and servers take any gzip stream whose first entry is the folder of the segment; the time
of a build
that Java's deflater takes (up to 40 %) is saved by compressing here.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from isal import igzip, isal_zlib

from controller_client.errors import DataError

__all__ = ["METADATA_FILES", "create_metadata_tar", "create_tar", "unpack_tar"]

METADATA_FILES = ("creation.meta", "metadata.properties")
"""What a metadata push sends: enough for the controller to make the segment's znode."""

_COMPRESSION_LEVEL = 1
_COPY_BYTES = 1 << 20
_MAX_ENTRIES = 100_000
_CORRUPT_GZIP = (EOFError, zlib.error, cast("type[Exception]", isal_zlib.error))
_GzipFile: Callable[..., Any] = igzip.IGzipFile  # python-isal has types for some of its functions only


def create_tar(folder: Path, tar_path: Path) -> int:
    """Write ``folder`` (a segment) as one tar.gz whose single top entry is the folder's name.

    Args:
        folder: The segment's folder; its name is the segment's name.
        tar_path: Ends in ``.tar.gz``; appears only when it is complete.

    Returns:
        The size of the tar in bytes.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return _write(tar_path, folder.name, ((path.relative_to(folder).as_posix(), path) for path in files))


def create_metadata_tar(folder: Path, tar_path: Path) -> int:
    """Write the tar.gz of a metadata push: the segment's folder, and in it only :data:`METADATA_FILES`.

    Args:
        folder: The segment's folder (version 1 or 3).
        tar_path: Ends in ``.tar.gz``; appears only when it is complete.

    Returns:
        The size of the tar in bytes.
    """
    found = {path.name: path for path in folder.rglob("*") if path.name in METADATA_FILES and path.is_file()}
    missing = [name for name in METADATA_FILES if name not in found]
    if missing:
        raise DataError(f"The folder is no segment: it lacks {', '.join(missing)}", where=str(folder))
    return _write(tar_path, folder.name, ((name, found[name]) for name in METADATA_FILES))


def unpack_tar(tar_path: Path, into: Path, *, max_size_bytes: int = 1 << 40) -> Path:
    """Unpack a segment's tar.gz.

    Args:
        tar_path: A tar.gz with one top folder.
        into: An existing folder; the segment's folder is made in it.
        max_size_bytes: Most that all files together may unpack to.

    Returns:
        The segment's folder.

    Raises:
        DataError: The file is no tar.gz or is cut short, an entry has an absolute path, a ``..``, is a link
            or a
            device, several top folders, an entry twice, or more bytes than allowed.
    """
    total_bytes = 0
    tops: set[str] = set()
    try:
        with _GzipFile(str(tar_path), "rb") as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            for number, member in enumerate(tar, start=1):
                path = _safe_path(member, tar_path)
                total_bytes += member.size
                if total_bytes > max_size_bytes or number > _MAX_ENTRIES:
                    raise DataError(
                        f"The tar holds more than it may: entry {number} ({member.name!r}) brings it to "
                        f"{total_bytes} bytes",
                        expected=f"at most {max_size_bytes} bytes in {_MAX_ENTRIES} entries",
                        where=str(tar_path),
                    )
                tops.add(path.parts[0])
                if len(tops) > 1:
                    raise _refused(tar_path, member, "the tar has more than one top folder")
                target = into.joinpath(*path.parts)
                if member.isdir():
                    target.mkdir(parents=True, exist_ok=True)
                else:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    source = tar.extractfile(member)
                    if source is not None:
                        _copy_new(source, target, tar_path, member)
    except (OSError, tarfile.TarError, *_CORRUPT_GZIP) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk or the file's rights, not the tar
        raise DataError(
            f"Not a whole tar.gz: {error}", expected="a segment's tar.gz", where=str(tar_path)
        ) from error
    if not tops:
        raise DataError("The tar is empty", expected="one folder with a segment", where=str(tar_path))
    return into / tops.pop()


def _write(tar_path: Path, top: str, files: Iterable[tuple[str, Path]]) -> int:
    if not tar_path.name.endswith(".tar.gz"):
        raise ValueError(f"Pinot wants the name to end in .tar.gz: {tar_path}")
    part = tar_path.with_name(tar_path.name + ".part")
    try:
        with (
            part.open("wb") as file,
            # Neither name nor time in the gzip header: the same segment gives the same tar.
            _GzipFile("", "wb", compresslevel=_COMPRESSION_LEVEL, fileobj=file, mtime=0) as stream,
            tarfile.TarFile(
                fileobj=stream, mode="w", format=tarfile.GNU_FORMAT, copybufsize=_COPY_BYTES
            ) as tar,
        ):
            tar.addfile(_entry(tarfile.DIRTYPE, top, 0o755))
            for folder in _folders(files := list(files)):
                tar.addfile(_entry(tarfile.DIRTYPE, f"{top}/{folder}", 0o755))
            for name, path in files:
                entry = _entry(tarfile.REGTYPE, f"{top}/{name}", 0o644)
                entry.size = path.stat().st_size
                with path.open("rb") as source:
                    tar.addfile(entry, source)
        size_bytes = part.stat().st_size
        part.replace(tar_path)
        return size_bytes
    finally:
        part.unlink(missing_ok=True)


def _folders(files: list[tuple[str, Path]]) -> list[str]:
    return sorted({str(parent) for name, _ in files for parent in PurePosixPath(name).parents} - {"."})


def _entry(entry_type: bytes, name: str, mode: int) -> tarfile.TarInfo:
    # No user, group or time of this machine: the same segment gives the same tar.
    entry = tarfile.TarInfo(name)
    entry.type = entry_type
    entry.mode = mode
    return entry


def _safe_path(member: tarfile.TarInfo, tar_path: Path) -> PurePosixPath:
    path = PurePosixPath(member.name)
    if not (member.isfile() or member.isdir()):
        raise _refused(tar_path, member, "it is a link or a device")
    if (
        path.is_absolute()
        or ".." in path.parts
        or not path.parts
        or "\\" in member.name
        or "\0" in member.name
    ):
        raise _refused(tar_path, member, "its path leads out of the folder")
    return path


def _refused(tar_path: Path, member: tarfile.TarInfo, reason: str) -> DataError:
    return DataError(
        f"Entry {member.name!r} is refused: {reason}",
        expected="files and folders below one folder",
        where=str(tar_path),
    )


def _copy_new(source: IO[bytes], target: Path, tar_path: Path, member: tarfile.TarInfo) -> None:
    try:
        out: IO[Any] = target.open("xb")
    except FileExistsError as error:
        raise _refused(tar_path, member, "it is there already") from error
    with out:
        copied = 0
        while chunk := source.read(_COPY_BYTES):
            copied += out.write(chunk)
    if copied != member.size:
        raise _refused(tar_path, member, f"it is cut short, {copied} of {member.size} bytes")
