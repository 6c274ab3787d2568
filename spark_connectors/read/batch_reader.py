"""The classes that Spark knows: what it calls where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from controller_client.common.names import TableName
from spark_connectors.options import ReadFrom, ReadOptions
from spark_connectors.read.columns import ReadColumn, choose, columns_of, spark_schema
from spark_connectors.read.plan import SegmentGroup, TableToRead, find_groups, find_table

if TYPE_CHECKING:
    from spark_connectors.read.task import ReadTask

__all__ = ["inferred_schema", "make_reader"]


def inferred_schema(options: ReadOptions) -> StructType:
    """Return the schema of the DataFrame that these options give; a query is run for it.

    Raises:
        NotFoundError: There is no such table.
        ConfigError: A column cannot be read.
    """
    return spark_schema(_columns(options))


def make_reader(options: ReadOptions, asked: StructType) -> DataSourceReader:
    """Make the reader of a table or a query.

    Args:
        options: The read's.
        asked: The inferred schema or the user's, which is a projection then.

    Raises:
        NotFoundError: There is no such table.
        ConfigError: The schema does not fit.
    """
    if options.query is not None:
        # What of the result does not fit is reported by the task: the query is not run once more for that.
        return _QueryReader(options, options.query, asked)
    with options.client() as client:
        table = find_table(client, options)
    return _TableReader(options, table, choose(columns_of(table.schema, options.decimal_type), asked))


@dataclass
class _Groups(InputPartition):
    """What a task reads, one group after the other; none: Spark wants a partition also of an empty table."""

    groups: tuple[SegmentGroup, ...]


@dataclass
class _WholeTables(InputPartition):
    """What a broker reads in one piece: tables' names with type, and predicates."""

    tables: tuple[tuple[TableName, str | None], ...]


class _TableReader(DataSourceReader):
    """Reads a table; made on the driver, pickled into the tasks."""

    def __init__(self, options: ReadOptions, table: TableToRead, columns: tuple[ReadColumn, ...]) -> None:
        self._options = options
        self._table = table
        self._columns = columns

    def partitions(self) -> Sequence[InputPartition]:
        """Look the segments up and check the filter; runs in a planning process of the driver."""
        with self._options.client() as client:
            groups = find_groups(client, self._options, self._table)
            if groups:
                from spark_connectors.read.row_security import check_row_security

                check_row_security(client, self._options, self._table.name)
            if groups and self._options.filter:
                from spark_connectors.read.broker import check_filter

                check_filter(client, self._options, groups[0].table)
        in_one_task = self._options.limit is not None or not groups
        if self._options.read_from is ReadFrom.BROKER:
            tables = tuple(dict.fromkeys((group.table, group.where) for group in groups))
            return [_WholeTables(tables)] if in_one_task else [_WholeTables((each,)) for each in tables]
        return [_Groups(tuple(groups))] if in_one_task else [_Groups((group,)) for group in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition; runs in a task's Python worker."""
        if isinstance(partition, _WholeTables):
            return self._task().tables(partition.tables)
        return self._task().groups(partition.groups if isinstance(partition, _Groups) else ())

    def _task(self) -> ReadTask:
        from spark_connectors.read.task import ReadTask

        wanted = self._options.null_handling
        nullable = self._columns if wanted or (wanted is None and self._table.keeps_nulls) else ()
        return ReadTask(self._options, self._table.schema.to_json(), self._columns, nullable)


class _QueryReader(DataSourceReader):
    """Reads the result of a query in one task; made on the driver, pickled into the task."""

    def __init__(self, options: ReadOptions, query: str, asked: StructType) -> None:
        self._options = options
        self._query = query
        self._asked = asked

    def partitions(self) -> Sequence[InputPartition]:
        """Return the one partition; runs in a planning process of the driver."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Ask a broker; runs in a task's Python worker."""
        from spark_connectors.read.assemble import assemble
        from spark_connectors.read.broker import read_query

        with self._options.client() as client:
            columns, rows = read_query(client, self._options, self._query, self._asked)
        return assemble(rows, columns, {})


def _columns(options: ReadOptions) -> tuple[ReadColumn, ...]:
    with options.client() as client:
        if options.query is not None:
            from spark_connectors.read.broker import query_columns

            return query_columns(client, options, options.query)
        return columns_of(find_table(client, options).schema, options.decimal_type, options.columns)
