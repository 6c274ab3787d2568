"""Converts ORC to Parquet, so that Arrow and Pinot's Parquet reader get the same values.

Pinot's own ORC reader is in a plugin that is not in the pinned jars. The copy has the values that it would
return: the milliseconds of a timestamp, the days of a date. In time columns both are in the table's unit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs, orc

from controller_client.errors import DataError, SetupError
from jvm_bridge.builder.model import FileFormat, UnreadableFileError
from jvm_bridge.builder.source_file import SourceFile
from jvm_bridge.builder.sources.arrow_source import write_parquet
from jvm_bridge.builder.sources.lists import with_values

__all__ = ["as_parquet"]

_BATCH_ROWS = 16_384
"""Rows per batch; a stripe may have millions."""


def as_parquet(
    file: SourceFile, path: Path, time_steps: Mapping[str, int], wanted: Collection[str] | None = None
) -> Sequence[str]:
    """Write the rows of an ORC file as Parquet, a batch at a time.

    Args:
        file: The ORC file.
        path: The Parquet file to write.
        time_steps: The table's time columns, each with the nanoseconds of a step.
        wanted: Columns to write, if the file has at least one of them; None for all columns.

    Returns:
        The names of all columns in the ORC file.

    Raises:
        UnreadableFileError: It is not a complete ORC file, or has a value that Arrow or Parquet cannot store:
            a timestamp outside of 1677 to 2262, a union, a time within a struct.
        SetupError: This version of pyarrow would silently change such timestamps.
    """
    _check_pyarrow()
    try:
        schema = orc.ORCFile(file.path).schema
        if len(set(schema.names)) != len(schema.names):
            raise _error(file, "a column name appears twice")
        names = [name for name in schema.names if wanted is None or name in wanted] or schema.names
        fields = [schema.field(name) for name in names]
        for field in fields:
            if pa.types.is_nested(_values_type(field)) and _holds_times(_values_type(field)):
                raise _error(file, f"column {field.name} has times within {field.type}")
        days = frozenset(
            field.name
            for field in fields
            if pa.types.is_date(_values_type(field)) and field.name not in time_steps
        )
        plain = pa.schema([_as_days(field) if field.name in days else field for field in fields])
        write_parquet(plain, _batches(file, plain, days), path, time_steps)
        return list(schema.names)
    except (pa.ArrowException, DataError) as error:
        if isinstance(error, UnreadableFileError):
            raise
        raise _error(file, str(error).splitlines()[0][:200]) from error
    # Arrow's reader raises OSError without a number for a corrupt file; a full disk has a number.
    except OSError as error:
        if error.errno is not None:
            raise
        raise _error(file, str(error).splitlines()[0][:200]) from error


def _values_type(field: Any) -> Any:
    return field.type.value_type if pa.types.is_list(field.type) else field.type


def _holds_times(kind: Any) -> bool:
    if pa.types.is_map(kind):
        return _holds_times(kind.key_type) or _holds_times(kind.item_type)
    if pa.types.is_list(kind):
        return _holds_times(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_holds_times(field.type) for field in kind)
    return bool(pa.types.is_temporal(kind))


def _as_days(field: Any) -> Any:
    is_list = pa.types.is_list(field.type)
    return pa.field(field.name, pa.large_list(pa.int32()) if is_list else pa.int32())


def _batches(file: SourceFile, plain: pa.Schema, days: frozenset[str]) -> Iterator[Any]:
    # Unlike ORCFile, this reads a stripe in parts.
    fragment = ds.OrcFileFormat().make_fragment(str(file.path), fs.LocalFileSystem())
    options = {"use_threads": False, "batch_readahead": 1, "fragment_readahead": 1}
    for batch in fragment.to_batches(columns=plain.names, batch_size=_BATCH_ROWS, **options):
        columns = [
            _days_of(batch.column(name)) if name in days else batch.column(name) for name in plain.names
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=plain)


def _days_of(column: Any) -> Any:
    return with_values(column, _days_of) if pa.types.is_list(column.type) else column.view(pa.int32())


@cache
def _check_pyarrow() -> None:
    """Check that pyarrow rejects a timestamp outside the range of nanoseconds, and does not change it."""
    sink = pa.BufferOutputStream()
    orc.write_table(pa.table({"t": pa.array([datetime(9999, 1, 1)], pa.timestamp("us"))}), sink)  # noqa: DTZ001
    try:
        orc.ORCFile(pa.BufferReader(sink.getvalue())).read()
    except pa.ArrowInvalid:
        return
    raise SetupError(
        f"pyarrow {pa.__version__} silently changes timestamps after 2262 in ORC files",
        expected="a version that rejects them",
        remedy="pip install --upgrade pyarrow",
    )


def _error(file: SourceFile, what: str) -> UnreadableFileError:
    return UnreadableFileError(
        f"{file.name} cannot be read as {FileFormat.ORC}: {what}",
        expected="a complete ORC file with values that Arrow supports",
        where=file.where,
    )
