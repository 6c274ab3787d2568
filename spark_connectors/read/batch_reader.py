"""The reader classes that Spark calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from controller_client.upsert.versioned_query import VersionedQuery
from spark_connectors.options import ReadFrom, ReadOptions
from spark_connectors.read.columns import ReadColumn, choose, columns_of, spark_schema
from spark_connectors.read.plan import (
    SegmentGroup,
    TableToRead,
    WholeTable,
    find_groups,
    find_table,
    find_version,
    whole_tables,
)

if TYPE_CHECKING:
    from spark_connectors.read.task import ReadTask

__all__ = ["inferred_schema", "make_reader"]


def inferred_schema(options: ReadOptions) -> StructType:
    """Return the schema of the DataFrame for these options; runs the query, if there is one.

    Raises:
        NotFoundError: There is no such table.
        ConfigError: A column cannot be read.
    """
    return spark_schema(_columns(options))


def make_reader(options: ReadOptions, asked: StructType) -> DataSourceReader:
    """Create the reader of a table or a query.

    Args:
        options: The options of the read.
        asked: The inferred schema, or the user's, which is a projection.

    Raises:
        NotFoundError: There is no such table.
        ConfigError: The schema does not fit.
    """
    if options.query is not None:
        # The task reports a result that does not fit; checking it here would run the query once more.
        return _QueryReader(options, options.query, asked)
    with options.client() as client:
        table = find_table(client, options)
    return _TableReader(options, table, choose(columns_of(table.schema, options.decimal_type), asked))


@dataclass
class _Groups(InputPartition):
    """The groups that a task reads; empty for an empty table, for which Spark also needs a partition."""

    groups: tuple[SegmentGroup, ...]
    options: ReadOptions


@dataclass
class _WholeTables(InputPartition):
    """The tables that a broker reads as a whole."""

    tables: tuple[WholeTable, ...]
    options: ReadOptions


@dataclass
class _Query(InputPartition):
    """The query that a broker answers."""

    query: VersionedQuery


class _TableReader(DataSourceReader):
    """Reads a table; created on the driver, pickled into the tasks."""

    def __init__(self, options: ReadOptions, table: TableToRead, columns: tuple[ReadColumn, ...]) -> None:
        self._options = options
        self._table = table
        self._columns = columns

    def partitions(self) -> Sequence[InputPartition]:
        """Find the segments and check the filter; runs in a planning process of the driver."""
        with self._options.client() as client:
            seen = find_version(client, self._options, self._table)
            options = seen.added_to(self._options)
            groups = find_groups(client, options, self._table, seen)
            if groups:
                from spark_connectors.read.row_security import check_row_security

                check_row_security(client, options, self._table.name)
            if groups and options.filter:
                from spark_connectors.read.broker import check_filter

                check_filter(client, options, groups[0].table)
        in_one_task = options.limit is not None or not groups
        if options.read_from is ReadFrom.BROKER:
            tables = whole_tables(groups, by_version=seen.by_version)
            parts = [tables] if in_one_task else [(each,) for each in tables]
            return [_WholeTables(each, options) for each in parts]
        if in_one_task:
            return [_Groups(tuple(groups), options)]
        return [_Groups((group,), options) for group in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of a partition; runs in a task's Python worker."""
        if isinstance(partition, _WholeTables):
            return self._task(partition.options).tables(partition.tables)
        if isinstance(partition, _Groups):
            return self._task(partition.options).groups(partition.groups)
        return iter(())

    def _task(self, options: ReadOptions) -> ReadTask:
        from spark_connectors.read.task import ReadTask

        wanted = self._options.null_handling
        nullable = self._columns if wanted or (wanted is None and self._table.keeps_nulls) else ()
        return ReadTask(options, self._table.schema.to_json(), self._columns, nullable)


class _QueryReader(DataSourceReader):
    """Reads the result of a query in one task; created on the driver, pickled into the task."""

    def __init__(self, options: ReadOptions, query: str, asked: StructType) -> None:
        self._options = options
        self._query = query
        self._asked = asked

    def partitions(self) -> Sequence[InputPartition]:
        """Return the only partition; runs in a planning process of the driver."""
        from spark_connectors.read.upsert import versioned_query

        with self._options.client() as client:
            return [_Query(versioned_query(client, self._options, self._query))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Query a broker; runs in a task's Python worker."""
        from spark_connectors.read.assemble import assemble
        from spark_connectors.read.broker import read_query

        if not isinstance(partition, _Query):
            return iter(())
        with self._options.client() as client:
            columns, rows = read_query(client, self._options, partition.query, self._asked)
        return assemble(rows, columns, {})


def _columns(options: ReadOptions) -> tuple[ReadColumn, ...]:
    with options.client() as client:
        if options.query is not None:
            from spark_connectors.read.broker import query_columns
            from spark_connectors.read.upsert import versioned_query

            return query_columns(client, options, versioned_query(client, options, options.query))
        table = find_table(client, options)
        found = columns_of(table.schema, options.decimal_type, options.columns)
        return found if options.columns else tuple(each for each in found if each.name not in table.hidden)
