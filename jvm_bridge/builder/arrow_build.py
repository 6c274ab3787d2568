"""The arrow path: Arrow reads columns, and Pinot's driver builds the segment from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from jvm_bridge.builder.columnar import column_file
from jvm_bridge.builder.columnar.column_file import ColumnFileWriter
from jvm_bridge.builder.columnar.columnar_source import build_columns
from jvm_bridge.builder.columnar.special_values import nan_as_null, without_negative_zeros
from jvm_bridge.builder.columnar.stored import StoredColumn, store
from jvm_bridge.builder.driver import PinotTable, SegmentTarget, generator_config
from jvm_bridge.builder.expressions.evaluation import Expressions
from jvm_bridge.builder.planning import ColumnPlan, Conversion, Unsuitable
from jvm_bridge.builder.segment_times import ColumnTimes
from jvm_bridge.builder.sources.source import Batch, Source
from jvm_bridge.builder.transformers import null_defaults, replaces_special_values

__all__ = ["EmptySource", "build_with_arrow"]

_BATCH_BYTES = 64 << 20


class EmptySource(Exception):  # noqa: N818 - a case, not a failure
    """The sources have no rows: there is nothing to build a segment from."""


def build_with_arrow(
    table: PinotTable,
    sources: Iterable[Source],
    targets: Iterator[SegmentTarget],
    max_rows: int | None = None,
) -> Iterator[tuple[Path, SegmentTarget]]:
    """Build segments, one after the other, while the sources are read.

    Args:
        table: The table.
        sources: The rows; each source is opened after the previous one has been read.
        targets: Where the segments go.
        max_rows: Maximum rows per segment; a segment of large rows may have fewer. None for one segment.

    Yields:
        Each segment's folder and target. Java exceptions are not caught.

    Raises:
        Unsuitable: Pinot's reader must decide on a value, or columns cannot be passed to this Pinot.
        EmptySource: No source has rows.
    """
    columns: _SegmentColumns | None = None
    has_built = False
    try:
        for plans, batch in _planned_batches(Expressions(table), sources):
            start = 0
            while start < batch.rows:
                if columns is None:
                    columns = _SegmentColumns(table, plans, next(targets))
                free = batch.rows if max_rows is None else max_rows - columns.count
                part = batch.slice(start, free)
                columns.add(plans, part)
                start += part.rows
                if max_rows is not None and (columns.count >= max_rows or columns.is_large):
                    yield columns.build(), columns.target
                    columns = None
                    has_built = True
        if columns is not None:
            yield columns.build(), columns.target
        elif not has_built:
            raise EmptySource("the sources have no rows")
    finally:
        if columns is not None:
            columns.close()


def _planned_batches(
    expressions: Expressions, sources: Iterable[Source]
) -> Iterator[tuple[Sequence[ColumnPlan], Batch]]:
    """Yield each batch with its source's plans, in the order and the stored forms of the first source."""
    first: Sequence[ColumnPlan] | None = None
    for source in map(expressions.applied, sources):
        if first is None:
            first = source.plans
        own = {plan.field.name: plan for plan in source.plans}
        plans = [_stored_like(plan, own[plan.field.name]) for plan in first]
        for batch in source.batches:
            for part in _small_parts(batch):
                yield plans, part


def _small_parts(batch: Batch) -> Iterator[Batch]:
    """Split a batch of long texts, which is in memory more than once while it is written to the file."""
    size_bytes = sum(column.nbytes for column in batch.columns.values())
    rows = max(1, batch.rows * _BATCH_BYTES // max(1, size_bytes))
    for start in range(0, batch.rows, rows):
        yield batch.slice(start, rows)


def _stored_like(first: ColumnPlan, plan: ColumnPlan) -> ColumnPlan:
    if plan.is_late == first.is_late:
        return plan
    if plan.conversion is Conversion.MISSING:
        return replace(plan, conversion=Conversion.LATE)
    raise Unsuitable(f"column {plan.field.name} is stored in a different form than in the first file")


class _SegmentColumns:
    """Writes the rows of one segment to a file of columns."""

    def __init__(self, table: PinotTable, plans: Sequence[ColumnPlan], target: SegmentTarget) -> None:
        self.target = target
        self._table = table
        self._plans = plans
        self._config = generator_config(table.config, table.schema, target)
        self._times = ColumnTimes(self._config, table.zone)
        self._defaults = null_defaults(table.config, table.schema, plans, table.zone)
        self._replaces_special_values = replaces_special_values()
        self._path = target.build_dir / "columns"
        self._writer = ColumnFileWriter(self._path, len(plans))

    @property
    def count(self) -> int:
        """Rows so far."""
        return self._writer.rows

    @property
    def is_large(self) -> bool:
        """Whether the segment should end here, if it may end anywhere."""
        return self._writer.size_bytes >= column_file.FULL_BYTES

    def add(self, plans: Sequence[ColumnPlan], batch: Batch) -> None:
        """Write rows."""
        columns = [self._stored(plan, batch) for plan in plans]
        for plan, column in zip(plans, columns, strict=True):
            self._times.add(plan, column, self._writer.rows)
        self._writer.write(columns, batch.rows)

    def _stored(self, plan: ColumnPlan, batch: Batch) -> StoredColumn:
        name = plan.field.name
        source = batch.columns.get(name)
        if self._replaces_special_values and source is not None:
            source = nan_as_null(plan.field, source)
        return without_negative_zeros(store(plan, source, batch.rows, self._defaults[name]))

    def build(self) -> Path:
        """Build the segment and return its folder; deletes the file of columns."""
        self._config.setInputFilePath(str(self._path))
        folder = build_columns(self._config, self._plans, self._writer, self._path, self._table.zone)
        self.close()
        self._path.unlink()
        return folder

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._writer.close()
