"""Prepares a DataFrame so that a write creates few, well-sorted segments."""

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
    """Repartition and sort a DataFrame like the table.

    A data source in Python cannot request an order from Spark. Tasks always split their rows by the table's
    partitions, so unprepared rows result in up to tasks times partitions segments. Prepared rows result in
    one segment per partition (more if ``maxNumRecordsPerSegment`` is exceeded)::

        prepare_for_pinot(df, **options).write.format("pinot").mode("append").options(**options).save()

    Rows are sorted within tasks by the table's sorted column or, if it has none, by its time column. If the
    table has neither partitions nor such columns, the DataFrame is returned unchanged.

    Args:
        frame: The DataFrame to write.
        options: The options of the write.

    Raises:
        ConfigError: An option is invalid, or the partition column does not fit the table.
        NotFoundError: There is no such table.
    """
    parsed = parse_options(WriteOptions, options)
    with parsed.client() as client:
        config = client.tables.in_use(TableName.of(parsed.table, TableType.OFFLINE))
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
    """Return a Spark function that computes the partition of rows; it runs in the tasks' Python workers."""
    (cast,) = plan_casts(StructType([frame[partitioning.column]]), schema)
    document = schema.to_json()

    @arrow_udf(IntegerType())  # type: ignore[call-overload,untyped-decorator]  # by hints
    def ids(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        ids_of = PartitionIds(partitioning, document)
        for column in columns:
            yield pa.array(ids_of(cast.convert(column)), pa.int32())

    return ids
