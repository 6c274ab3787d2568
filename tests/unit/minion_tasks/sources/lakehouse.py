"""A lakehouse table as a Pinot table follows it: units that were read are kept while their identity stays."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from minion_tasks.sources.base import Columns, SourceListing, TaskSource

__all__ = ["Follower", "rows_of"]


def rows_of(table: pa.Table) -> Counter[str]:
    """Return a table's rows, whatever their order and that of their columns."""
    names = sorted(table.column_names)
    return Counter(repr([row[name] for name in names]) for row in table.to_pylist())


def _with_numbers(table: pa.Table) -> pa.Table:
    nanoseconds = (
        field for field in table.schema if pa.types.is_timestamp(field.type) and field.type.unit == "ns"
    )
    for field in nanoseconds:
        values = table.column(field.name).cast(pa.int64())
        table = table.set_column(table.schema.get_field_index(field.name), field.name, values)
    return table


class Follower:
    """Reads new units of each version, and keeps those that it has.

    Args:
        work_dir: For copies.
        columns: The columns that it reads.
    """

    def __init__(self, work_dir: Path, columns: Columns = None) -> None:
        self._work_dir = work_dir
        self._columns = columns
        self._kept: dict[tuple[str, str | None], pa.Table] = {}
        self.reads = 0

    def follow(self, source: TaskSource) -> SourceListing:
        """Read the source's current version."""
        listing = source.list(self._columns)
        kept: dict[tuple[str, str | None], pa.Table] = {}
        for file in listing.files:
            unit = (file.uri, file.etag)
            if unit in self._kept:
                kept[unit] = self._kept[unit]
                continue
            self.reads += 1
            with source.local_copy(file, listing.version, self._columns, self._work_dir) as path:
                kept[unit] = pq.read_table(path)
        self._kept = kept
        assert not list(self._work_dir.iterdir())
        return listing

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows that it has; times in nanoseconds as numbers."""
        return [row for kept in self._kept.values() for row in _with_numbers(kept).to_pylist()]

    def table(self, like: pa.Table) -> pa.Table:
        """Return the rows that it has, with the columns of another table.

        A copy may have columns that its reader ignores, as a segment builder does, or may lack one, which is
        then null.
        """
        tables: list[Any] = []
        for kept in self._kept.values():
            arrays = [
                kept.column(field.name).cast(field.type)
                if field.name in kept.column_names
                else pa.nulls(kept.num_rows, field.type)
                for field in like.schema
            ]
            tables.append(pa.table(arrays, schema=like.schema))
        return pa.concat_tables(tables) if tables else like.schema.empty_table()
