"""Arrow tables and streams of record batches as a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from controller_client.errors import DataError
from jvm_bridge.builder.planning import TablePlan, Unsuitable, is_foreign, plan_column
from jvm_bridge.builder.sources.lists import with_values
from jvm_bridge.builder.sources.source import Batch, Source
from jvm_bridge.time_conversion import MILLI_NS, steps_of

__all__ = ["open_arrow", "plain_type", "record_batches", "write_parquet"]

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
                f"Batch {number} has a different schema than the first", expected=str(first.schema)[:500]
            )
        yield batch


def open_arrow(schema: pa.Schema, batches: Iterator[Any], table: TablePlan) -> Source:
    """Plan Arrow data: a timestamp or date is a point in time, converted to the unit of the column.

    Raises:
        Unsuitable: A column's type does not fit the field; or, while batches are read, a value does not.
    """
    if is_foreign(table.fields, schema.names):
        raise Unsuitable("it has none of the table's columns")
    types = {
        field.name: plain_type(schema.field(field.name).type)
        for field in table.fields
        if field.name in schema.names
    }
    plans = tuple(plan_column(field, types.get(field.name)) for field in table.fields)
    return Source(plans, _batches(batches, types))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type to which a column is cast first: no dictionaries, views or half floats."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.large_list(plain_type(kind.value_type))
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.large_binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    return kind


def _batches(batches: Iterator[Any], types: dict[str, pa.DataType]) -> Iterator[Batch]:
    for batch in batches:
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            part = batch.slice(start, _BATCH_ROWS)
            yield Batch({name: part.column(name).cast(kind) for name, kind in types.items()}, part.num_rows)


def write_parquet(
    schema: pa.Schema, batches: Iterator[Any], path: Path, time_steps: Mapping[str, int]
) -> None:
    """Write the data so that Pinot's Parquet reader reads the same values as :func:`open_arrow`.

    Args:
        schema: Schema of the data.
        batches: The data.
        path: The file to write.
        time_steps: The table's time columns, each with the nanoseconds of a step.
    """
    plain = pa.schema([(field.name, _parquet_type(plain_type(field.type))) for field in schema])
    try:
        with pq.ParquetWriter(path, plain, store_schema=False) as writer:
            for batch in batches:
                columns = [
                    _for_parquet(batch.column(field.name), field.type, time_steps.get(field.name, MILLI_NS))
                    for field in plain
                ]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=plain))
    except pa.ArrowException as error:
        raise DataError(f"Arrow data cannot be passed to Pinot: {error}") from error


def _parquet_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_unsigned_integer(kind):
        return pa.int64()
    if pa.types.is_decimal(kind):
        return pa.large_string()
    if pa.types.is_large_list(kind):
        return pa.large_list(_parquet_type(kind.value_type))
    return kind


def _for_parquet(column: Any, kind: pa.DataType, step_ns: int) -> Any:
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return steps_of(column, step_ns)
    column = column.cast(plain_type(column.type))
    if pa.types.is_large_list(column.type):
        return with_values(column, lambda values: _for_parquet(values, kind.value_type, step_ns))
    return column.cast(kind)
