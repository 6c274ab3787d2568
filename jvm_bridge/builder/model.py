"""The input and the result of a build; a source file with everything needed to read it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from controller_client.common.text import visible
from controller_client.errors import ConfigError, DataError
from jvm_bridge.folder_columns import FolderColumns
from jvm_bridge.input_rules import ColumnMismatch, FileFormat
from jvm_bridge.time_conversion import TimeConversion

__all__ = [
    "HEADER_PROPERTY",
    "BuiltSegment",
    "FilesBuilt",
    "Reader",
    "SourceFile",
    "UnreadableFileError",
    "check_custom_metadata",
    "check_segment_name",
]


Reader = Literal["arrow", "pinot"]

_SEGMENT_NAME = re.compile(r"[^\s/\\:*?\"<>|,%\x00-\x1f]{1,255}")

_CUSTOM_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")

# commons-configuration splits a value at commas, unescapes backslashes, interpolates ${...} and trims.
_CUSTOM_VALUE = re.compile(r"(?! )[^,\\$\x00-\x1f\x7f-\U0010ffff]*(?<! )")


@dataclass(frozen=True)
class BuiltSegment:
    """A segment on disk, ready to be pushed.

    Attributes:
        name: Name of the segment, also of the folder inside both tars.
        rows: Rows in the segment (after filters and unnesting).
        tar_path: The segment as ``<name>.tar.gz``.
        tar_size_bytes: Size of that file.
        metadata_tar_path: ``<name>.metadata.tar.gz`` with ``creation.meta`` and ``metadata.properties``,
            for a metadata push.
        segment_size_bytes: Size of the unpacked segment.
        crc: Pinot's checksum of the segment (an Adler-32), as in its ``creation.meta``.
        start_time: Minimum of the time column in ``time_unit``; None without a time column.
        end_time: Maximum of the time column in ``time_unit``; None without a time column.
        time_unit: A ``java.util.concurrent.TimeUnit``, e.g. ``MILLISECONDS``; None without a time column.
        reader: The path that read the source.
        fallback_reason: Why reader "auto" did not use the arrow path; None if it did or if the caller chose.
        mismatch: For a segment of one file: how its columns differ from the table's.
    """

    name: str
    rows: int
    tar_path: Path
    tar_size_bytes: int
    metadata_tar_path: Path
    segment_size_bytes: int
    crc: int
    start_time: int | None
    end_time: int | None
    time_unit: str | None
    reader: Reader
    fallback_reason: str | None = None
    mismatch: ColumnMismatch = field(default_factory=ColumnMismatch)


@dataclass(frozen=True)
class FilesBuilt:
    """The result of a build from many files.

    Attributes:
        segments: The segments in the order of their rows; empty if every file failed.
        failures: Index into the paths -> why no row of that file is in the segments.
        mismatches: Index into the paths -> how the columns of a file in the segments differ from the table's.
    """

    segments: tuple[BuiltSegment, ...]
    failures: Mapping[int, DataError]
    mismatches: Mapping[int, ColumnMismatch] = field(default_factory=dict)


class UnreadableFileError(DataError):
    """The file as a whole cannot be read, so the problem is not in one row.

    The file does not exist, has another format, is truncated, or has no header line or not the table's
    columns. An invalid row is a plain :class:`~controller_client.errors.DataError`.
    """


def check_segment_name(name: str) -> None:
    """Reject a name that is not valid for a folder, for the last part of a URL, and for a znode.

    Raises:
        ConfigError: The name is empty, too long, or has a character that is not valid in one of the three.
    """
    if not _SEGMENT_NAME.fullmatch(name) or name in {".", ".."}:
        raise ConfigError(
            f"{name!r} is not a valid segment name",
            expected='1 to 255 characters without white space and without / \\ : * ? " < > | , %',
        )


def check_custom_metadata(custom: Mapping[str, str]) -> None:
    """Reject custom metadata that would be read back differently.

    Raises:
        ConfigError: A key or value has characters that change in the properties file of a segment.
    """
    for key, value in custom.items():
        if not _CUSTOM_KEY.fullmatch(key):
            raise ConfigError(
                f"{key!r} is not a valid key of custom metadata", expected="letters, digits and _ . -"
            )
        if not _CUSTOM_VALUE.fullmatch(value):
            raise ConfigError(
                f"the value of custom metadata {key!r} cannot be stored unchanged: {value[:60]!r}",
                expected="visible ASCII without comma, backslash and $, without leading or trailing spaces",
                remedy="encode it, for example as base64",
            )


HEADER_PROPERTY = "recordReader.prop.header"


@dataclass(frozen=True)
class SourceFile:
    """A file.

    Attributes:
        path: The file to read.
        file_format: Its format.
        reader_config: Properties of Pinot's record reader config; None is not the same as empty.
        original: The original file, if a copy or a link is read instead.
        times: Columns whose numbers are converted when they are read.
        keeps_times: Whether the other points in time, dates and times of day are passed on as such, and not
            as the numbers that the file stores.
        folders: Columns that are in the names of its folders.
    """

    path: Path
    file_format: FileFormat
    reader_config: Mapping[str, str] | None = None
    original: Path | None = None
    times: Mapping[str, TimeConversion] = field(default_factory=dict)
    keeps_times: bool = False
    folders: FolderColumns = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the file for messages."""
        return visible((self.original or self.path).name)

    @property
    def named_by(self) -> str:
        """What names its columns, for messages: the file itself, or for CSV a property of the reader."""
        given = self.file_format is FileFormat.CSV and (self.reader_config or {}).get("header")
        return f"{self.name}: {HEADER_PROPERTY}" if given else self.name

    @property
    def where(self) -> str:
        """Path of the file for messages."""
        return visible(str(self.original or self.path))
