"""Arrow tables and streams of record batches as a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from controller_client.errors import DataError
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.sources.file_columns import (
    FileColumns,
    as_meant,
    by_row,
    is_time,
    time_steps,
    time_type,
)
from jvm_bridge.builder.sources.source import Batch
from jvm_bridge.time_conversion import MILLI_NS

__all__ = ["arrow_columns", "record_batches", "write_parquet"]

_BATCH_ROWS = 65_536


def record_batches(data: Any) -> tuple[pa.Schema, Iterator[Any]]:
    """Return the schema and the batches of a table, a reader or any iterable of record batches.

    Raises:
        DataError: It is none of these, or an empty iterable (which has no schema).
    """
    if isinstance(data, pa.Table):
        return data.schema, iter(data.to_batches(max_chunksize=_BATCH_ROWS))
    if isinstance(data, pa.RecordBatch):
        return data.schema, iter([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.schema, iter(data)
    if not isinstance(data, Iterable):
        raise DataError(f"{type(data).__name__} is not Arrow data", expected="a table or record batches")
    batches = iter(data)
    first = next(batches, None)
    if not isinstance(first, pa.RecordBatch):
        raise DataError(
            "The iterable does not have record batches"
            if first is not None
            else "There is no record batch, so the schema is unknown",
            expected="a table, a record batch reader or at least one record batch",
        )
    return first.schema, _same_schema(first, batches)


def _same_schema(first: Any, others: Iterator[Any]) -> Iterator[Any]:
    yield first
    for number, batch in enumerate(others, start=2):
        if batch.schema != first.schema:
            raise DataError(
                f"batch {number} has a different schema than the first", expected=str(first.schema)[:500]
            )
        yield batch


def arrow_columns(
    schema: pa.Schema, batches: Iterator[Any], table_steps: Mapping[str, int], file: SourceFile
) -> FileColumns:
    """Return the columns of Arrow data, which can be read once.

    A timestamp or date is a point in time, converted to the unit of a time column, or to milliseconds.

    Args:
        schema: Schema of the data.
        batches: The data.
        table_steps: The table's time columns, each with the nanoseconds of a step.
        file: The data's name for messages.

    Raises:
        DataError: While batches are read: a time is out of range.
    """
    steps = {field.name: table_steps.get(field.name, MILLI_NS) for field in schema if is_time(field.type)}
    types = {field.name: time_type(field.type, steps.get(field.name)) for field in schema}

    def read(names: Sequence[str]) -> Iterator[Batch]:
        begin = 0
        for part in _parts(batches):
            columns = {}
            for name in names:
                convert = partial(_as_meant, kind=types[name], step_ns=steps.get(name))
                columns[name] = by_row(file, name, part.column(name), begin, convert)
            yield Batch(columns, len(part))
            begin += len(part)

    return FileColumns(types, read, frozenset(table_steps).intersection(steps))


def _parts(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(start, _BATCH_ROWS)


def _as_meant(column: Any, kind: pa.DataType, step_ns: int | None) -> Any:
    return as_meant(time_steps(column, step_ns), kind)


def write_parquet(
    schema: pa.Schema, batches: Iterator[Any], path: Path, table_steps: Mapping[str, int]
) -> None:
    """Write the data, so that it can be read more than once, and row by row.

    Args:
        schema: Schema of the data.
        batches: The data.
        path: The file to write.
        table_steps: The table's time columns, each with the nanoseconds of a step.
    """
    steps = {field.name: table_steps.get(field.name, MILLI_NS) for field in schema if is_time(field.type)}
    fields = [
        (field.name, time_type(field.type, steps[field.name]) if field.name in steps else field.type)
        for field in schema
    ]
    try:
        with pq.ParquetWriter(path, pa.schema(fields)) as writer:
            for batch in batches:
                columns = [
                    time_steps(batch.column(name), steps[name]) if name in steps else batch.column(name)
                    for name, _ in fields
                ]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)))
    except pa.ArrowException as error:
        raise DataError(f"Arrow data cannot be written to a file: {error}") from error
