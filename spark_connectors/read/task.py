"""The task of a read, in a Python worker of an executor."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from controller_client.common.folders import scratch_folder
from spark_connectors.options import ReadFrom, ReadOptions
from spark_connectors.read.assemble import Nulls, assemble, null_positions
from spark_connectors.read.columns import ReadColumn
from spark_connectors.read.data_table import DataTable
from spark_connectors.read.plan import SegmentGroup, WholeTable
from spark_connectors.read.server_query import ServerQuery
from spark_connectors.read.servers import read_from_servers
from spark_connectors.read.sql import select_nulls, select_rows
from spark_connectors.work_dir import work_dir

__all__ = ["ReadTask"]


@dataclass(frozen=True)
class ReadTask:
    """Reads groups of segments, or entire tables through a broker, into record batches.

    Attributes:
        options: The options of the read.
        schema: The table's schema as returned by the controller.
        columns: The columns of the DataFrame.
        nullable: Those of the columns whose nulls are returned as nulls.
    """

    options: ReadOptions
    schema: Mapping[str, Any]
    columns: Sequence[ReadColumn]
    nullable: Sequence[ReadColumn]

    def groups(self, groups: Sequence[SegmentGroup]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the groups, at most as many as the option ``limit`` allows."""
        return self._limited(part for group in groups for part in self._group(group))

    def tables(self, tables: Sequence[WholeTable]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of tables as returned by a broker."""
        return self._limited(self._brokered(tables))

    def _brokered(self, tables: Sequence[WholeTable]) -> Iterator[tuple[DataTable, Nulls]]:
        from spark_connectors.read.broker import read_table

        with self.options.client() as client:
            for table in tables:
                answer = read_table(client, self.options, table, self.columns, self.nullable)
                yield answer.rows, answer.nulls

    def _limited(self, tables: Iterator[tuple[DataTable, Nulls]]) -> Iterator[pa.RecordBatch]:
        left = self.options.limit
        for table, nulls in tables:
            for batch in assemble(table, self.columns, nulls):
                part = batch if left is None else batch.slice(0, left)
                yield part
                if left is not None:
                    left -= part.num_rows
                    if left <= 0:
                        return

    def _group(self, group: SegmentGroup) -> Iterator[tuple[DataTable, Nulls]]:
        if self.options.read_from is not ReadFrom.SEGMENTS:
            yield from self._served(group)
            return
        consuming = tuple(segment for segment in group.segments if segment.consuming)
        if consuming:
            yield from self._served(replace(group, segments=consuming))
        sealed = tuple(segment for segment in group.segments if not segment.consuming)
        if sealed:
            yield from self._fetched(replace(group, segments=sealed))

    def _served(self, group: SegmentGroup) -> Iterator[tuple[DataTable, Nulls]]:
        query = ServerQuery.of(self.options)
        for served in read_from_servers(query, group, self.columns, self.nullable, self.options.limit):
            for table in served.tables():
                yield table, served.nulls

    def _fetched(self, group: SegmentGroup) -> Iterator[tuple[DataTable, Nulls]]:
        # Imported here, since only this way of reading needs Java.
        from spark_connectors.read.local_segments import LoadedSegment
        from spark_connectors.read.segment_files import open_segment_files

        rows_sql = select_rows(
            group.table, self.columns, group.where, self.options.limit, with_position=bool(self.nullable)
        )
        with (
            scratch_folder("pinot-read-", work_dir(self.options.work_dir)) as folder,
            self.options.client() as client,
            open_segment_files(client, self.options, group, folder) as files,
        ):
            for segment in group.segments:
                fetched = files.fetch(segment)
                with LoadedSegment(fetched, self.schema) as local:
                    nulls = {
                        column.name: null_positions(
                            local.select(select_nulls(group.table, column, group.where))
                        )
                        for column in self.nullable
                    }
                    for table in local.select(rows_sql):
                        yield table, nulls
                shutil.rmtree(fetched.path)
