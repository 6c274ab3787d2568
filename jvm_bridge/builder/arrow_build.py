"""The arrow path: rows and statistics by Arrow, the segment by Pinot's driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from jvm_bridge.builder.driver import PinotTable, SegmentTarget, generator_config, run_driver
from jvm_bridge.builder.pinot_classes import java_class
from jvm_bridge.builder.planning import ColumnPlan, Conversion, Unsuitable
from jvm_bridge.builder.row_file import RowFileFull, RowFileWriter
from jvm_bridge.builder.row_reader import (
    file_order,
    null_defaults,
    pipeline_for,
    replaces_special_values,
    row_reader,
    sub_schema,
)
from jvm_bridge.builder.source import Batch, Source
from jvm_bridge.builder.special_values import nan_as_null, without_negative_zeros
from jvm_bridge.builder.statistics import (
    can_be_summarised,
    collected_statistics,
    summarised_source,
    summarised_statistics,
)
from jvm_bridge.builder.stored import FixedColumn, ListColumn, StoredColumn, TextColumn, store
from jvm_bridge.builder.summary import ColumnSummary

__all__ = ["EmptySource", "build_with_arrow"]

_LOCAL = "org.apache.pinot.segment.local.segment.creator."


class EmptySource(Exception):  # noqa: N818 - a case, not a failure
    """The sources have no rows: there is nothing to map."""


def build_with_arrow(
    table: PinotTable,
    sources: Iterable[Source],
    targets: Iterator[SegmentTarget],
    max_rows: int | None = None,
) -> Iterator[tuple[Path, SegmentTarget]]:
    """Build segments, one after the other, while the sources are read.

    Args:
        table: The table.
        sources: The rows; each source is opened when the one before has been read.
        targets: Where the segments go.
        max_rows: Rows of a segment; None for all rows in one segment.

    Yields:
        Each segment's folder and target. Java exceptions pass through.

    Raises:
        Unsuitable: A value that Pinot's reader must decide on, or more rows than one segment may have.
        EmptySource: No rows in any source.
    """
    rows: _SegmentRows | None = None
    try:
        for plans, batch in _planned_batches(sources):
            start = 0
            while start < batch.rows:
                if rows is None:
                    rows = _SegmentRows(table, plans, next(targets))
                free = batch.rows if max_rows is None else max_rows - rows.count
                part = batch.slice(start, free)
                try:
                    is_full = not part.rows
                    if not is_full:
                        rows.add(plans, part)
                except RowFileFull:
                    if max_rows is None or not rows.count:
                        raise
                    is_full = True
                if is_full:
                    yield rows.build(), rows.target
                    rows = None
                else:
                    start += part.rows
        if rows is None:
            raise EmptySource("the sources have no rows")
        yield rows.build(), rows.target
    finally:
        if rows is not None:
            rows.close()


def _planned_batches(sources: Iterable[Source]) -> Iterator[tuple[Sequence[ColumnPlan], Batch]]:
    """Give each batch with its source's plans, in the order and the stored forms of the first source."""
    first: Sequence[ColumnPlan] | None = None
    for source in sources:
        if first is None:
            first = file_order(source.plans)
        own = {plan.field.name: plan for plan in source.plans}
        plans = [_stored_like(plan, own[plan.field.name]) for plan in first]
        for batch in source.batches:
            yield plans, batch


def _stored_like(first: ColumnPlan, plan: ColumnPlan) -> ColumnPlan:
    if plan.is_late == first.is_late:
        return plan
    if plan.conversion is Conversion.MISSING:
        return replace(plan, conversion=Conversion.LATE)
    raise Unsuitable(f"column {plan.field.name} is stored in another form than that of the first file")


class _SegmentRows:
    """The rows of one segment on their way into its row file, with what is learned of them."""

    def __init__(self, table: PinotTable, plans: Sequence[ColumnPlan], target: SegmentTarget) -> None:
        self.target = target
        self.count = 0
        self._table = table
        self._plans = plans
        self._with_nulls = table.plan().with_nulls
        self._defaults = null_defaults(table.config, table.schema, plans)
        self._replaces_special_values = replaces_special_values()
        self._summaries = _summaries(plans)
        self._offsets_path = target.build_dir / "rows.offsets"
        self._data_path = target.build_dir / "rows.data"
        self._writer = RowFileWriter(self._offsets_path, self._data_path, with_nulls=self._with_nulls)

    def add(self, plans: Sequence[ColumnPlan], batch: Batch) -> None:
        """Write rows; after :class:`RowFileFull` none of them is written."""
        names = [plan.field.name for plan in plans]
        columns = [self._stored(plan, batch) for plan in plans]
        self._writer.write(columns, batch.rows)
        for name, column in zip(names, columns, strict=True):
            if name in self._summaries:
                self._summaries[name].add(column)
        self.count += batch.rows

    def _stored(self, plan: ColumnPlan, batch: Batch) -> StoredColumn:
        name = plan.field.name
        source = batch.columns.get(name)
        if not self._replaces_special_values:
            return store(plan, source, batch.rows, self._defaults[name])
        if source is not None:
            source = nan_as_null(plan.field, source)
        return without_negative_zeros(store(plan, source, batch.rows, self._defaults[name]))

    def build(self) -> Path:
        """Build the segment and return its folder; the row file is gone then."""
        self.close()
        config = generator_config(self._table.config, self._table.schema, self.target)
        config.setInputFilePath(str(self._data_path))
        late = [plan.field.name for plan in self._plans if plan.is_late]
        pipeline = pipeline_for(self._table.config, self._table.schema, late)
        with row_reader(
            self._offsets_path, self._data_path, self._plans, self._table.schema, with_nulls=self._with_nulls
        ) as reader:
            folder = run_driver(config, self._data_source(config, reader), pipeline)
        self._data_path.unlink()
        self._offsets_path.unlink()
        return folder

    def _data_source(self, config: Any, reader: Any) -> Any:
        if self._summaries and all(summary.is_certain for summary in self._summaries.values()):
            statistics = _statistics(config, self._plans, self._summaries, self.target.build_dir)
            return summarised_source(reader, statistics, self.count)
        return java_class(_LOCAL + "RecordReaderSegmentCreationDataSource")(reader)

    def close(self) -> None:
        """Close the row file; a second call does nothing."""
        self._writer.close()


def _summaries(plans: Sequence[ColumnPlan]) -> Mapping[str, ColumnSummary]:
    # What Pinot still converts on the way in is not known here, neither its values nor their order.
    if any(plan.is_late for plan in plans) or not can_be_summarised():
        return {}
    return {plan.field.name: ColumnSummary(is_text=plan.field.data_type == "STRING") for plan in plans}


def _statistics(
    config: Any, plans: Sequence[ColumnPlan], summaries: Mapping[str, ColumnSummary], folder: Path
) -> Mapping[str, Any]:
    statistics = {}
    partitions = config.getSegmentPartitionConfig()
    for plan in plans:
        field, summary = plan.field, summaries[plan.field.name]
        values = summary.distinct()
        has_partitions = partitions is not None and partitions.getColumnPartitionMap().containsKey(field.name)
        if has_partitions or field.data_type == "BYTES":
            collector = _collector(config, plan, values, folder)
            statistics[field.name] = collected_statistics(summary, collector, field)
        else:
            statistics[field.name] = summarised_statistics(summary, values, field)
    return statistics


def _collector(config: Any, plan: ColumnPlan, values: FixedColumn | TextColumn, folder: Path) -> Any:
    """Return Pinot's collector of the column, sealed after it has seen each distinct value."""
    name = plan.field.name
    offsets_path, data_path = folder / "distinct.offsets", folder / "distinct.data"
    count = len(values.values)
    column: StoredColumn = values
    if not plan.field.single_value:
        column = ListColumn(values, np.arange(count + 1, dtype=np.int64), None)
    with RowFileWriter(offsets_path, data_path, with_nulls=False) as writer:
        writer.write([column], count)
    schema = sub_schema(config.getSchema(), [name])
    statistics_config = java_class("org.apache.pinot.segment.spi.creator.StatsCollectorConfig")(
        config.getTableConfig(), schema, config.getSegmentPartitionConfig()
    )
    with row_reader(offsets_path, data_path, [plan], schema, with_nulls=False) as reader:
        source = java_class(_LOCAL + "RecordReaderSegmentCreationDataSource")(reader)
        source.setTransformPipeline(pipeline_for(config.getTableConfig(), schema, []))
        return source.gatherStats(statistics_config).getColumnProfileFor(name)
