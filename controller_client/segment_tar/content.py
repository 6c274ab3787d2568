"""The content of a segment's tar as checksums of its files: read in one pass, without using the disk."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from controller_client.errors import DataError
from controller_client.segment_tar.adler import Adler
from controller_client.segment_tar.layout import (
    COLUMNS,
    CREATION_META,
    INDEX_MAP,
    LOCAL_FILES,
    PROPERTIES,
    STAR_TREE,
    STAR_TREE_MAP,
    IndexEntry,
    Properties,
    is_known,
    is_of,
    java_order,
    parse_index_map,
    star_tree_bytes,
)
from controller_client.segment_tar.reader import TarLimits, read_tar

__all__ = ["CopyContent", "Label", "content_crc", "crc_of", "read_content", "sums_of_parts"]

_TEXTS = frozenset(
    {
        INDEX_MAP,
        STAR_TREE_MAP,
        *(folder + name for folder in ("", "v3/") for name in (CREATION_META, PROPERTIES)),
    }
)
"""Files whose content is kept, not only the checksum."""

_MAX_TEXT_BYTES = 8 << 20
_MAX_LINES = 200_000

# creation.meta: the crc, the time when the segment was built, and since Pinot 1.5 the crc of its data.
_LABEL = struct.Struct(">qq")
_LABEL_1_5 = struct.Struct(">qqq")


class _Sum(Protocol):
    def update(self, data: bytes, /) -> None: ...


_S = TypeVar("_S", bound=_Sum)


@dataclass(frozen=True)
class Label:
    """The content of creation.meta.

    Attributes:
        crc: The crc of all files.
        data_crc: The crc of forward indexes and dictionaries; None before Pinot 1.5.
    """

    crc: int
    data_crc: int | None


@dataclass(frozen=True)
class CopyContent:
    """The content of a segment's tar.

    Attributes:
        files: The checksums of its files by their paths in the segment's folder.
        label: The content of creation.meta.
        properties: Its metadata.properties.
        properties_path: The path of metadata.properties.
        entries: Entries of columns.psf; None: the segment is of version 1.
        plain_name: Name of the top folder, if the tar is laid out as Pinot expects: the folder comes first.
    """

    files: Mapping[str, Adler]
    label: Label
    properties: Properties
    properties_path: str
    entries: tuple[IndexEntry, ...] | None
    plain_name: str | None

    def summed(self) -> list[str]:
        """The paths of the files that the crc covers, in its order."""
        return sorted((path for path in self.files if _counts(path)), key=java_order)


def crc_of(content: CopyContent) -> int:
    """Return the crc of all files, as Pinot's CrcUtils computes it."""
    return Adler.joined(content.files[path] for path in content.summed()).value


def content_crc(tar_path: Path, limits: TarLimits) -> int:
    """Return the crc of a tar's files, as Pinot computes it; raises what :func:`read_content` raises."""
    return crc_of(read_content(tar_path, limits))


def read_content(tar_path: Path, limits: TarLimits) -> CopyContent:
    """Read a segment's tar.gz.

    Args:
        tar_path: The file.
        limits: How much may be read.

    Raises:
        DataError: The file is not a complete tar.gz, or does not contain the files of one segment.
    """
    files: dict[str, Adler] = {}
    texts: dict[str, bytes] = {}
    first, plain_name = True, None
    for entry in read_tar(tar_path, limits):
        if first and entry.is_folder and not entry.path:
            plain_name = entry.top
        first = False
        if entry.is_folder:
            continue
        total = files[entry.path] = Adler()
        if entry.path not in _TEXTS:
            for piece in entry.pieces:
                total.update(piece)
            continue
        if entry.size_bytes > _MAX_TEXT_BYTES:
            raise DataError(f"{entry.path} has {entry.size_bytes:,} bytes", where=str(tar_path))
        texts[entry.path] = text = b"".join(entry.pieces)
        total.update(text)
        if text.count(b"\n") > _MAX_LINES:
            raise DataError(f"{entry.path} has more than {_MAX_LINES:,} lines", where=str(tar_path))
    try:
        return _checked(files, texts, plain_name)
    except DataError as error:
        raise DataError(
            f"this tar.gz does not contain a segment: {error.message}",
            expected="the files of one segment",
            where=str(tar_path),
        ) from error


def sums_of_parts(
    tar_path: Path, path: str, ends: Sequence[int], limits: TarLimits, new: Callable[[], _S]
) -> list[_S]:
    """Read one file of a tar again and return the checksums of its parts.

    Args:
        tar_path: The tar.
        path: The file's path in the segment's folder.
        ends: Where the parts end, in ascending order; each part starts where the one before ends.
        limits: How much may be read.
        new: Creates a checksum: an :class:`Adler`, or a hash.
    """
    for entry in read_tar(tar_path, limits):
        if entry.path == path and not entry.is_folder:
            return list(_parts(entry.pieces, ends, new))
    raise DataError(f"{path} no longer exists", where=str(tar_path))


def _parts(pieces: Iterable[bytes], ends: Sequence[int], new: Callable[[], _S]) -> Iterator[_S]:
    at, total, left = 0, new(), list(reversed(ends))
    for piece in pieces:
        rest = memoryview(piece)
        while left and at + len(rest) >= left[-1]:
            size = left.pop() - at
            total.update(bytes(rest[:size]))
            yield total
            rest, at, total = rest[size:], at + size, new()
        total.update(bytes(rest))
        at += len(rest)
    yield from (new() for _ in left)  # empty parts at the end of the file


def _checked(files: dict[str, Adler], texts: Mapping[str, bytes], plain_name: str | None) -> CopyContent:
    labels = [path for path in files if _name(path) == CREATION_META]
    is_v3 = COLUMNS in files
    folder = "v3/" if is_v3 else ""
    if labels != [folder + CREATION_META]:
        raise DataError(f"creation.meta is at {labels[:3] or 'no path'}, not at {folder}{CREATION_META}")
    if folder + PROPERTIES not in files:
        raise DataError(f"{folder}{PROPERTIES} is missing")
    properties = Properties(texts[folder + PROPERTIES])
    entries: tuple[IndexEntry, ...] | None = None
    if is_v3:
        entries = parse_index_map(texts.get(INDEX_MAP, b""))
        described = sum(entry.size_bytes for entry in entries)
        if described != files[COLUMNS].size_bytes:
            raise DataError(
                f"{COLUMNS} has {files[COLUMNS].size_bytes:,} bytes, but {described:,} according to index_map"
            )
        _check_star_tree(files, texts, properties)
    else:
        _check_columns(files, properties)
    return CopyContent(files, _label(texts[labels[0]]), properties, folder + PROPERTIES, entries, plain_name)


def _check_star_tree(files: Mapping[str, Adler], texts: Mapping[str, bytes], properties: Properties) -> None:
    if not properties.has_star_tree:
        return
    if STAR_TREE not in files or STAR_TREE_MAP not in files:
        raise DataError("the files of its star-tree are missing")
    described = star_tree_bytes(texts[STAR_TREE_MAP])
    if described != files[STAR_TREE].size_bytes:
        raise DataError(
            f"{STAR_TREE} has {files[STAR_TREE].size_bytes:,} bytes, but {described:,} according to its map"
        )


def _check_columns(files: Mapping[str, Adler], properties: Properties) -> None:
    """Check that a segment of version 1 has the files of its columns: the crc does not cover file names."""
    for path in files:
        if not (is_known(path) or is_of(path, LOCAL_FILES)):
            raise DataError(f"it contains the unknown file {path[:100]!r}")
    if properties.get("segment.total.docs") == "0":
        return
    for column in properties.columns():
        # A forward index may be disabled where an inverted index exists.
        rows = {properties.forward_file(column), f"{column}.bitmap.inv"}
        has_dictionary = f"{column}.dict" in files or not properties.is_true(column, "hasDictionary")
        if rows.isdisjoint(files) or not has_dictionary:
            raise DataError(f"files of the column {column[:100]!r} are missing")


def _label(raw: bytes) -> Label:
    if len(raw) == _LABEL.size:
        return Label(_LABEL.unpack(raw)[0], None)
    if len(raw) == _LABEL_1_5.size:
        crc, _, data_crc = _LABEL_1_5.unpack(raw)
        return Label(crc, data_crc)
    raise DataError(f"creation.meta has {len(raw)} bytes", expected="16 or 24")


def _counts(path: str) -> bool:
    """Whether CrcUtils counts a file: not creation.meta, nor the checksum files that HDFS adds."""
    return _name(path) != CREATION_META and not path.endswith(".crc")


def _name(path: str) -> str:
    return path.rpartition("/")[2]
