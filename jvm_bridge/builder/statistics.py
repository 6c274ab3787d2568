"""Gives Pinot's driver what it would find out about a column in a first pass over all rows.

The driver asks a ``SegmentCreationDataSource`` for statistics and takes whatever implements
``SegmentPreIndexStatsContainer``. The one here answers from a
:class:`~jvm_bridge.builder.summary.ColumnSummary`; where values must be hashed by Java (bytes, partitions),
from
Pinot's own collector, which then sees each distinct value once. The driver calls these objects in the
thread of the
build, a few times a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jpype
import numpy as np
from jpype import JProxy

from jvm_bridge.builder.pinot_classes import java_class
from jvm_bridge.builder.planning import Field
from jvm_bridge.builder.stored import FixedColumn, TextColumn
from jvm_bridge.builder.summary import ColumnSummary

__all__ = ["can_be_summarised", "collected_statistics", "summarised_source", "summarised_statistics"]

_PACKAGE = "org.apache.pinot.segment.spi.creator."
# What the distinct values show.
_OF_VALUES = (
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
_OF_ROWS = ("getMaxNumberOfMultiValues", "getMaxRowLengthInBytes", "getTotalNumberOfEntries", "isSorted")

_JAVA_TYPES: Mapping[str, tuple[Any, str]] = {
    "<i4": (jpype.JInt, "java.lang.Integer"),
    "<i8": (jpype.JLong, "java.lang.Long"),
    "<f4": (jpype.JFloat, "java.lang.Float"),
    "<f8": (jpype.JDouble, "java.lang.Double"),
}
_NO_PARTITIONS = -1  # SegmentPartitionConfig.INVALID_NUM_PARTITIONS


def can_be_summarised() -> bool:
    """Return whether this Pinot asks column statistics for exactly what is answered here (0.11.0 does)."""
    methods = java_class(_PACKAGE + "ColumnStatistics").class_.getMethods()
    return {str(method.getName()) for method in methods} == {*_OF_VALUES, *_OF_ROWS}


def summarised_statistics(summary: ColumnSummary, values: FixedColumn | TextColumn, field: Field) -> Any:
    """Return a ``ColumnStatistics`` for Java of a column without partitions.

    Args:
        summary: What the rows show.
        values: The distinct values in Java's order; texts without null characters.
        field: The column.
    """
    if isinstance(values, FixedColumn):
        kind, box = _JAVA_TYPES[values.values.dtype.newbyteorder("<").str]
        java_values = jpype.JArray(kind)(values.values)
        least, most = (java_class(box)(kind(values.values[end].item())) for end in (0, -1))
        shortest = longest = -1
    else:
        lengths = np.diff(np.frombuffer(values.values.buffers()[1], dtype=np.int64)[: len(values.values) + 1])
        java_values = _java_strings(values.values)
        least, most = java_values[0], java_values[len(java_values) - 1]
        shortest, longest = int(lengths.min()), int(lengths.max())
    answers: dict[str, Callable[[], Any]] = {
        "getCardinality": lambda: len(java_values),
        "getLengthOfLargestElement": lambda: longest,
        "getLengthOfShortestElement": lambda: shortest,
        "getMaxValue": lambda: most,
        "getMinValue": lambda: least,
        "getNumPartitions": lambda: _NO_PARTITIONS,
        "getPartitionFunction": lambda: None,
        "getPartitionFunctionConfig": lambda: None,
        "getPartitions": lambda: None,
        "getUniqueValuesSet": lambda: java_values,
        "isFixedLength": lambda: shortest == longest,
    }
    return _proxy(
        answers, summary, longest if field.single_value or longest < 0 else summary.longest_list_bytes
    )


def _java_strings(texts: Any) -> Any:
    """Return a ``String[]``, split by Java itself: JPype would make one string a call."""
    ends = np.frombuffer(texts.buffers()[1], dtype=np.int64)[: len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", dtype=np.uint8)[: ends[-1]]
    joined = np.insert(data, ends[1:-1], 0)
    whole = java_class("java.lang.String")(jpype.JArray(jpype.JByte)(joined.view(np.int8)), "UTF-8")
    return whole.split("\0", -1)


def collected_statistics(summary: ColumnSummary, collector: Any, field: Field) -> Any:
    """Return a ``ColumnStatistics`` for Java.

    Args:
        summary: What the rows show.
        collector: Pinot's sealed collector, which has seen the distinct values.
        field: The column.
    """
    longest = int(collector.getMaxRowLengthInBytes())
    if not field.single_value and longest >= 0:
        longest = summary.longest_list_bytes
    return _proxy({name: getattr(collector, name) for name in _OF_VALUES}, summary, longest)


def _proxy(of_values: Mapping[str, Callable[[], Any]], summary: ColumnSummary, longest_row_bytes: int) -> Any:
    of_rows: Mapping[str, Callable[[], Any]] = {
        "getMaxNumberOfMultiValues": lambda: summary.longest_list,
        "getMaxRowLengthInBytes": lambda: longest_row_bytes,
        "getTotalNumberOfEntries": lambda: summary.entries,
        "isSorted": lambda: summary.is_sorted,
    }
    return JProxy(_PACKAGE + "ColumnStatistics", dict={**of_values, **of_rows})


def summarised_source(reader: Any, columns: Mapping[str, Any], rows: int) -> Any:
    """Return a ``SegmentCreationDataSource`` for Java: rows with statistics that are known beforehand.

    Args:
        reader: A Java ``RecordReader`` over the rows.
        columns: ``ColumnStatistics`` of every column.
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
