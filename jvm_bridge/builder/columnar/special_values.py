"""Does the same as Pinot's ``SpecialValueTransformer`` (since 1.1): no NaN, and only one zero.

Pinot 0.11 would keep negative zero: it finds one of the zeros where both are meant, and takes rows as sorted
in which the greater of its dictionary's two zeros comes first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jvm_bridge.builder.columnar.stored import FixedColumn, ListColumn, StoredColumn
from jvm_bridge.builder.planning import Field, Unsuitable

__all__ = ["nan_as_null", "without_negative_zeros"]


def nan_as_null(field: Field, source: Any) -> Any:
    """Replace NaN by null in a column of a batch, before it is stored.

    Args:
        field: The table's column.
        source: The source's Arrow array.

    Raises:
        Unsuitable: A row of a multi-value column has only NaN, which Pinot 1.3 and 1.4 store differently.
    """
    is_list = pa.types.is_list(source.type) or pa.types.is_large_list(source.type)
    values = source.flatten() if is_list else source
    if not pa.types.is_floating(values.type) or field.data_type not in ("FLOAT", "DOUBLE"):
        return source
    is_nan = pc.fill_null(pc.is_nan(values), fill_value=False)
    if not pc.any(is_nan).as_py():
        return source
    cleaned = pc.if_else(is_nan, pa.scalar(None, values.type), values)
    if field.single_value:
        return cleaned
    lengths = pc.fill_null(pc.list_value_length(source), 0).to_numpy() if is_list else np.ones(len(source))
    rows = np.repeat(np.arange(len(source)), lengths.astype(np.int64))
    with_nan = rows[is_nan.to_numpy(zero_copy_only=False)]
    with_number = rows[cleaned.is_valid().to_numpy(zero_copy_only=False)]
    if not np.isin(with_nan, with_number).all():
        raise Unsuitable(f"column {field.name} has rows with no value other than NaN")
    ends = np.cumsum(lengths, dtype=np.int64)
    return pa.LargeListArray.from_arrays(pa.array(np.concatenate([[0], ends]), pa.int64()), cleaned)


def without_negative_zeros(column: StoredColumn) -> StoredColumn:
    """Replace negative zero by zero in a stored column; the placeholders of nulls stay unchanged."""
    numbers = column.values if isinstance(column, ListColumn) else column
    if not isinstance(numbers, FixedColumn) or numbers.values.dtype.kind != "f":
        return column
    negative = (numbers.values == 0) & np.signbit(numbers.values)
    if column.nulls is not None:
        nulls = column.nulls
        if isinstance(column, ListColumn):
            nulls = np.repeat(nulls, np.diff(column.offsets))
        negative &= ~nulls
    if not negative.any():
        return column
    numbers = replace(numbers, values=np.where(negative, np.zeros(1, numbers.values.dtype), numbers.values))
    return replace(column, values=numbers) if isinstance(column, ListColumn) else numbers
