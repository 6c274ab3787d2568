"""The arrow path: rows and statistics by Arrow, the segment by Pinot's driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jvm_bridge.builder.driver import SegmentTarget, generator_config, run_driver
from jvm_bridge.builder.pinot_classes import java_class
from jvm_bridge.builder.planning import ColumnPlan, TablePlan
from jvm_bridge.builder.row_file import RowFileWriter
from jvm_bridge.builder.row_reader import file_order, null_defaults, pipeline_for, row_reader, sub_schema
from jvm_bridge.builder.source import Source
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
    """The source has no rows: there is nothing to map."""


def build_with_arrow(
    table_config: Any, schema: Any, table: TablePlan, source: Source, target: SegmentTarget
) -> Path:
    """Build one segment.

    Args:
        table_config: Pinot's ``TableConfig``.
        schema: Pinot's ``Schema``.
        table: What was planned from both.
        source: The rows.
        target: Where the segment goes.

    Returns:
        The segment's folder. Java exceptions pass through.

    Raises:
        Unsuitable: A value that Pinot's reader must decide on.
        EmptySource: No rows.
    """
    plans = file_order(source.plans)
    defaults = null_defaults(table_config, schema, plans)
    offsets_path, data_path = target.build_dir / "rows.offsets", target.build_dir / "rows.data"
    summaries = _summaries(plans)
    with RowFileWriter(offsets_path, data_path, with_nulls=table.with_nulls) as writer:
        for batch in source.batches:
            columns = []
            for plan in plans:
                name = plan.field.name
                column = store(plan, batch.columns.get(name), batch.rows, defaults[name])
                if name in summaries:
                    summaries[name].add(column)
                columns.append(column)
            writer.write(columns, batch.rows)
        rows = writer.rows
    if not rows:
        raise EmptySource("the source has no rows")
    config = generator_config(table_config, schema, target)
    config.setInputFilePath(str(data_path))
    pipeline = pipeline_for(table_config, schema, plans)
    with row_reader(offsets_path, data_path, plans, schema, with_nulls=table.with_nulls) as reader:
        if summaries and all(summary.is_certain for summary in summaries.values()):
            statistics = _statistics(config, plans, summaries, target.build_dir)
            data_source: Any = summarised_source(reader, statistics, rows)
        else:
            data_source = java_class(_LOCAL + "RecordReaderSegmentCreationDataSource")(reader)
        folder = run_driver(config, data_source, pipeline)
    data_path.unlink()
    offsets_path.unlink()
    return folder


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
