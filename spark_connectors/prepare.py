"""Brings a DataFrame into the order in which few segments are made of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import IntegerType, StructType

from controller_client.common.names import TableName, TableType
from controller_client.models import Schema
from spark_connectors.options import WriteOptions, parse_options
from spark_connectors.types import plan_casts
from spark_connectors.write.partitioning import PartitionIds, Partitioning

__all__ = ["prepare_for_pinot"]


def prepare_for_pinot(frame: DataFrame, **options: str) -> DataFrame:
    """Repartition and sort a DataFrame by what the table is partitioned and sorted by.

    Spark's Python API cannot ask for an order. A task splits its rows by the table's partitions
    anyway, so unprepared rows give up to as many segments as there are tasks times partitions; prepared ones
    give one a partition (more where ``maxNumRecordsPerSegment`` cuts)::

        prepare_for_pinot(df, **options).write.format("pinot").mode("append").options(**options).save()

    Rows are sorted within tasks by the table's sorted column, else by its time column. Of a table with
    neither partitions nor such columns the DataFrame comes back as it is.

    Args:
        frame: What is to be written.
        options: Those of the write.

    Raises:
        ConfigError: An option is wrong, or the partition column has no place in the table.
        NotFoundError: There is no such table.
    """
    parsed = parse_options(WriteOptions, options)
    with parsed.client() as client:
        config = client.tables.get(TableName.of(parsed.table, TableType.OFFLINE))
        schema = client.schemas.of_table(config)
    sorted_by = config.table_index_config.get("sortedColumn") or []
    wanted = [*sorted_by[:1], *([config.time_column] if config.time_column else [])]
    order = [name for name in wanted if name in frame.columns][:1]
    partitioning = Partitioning.of(config, schema)
    if partitioning is not None and partitioning.column in frame.columns:
        ids = _ids(partitioning, frame.schema, schema)
        frame = frame.repartitionById(partitioning.count, ids(col(f"`{partitioning.column}`")))
    return frame.sortWithinPartitions(*(col(f"`{name}`") for name in order)) if order else frame


def _ids(partitioning: Partitioning, frame: StructType, schema: Schema) -> Any:
    """Make a function of Spark that gives rows' partitions; it runs in the tasks' Python workers."""
    (cast,) = plan_casts(StructType([frame[partitioning.column]]), schema)
    document = schema.to_json()

    @arrow_udf(IntegerType())  # type: ignore[call-overload,untyped-decorator]  # by hints
    def ids(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        ids_of = PartitionIds(partitioning, document)
        for column in columns:
            yield pa.array(ids_of(cast.convert(column)), pa.int32())

    return ids
