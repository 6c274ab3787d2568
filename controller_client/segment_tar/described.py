"""What a segment's tar says about the segment: its name, its partitions, and the values of its columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from controller_client.common.parsing import whole_number
from controller_client.errors import DataError
from controller_client.segment_tar.layout import PROPERTIES, Properties
from controller_client.segment_tar.names import file_name_of
from controller_client.segment_tar.reader import TarLimits, read_tar

__all__ = ["ColumnValues", "DescribedSegment", "describe_tar"]

_PATHS = (PROPERTIES, f"v3/{PROPERTIES}")
_MAX_BYTES = 8 << 20
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The values of a column in a segment, as texts; None: not recorded.

    Attributes:
        least: The smallest value.
        most: The largest value.
        default: The value that is stored for a null.
    """

    least: str | None
    most: str | None
    default: str | None

    @property
    def are_defaults(self) -> bool:
        """Whether all of them are the default."""
        return self.default is not None and self.least == self.most == self.default


@dataclass(frozen=True)
class DescribedSegment:
    """A segment by its own metadata.properties.

    Attributes:
        name: Its name, under which Pinot adds it to a table.
        rows: Number of rows.
        partitions: Partition column -> the partitions that it has rows of, as written in the file.
        columns: Column -> its values.
    """

    name: str
    partitions: tuple[tuple[str, str], ...]
    rows: int = 0
    columns: Mapping[str, ColumnValues] = field(default_factory=dict)

    @property
    def is_of_one_partition(self) -> bool:
        """Whether Pinot finds its one partition: in the name, or by the only partition column."""
        # table__PARTITION__SEQUENCE__time or prefix__table__PARTITION__time__suffix
        numbers = {4: (1, 2), 5: (2,)}.get(len(parts := self.name.split("__")), ())
        in_name = bool(numbers) and all(whole_number(parts[number]) is not None for number in numbers)
        return in_name or [whole_number(ids) is not None for _, ids in self.partitions] == [True]


def describe_tar(tar_path: Path, limits: TarLimits | None = None) -> DescribedSegment:
    """Read all of a segment's tar.gz, and return what it says about the segment.

    Args:
        tar_path: The file.
        limits: How much may be read.

    Raises:
        DataError: The file is not a complete tar.gz of one segment, or its folder has another name than the
            segment.
    """
    folder = ""
    segments: dict[str, DescribedSegment] = {}
    for entry in read_tar(tar_path, limits or TarLimits()):
        folder = entry.top
        if entry.path in _PATHS and not entry.is_folder and entry.size_bytes <= _MAX_BYTES:
            segment = _described(Properties(b"".join(entry.pieces)))
            segments[segment.name] = segment
    if len(segments) != 1:
        what = (
            f"it contains the segments {', '.join(sorted(segments))}"
            if segments
            else f"it has no {PROPERTIES}"
        )
        raise DataError(
            f"the tar.gz does not contain a segment: {what}",
            expected="one folder with the files of one segment",
            where=str(tar_path),
        )
    (segment,) = segments.values()
    try:
        file_name_of(segment.name)  # servers keep the segment in a folder of this name
    except DataError as error:
        error.where = str(tar_path)
        raise
    if segment.name != folder:
        raise DataError(
            f"the folder in the tar.gz is named {folder}, but its {PROPERTIES} names the segment"
            f" {segment.name}",
            expected="one name: Pinot would add the segment under the second one, or replace the segment that"
            " has it",
            where=str(tar_path),
            remedy=f"name the folder {segment.name}; to have another name, build the segment again",
        )
    return segment


def _described(properties: Properties) -> DescribedSegment:
    columns = properties.columns()
    partitions = ((column, properties.get(f"column.{column}.partitionValues")) for column in columns)
    return DescribedSegment(
        _unescaped(properties.get("segment.name")),
        tuple((column, ids) for column, ids in partitions if ids),
        whole_number(properties.get("segment.total.docs")) or 0,
        {column: _values(properties, column) for column in columns},
    )


def _values(properties: Properties, column: str) -> ColumnValues:
    keys = (f"column.{column}.{name}" for name in ("minValue", "maxValue", "defaultNullValue"))
    return ColumnValues(*(_unescaped(properties.get(key)) if properties.has(key) else None for key in keys))


def _unescaped(value: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2], value)
