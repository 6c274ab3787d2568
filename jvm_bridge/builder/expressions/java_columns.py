"""Converts columns to Java and back, for functions that evaluate them row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jpype
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jvm_bridge.builder.columnar.stored import text_bytes
from jvm_bridge.builder.pinot_classes import keeps_source_types
from jvm_bridge.builder.planning import DECIMAL, MIXED, NESTED, Unsuitable

__all__ = ["argument_of", "column_of"]

_ARGUMENT = "io.pinotplugins.rows.Argument"
_PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def argument_of(
    classes: Mapping[str, Any],
    column: Any,
    kind: pa.DataType | None = None,
    *,
    has_any_width: bool = False,
) -> Any:
    """Return a column as Java's ``Argument``.

    Args:
        classes: Java's classes by name.
        column: An Arrow array, see :class:`~jvm_bridge.builder.sources.source.Batch`.
        kind: Its type, if the array has texts for ``DECIMAL`` or ``NESTED``.
        has_any_width: See :class:`~jvm_bridge.builder.sources.source.Source`.

    Raises:
        pyarrow.ArrowInvalid: A text is not UTF-8.
        Unsuitable: The type is not supported.
    """
    kind = column.type if kind is None else kind
    nulls = _java(column.is_null().to_numpy(zero_copy_only=False)) if column.null_count else None
    of = classes[_ARGUMENT]
    if pa.types.is_large_list(kind):
        items = column.flatten()
        if pa.types.is_boolean(kind.value_type):  # only a single boolean is a text
            values = _java(items.fill_null(False).to_numpy(zero_copy_only=False))
            items = of.ofBooleans(values, _java(items.is_null().to_numpy(zero_copy_only=False)))
        else:
            items = argument_of(classes, items, kind.value_type)
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        return of.ofLists(items, _java(np.cumsum(lengths, dtype=np.int32)), nulls)
    if pa.types.is_boolean(kind) and keeps_source_types():
        return of.ofBooleans(_java(column.fill_null(False).to_numpy(zero_copy_only=False)), nulls)
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        column, kind = column.cast(pa.string()), pa.string()
    if pa.types.is_temporal(kind) and keeps_source_types():
        return _times(of, column, nulls)
    if kind == pa.timestamp("ms"):
        column, kind = column.cast(pa.int64()), pa.int64()
    if kind == pa.uint64():
        try:
            column, kind = column.cast(pa.int64()), pa.int64()
        except pa.ArrowInvalid:
            column, kind = column.cast(pa.string()), DECIMAL
    of_texts = _texts_of(of, kind)
    if of_texts is not None:
        if kind not in (pa.binary(), pa.large_binary()):
            column.validate(full=True)
        return of_texts(*_texts(column), nulls)
    makers = {
        pa.int32(): of.ofInts,
        pa.int64(): of.ofWholeNumbers if has_any_width else of.ofLongs,
        pa.float32(): of.ofFloats,
        pa.float64(): of.ofNumbers if has_any_width else of.ofDoubles,
    }
    if kind not in makers:
        raise Unsuitable(f"transforms and filters do not support {kind} values")
    return makers[kind](_java(column.fill_null(0).to_numpy(zero_copy_only=False)), nulls)


def _times(of: Any, column: Any, nulls: Any | None) -> Any:
    """Return times as Java's classes for them; times of day in any unit up to nanoseconds."""
    kind = column.type
    if pa.types.is_time(kind):
        column = column.cast(pa.time64("ns"))
    is_day = pa.types.is_date32(kind)
    numbers = column.view(pa.int32() if is_day else pa.int64())
    values = _java(numbers.fill_null(0).to_numpy(zero_copy_only=False))
    if is_day:
        return of.ofDates(values, nulls)
    if pa.types.is_time(kind):
        return of.ofTimesOfDay(values, nulls)
    return of.ofTimestamps(values, _PER_SECOND[kind.unit], nulls)


def _texts_of(of: Any, kind: pa.DataType) -> Any | None:
    if kind == DECIMAL:
        return of.ofDecimals
    if kind in (NESTED, MIXED):
        return of.ofNested
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return of.ofTexts
    return of.ofBytes if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else None


def _texts(column: Any) -> tuple[Any, Any]:
    offsets, data = text_bytes(column)
    if offsets[-1] > np.iinfo(np.int32).max:
        raise Unsuitable("the texts of one column take more than 2 GiB in a batch")
    return _java(data.view(np.int8)), _java(offsets[1:].astype(np.int32))


def _java(values: Any) -> Any:
    return jpype.JArray.of(np.ascontiguousarray(values))


def column_of(result: Any, kind: pa.DataType, *, is_list: bool) -> Any:
    """Return Java's ``Result`` as an Arrow array.

    Args:
        result: The result, after the evaluation.
        kind: Type of its values.
        is_list: Whether a row may have several values.

    Raises:
        pyarrow.ArrowInvalid: A value does not fit.
    """
    lengths = np.array(result.lengths(), dtype=np.int64)
    values = _values(result, kind)
    if is_list:
        offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
        np.cumsum(lengths, out=offsets[1:])
        lists = pa.ListArray.from_arrays(pa.array(offsets), values)
        return pc.if_else(pa.array(lengths > 0), lists, pa.scalar(None, lists.type))
    if len(values) == len(lengths):
        return values
    return values.take(pa.array(np.cumsum(lengths) - 1, mask=lengths == 0))


def _values(result: Any, kind: pa.DataType) -> Any:
    if pa.types.is_floating(kind):
        return pa.array(np.array(result.fractions(), dtype=np.float64).astype(kind.to_pandas_dtype()))
    if pa.types.is_integer(kind):
        return pa.array(np.array(result.numbers(), dtype=np.int64)).cast(kind)
    if pa.types.is_boolean(kind):
        return pa.array(np.array(result.numbers(), dtype=np.int64) != 0)
    ends = np.array(result.ends(), dtype=np.int32)
    offsets = pa.py_buffer(np.concatenate([np.zeros(1, dtype=np.int32), ends]))
    text = pa.py_buffer(np.array(result.text(), dtype=np.int8))
    return pa.Array.from_buffers(kind, len(ends), [None, offsets, text])
