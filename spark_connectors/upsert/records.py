"""Converts Kafka messages to key records in Spark, column by column, with the code that all engines share.

The Python workers receive a batch's messages as Arrow data and return records, read by
:mod:`key_coordinator.reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from key_coordinator.reading.recipe import Recipe
from key_coordinator.reading.records import Messages, RecordReader
from spark_connectors.upsert.processor import NO_BUCKET

__all__ = ["RECORD_SCHEMA", "records_of"]

RECORD_SCHEMA = "bucket int, high long, low long, partition int, offset long, `order` long, tombstone boolean"
"""``high`` and ``low`` are the bits of unsigned numbers. Messages without a key only have a bucket."""

_TYPES = [
    ("bucket", pa.int32()),
    ("high", pa.int64()),
    ("low", pa.int64()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("order", pa.int64()),
    ("tombstone", pa.bool_()),
]


def records_of(messages: DataFrame, recipe: Recipe, buckets: int) -> DataFrame:
    """Read Kafka messages.

    Args:
        messages: As returned by Spark's Kafka source.
        recipe: How to read them.
        buckets: Number of key buckets.

    Returns:
        Columns as in :data:`RECORD_SCHEMA`; messages without a key have the bucket ``NO_BUCKET``.
    """
    columns = messages.select(
        "partition", "offset", fn.unix_millis("timestamp").alias("time_ms"), "key", "value"
    )
    return columns.mapInArrow(_reads(recipe, buckets), RECORD_SCHEMA)


def _reads(recipe: Recipe, buckets: int) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read a part of a batch; called by Spark in a task's Python worker."""
        reader = RecordReader(recipe)
        for batch in batches:
            yield _records(reader, batch, buckets)

    return read


def _records(reader: RecordReader, batch: pa.RecordBatch, buckets: int) -> pa.RecordBatch:
    partition, offset, time_ms, key, value = batch.columns
    read = reader.read(
        Messages(
            partition.to_numpy(zero_copy_only=False),
            offset.to_numpy(zero_copy_only=False),
            value.to_pylist(),
            time_ms.to_pylist(),
            key.to_pylist(),
        )
    )
    records, none = read.records, np.zeros(read.refused, np.int64)
    # The upper bits of the hash determine the position within a bucket.
    bucket = (records.low % np.uint64(buckets)).astype(np.int32)
    columns = [
        np.concatenate([bucket, np.full(read.refused, NO_BUCKET, np.int32)]),
        np.concatenate([records.high.view(np.int64), none]),
        np.concatenate([records.low.view(np.int64), none]),
        np.concatenate([records.partition, none.astype(np.int32)]),
        np.concatenate([records.offset, none]),
        np.concatenate([records.order, none]),
        np.concatenate([records.tombstone, none.astype(bool)]),
    ]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, (_, kind) in zip(columns, _TYPES, strict=True)],
        schema=pa.schema(_TYPES),
    )
