"""Combines decoded columns and the positions of their nulls into the record batches that Spark expects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from controller_client.errors import DataError
from spark_connectors.read.columns import ReadColumn, target_schema
from spark_connectors.read.data_table import DataTable

__all__ = ["Nulls", "assemble", "null_positions"]

# The maximum number of rows in a batch of Spark's own Arrow exchange.
_BATCH_ROWS = 10_000

Nulls = Mapping[str, Mapping[str, Any]]
"""Maps column to segment to the sorted numpy array of its null rows."""


def null_positions(tables: Iterator[DataTable]) -> dict[str, Any]:
    """Read the answer about a column's nulls; return the null rows of each segment."""
    positions: dict[str, list[Any]] = {}
    for table in tables:
        if not table.rows:
            continue
        for segment, rows in _by_segment(*table.columns[-2:]):
            positions.setdefault(segment, []).append(rows)
    return {segment: np.sort(np.concatenate(rows)) for segment, rows in positions.items()}


def assemble(table: DataTable, columns: Sequence[ReadColumn], nulls: Nulls) -> Iterator[pa.RecordBatch]:
    """Create the batches of one decoded table.

    Args:
        table: Its columns are ``columns``, followed by segment name and row number if there are nulls.
        columns: The columns and their types.
        nulls: The positions of the nulls.

    Raises:
        DataError: A value does not fit the requested type; the error names the column.
    """
    if not table.rows:
        return
    schema = target_schema(columns)
    arrays = []
    for n, column in enumerate(columns):
        array = table.columns[n]
        if nulls.get(column.name):
            array = _with_nulls(array, _mask(nulls[column.name], *table.columns[-2:]))
        arrays.append(_fit(array, column, schema.field(n)))
    whole = pa.RecordBatch.from_arrays(arrays, schema=schema)
    for start in range(0, table.rows, _BATCH_ROWS):
        yield whole.slice(start, _BATCH_ROWS)


def _by_segment(segments: pa.Array, rows: pa.Array) -> Iterator[tuple[str, Any]]:
    encoded = segments.dictionary_encode()
    ids, numbers = encoded.indices.to_numpy(), rows.to_numpy()
    for n, segment in enumerate(encoded.dictionary.to_pylist()):
        yield segment, numbers[ids == n]


def _mask(nulls: Mapping[str, Any], segments: pa.Array, rows: pa.Array) -> Any:
    encoded = segments.dictionary_encode()
    ids, numbers = encoded.indices.to_numpy(), rows.to_numpy()
    mask = np.zeros(len(numbers), dtype=bool)
    for n, segment in enumerate(encoded.dictionary.to_pylist()):
        null_rows = nulls.get(segment)
        if null_rows is None or not len(null_rows):
            continue
        here = ids == n
        at = np.minimum(np.searchsorted(null_rows, numbers[here]), len(null_rows) - 1)
        mask[here] = null_rows[at] == numbers[here]
    return mask


def _with_nulls(array: pa.Array, mask: Any) -> pa.Array:
    if not mask.any():
        return array
    if pa.types.is_list(array.type):
        valid = pa.array(~mask)
        return pc.if_else(valid, array, pa.scalar(None, array.type))
    return pc.if_else(pa.array(mask), pa.scalar(None, array.type), array)


def _fit(array: pa.Array, column: ReadColumn, field: pa.Field) -> pa.Array:
    try:
        if not field.nullable and array.null_count:
            raise DataError(
                f"column {column.name} contains nulls, but is not nullable in the schema",
                remedy="declare it as nullable in the schema",
            )
        if column.single_value:
            return _cast(array, column.pinot_type, field.type)
        values = _cast(array.values, column.pinot_type, field.type.value_type)
        return pa.ListArray.from_arrays(
            array.offsets, values, type=field.type, mask=array.is_null() if array.null_count else None
        )
    except pa.ArrowException as error:
        raise DataError(
            f"column {column.name} contains a value that does not fit the type {column.simple_type}: {error}",
            remedy="read the column with its default type",
        ) from error


def _cast(array: pa.Array, pinot_type: str, target: pa.DataType) -> pa.Array:
    if pinot_type == "TIMESTAMP" and pa.types.is_timestamp(target):
        array = array.cast(pa.timestamp("ms", target.tz))
    return array.cast(target)
