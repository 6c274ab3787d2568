"""Feeds Pinot's own statistics collectors with distinct values instead of all rows.

Pinot's driver asks a ``SegmentCreationDataSource`` for statistics and takes whatever implements
``SegmentPreIndexStatsContainer``. The one here answers from Pinot's collectors, which saw each distinct value
once, and from :class:`~jvm_bridge.builder.summary.ColumnSummary` for order and counts. The driver calls these
objects in the thread of the build, a few times a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jpype import JProxy

from jvm_bridge.builder.pinot_classes import java_class
from jvm_bridge.builder.summary import ColumnSummary

__all__ = ["can_be_summarised", "column_statistics", "summarised_source"]

_PACKAGE = "org.apache.pinot.segment.spi.creator."
# What distinct values tell as well as all values do.
_FROM_COLLECTOR = (
    "getCardinality",
    "getLengthOfLargestElement",
    "getLengthOfShortestElement",
    "getMaxValue",
    "getMinValue",
    "getNumPartitions",
    "getPartitionFunction",
    "getPartitionFunctionConfig",
    "getPartitions",
    "getUniqueValuesSet",
    "isFixedLength",
)
_FROM_SUMMARY = ("getMaxNumberOfMultiValues", "getMaxRowLengthInBytes", "getTotalNumberOfEntries", "isSorted")


def can_be_summarised() -> bool:
    """Tell whether this Pinot asks a column's statistics for exactly what is answered here (0.11.0 does)."""
    methods = java_class(_PACKAGE + "ColumnStatistics").class_.getMethods()
    return {str(method.getName()) for method in methods} == {*_FROM_COLLECTOR, *_FROM_SUMMARY}


def column_statistics(collector: Any, summary: ColumnSummary, *, single_value: bool) -> Any:
    """Return a ``ColumnStatistics`` for Java.

    Args:
        collector: Pinot's sealed collector of the column's distinct values.
        summary: What distinct values do not tell.
        single_value: Whether the field is.
    """

    def longest_row_bytes() -> int:
        of_one_value = int(collector.getMaxRowLengthInBytes())
        return of_one_value if single_value or of_one_value < 0 else summary.longest_list_bytes

    answers: dict[str, Callable[[], Any]] = {name: getattr(collector, name) for name in _FROM_COLLECTOR}
    answers["getTotalNumberOfEntries"] = lambda: summary.entries
    answers["getMaxNumberOfMultiValues"] = lambda: summary.longest_list
    answers["getMaxRowLengthInBytes"] = longest_row_bytes
    answers["isSorted"] = lambda: summary.is_sorted
    return JProxy(_PACKAGE + "ColumnStatistics", dict=answers)


def summarised_source(reader: Any, columns: Mapping[str, Any], rows: int) -> Any:
    """Return a ``SegmentCreationDataSource`` for Java: rows with statistics that are known beforehand.

    Args:
        reader: A Java ``RecordReader`` over the rows.
        columns: What :func:`column_statistics` made, for every column.
        rows: Rows that the reader gives.
    """

    def from_the_start() -> Any:
        reader.rewind()
        return reader

    container = JProxy(
        _PACKAGE + "SegmentPreIndexStatsContainer",
        dict={
            "getColumnProfileFor": lambda column: columns.get(str(column)),
            "getTotalDocCount": lambda: rows,
        },
    )
    return JProxy(
        _PACKAGE + "SegmentCreationDataSource",
        dict={"gatherStats": lambda _config: container, "getRecordReader": from_the_start},
    )
