"""The common interface of sources: how columns become fields, and the rows as batches of Arrow columns."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
from isal import igzip, isal_zlib

from jvm_bridge.builder.planning import ColumnPlan, TableRequirements

__all__ = ["CORRUPT_GZIP", "GZIP_MAGIC", "Batch", "Source", "is_gzipped", "open_bytes"]

GZIP_MAGIC = b"\x1f\x8b"
_open_gzip: Callable[..., Any] = igzip.open  # python-isal has types for some of its functions only


@dataclass(frozen=True)
class Batch:
    """Some rows.

    Attributes:
        columns: Arrow arrays by field name, with the types of the plans; missing columns are omitted.
        rows: Rows in the batch.
        arguments: Those of the plan's ``arguments`` that the source has, with the values that Pinot's reader
            for the format passes to a transform: Arrow's int32 is a Java Integer, int64 a Long (but see
            `Source.has_any_width`), float32 a Float, float64 a Double, string a String, bool a String (since
            Pinot 1.6 a Boolean), binary a ``byte[]``, a date or time (since 1.6) one of Java's. A time column
            is converted, to an Integer if it is an INT column of the table. A source with others
            (multi-values, decimals) is :class:`~jvm_bridge.builder.planning.Unsuitable`.
    """

    columns: Mapping[str, Any]
    rows: int
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, columns: Mapping[str, Any], rows: int, table: TableRequirements, converted: Container[str] = ()
    ) -> Batch:
        """Return a batch for a plan.

        Args:
            columns: Arrow arrays by name, with values to be stored and passed to functions.
            rows: Rows in each.
            table: The plan.
            converted: Columns whose numbers were converted for a time column.
        """
        fields = {field.name: columns[field.name] for field in table.fields if field.name in columns}
        ints = table.int_columns
        arguments = {
            # The same as in TimeConvertingRecordReader.
            name: columns[name].cast(pa.int32()) if name in converted and name in ints else columns[name]
            for name in table.arguments
            if name in columns
        }
        return cls(fields, rows, arguments)

    def slice(self, start: int, rows: int) -> Batch:
        """Return up to this many rows from an index on, without copying."""
        columns = {name: column.slice(start, rows) for name, column in self.columns.items()}
        arguments = {name: column.slice(start, rows) for name, column in self.arguments.items()}
        return Batch(columns, min(rows, self.rows - start), arguments)


@dataclass(frozen=True)
class Source:
    """A planned source.

    Attributes:
        plans: How the plan's ``fields`` are filled.
        batches: The rows; read once, in bounded memory.
        has_any_width: Whether the type depends on each number, as in JSON: an int64 argument is an Integer if
            it fits, and a float64 argument may be a whole number that was written without a fraction.
    """

    plans: tuple[ColumnPlan, ...]
    batches: Iterator[Batch]
    has_any_width: bool = False


# The file object of python-isal raises its own exceptions and those of the standard library's gzip.
CORRUPT_GZIP: tuple[type[Exception], ...] = (
    EOFError,
    gzip.BadGzipFile,
    zlib.error,
    cast("type[Exception]", isal_zlib.error),
)


def is_gzipped(path: Path) -> bool:
    """Return whether a file starts like gzip."""
    with path.open("rb") as file:
        return file.read(len(GZIP_MAGIC)) == GZIP_MAGIC


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, decompressed if it starts like gzip: Pinot too detects gzip by content, not by name."""
    if not is_gzipped(path):
        return path.open("rb", buffering=0)
    stream: IO[bytes] = _open_gzip(path, "rb")
    return stream
