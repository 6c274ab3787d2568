"""NaN becomes null before a column is stored, negative zero becomes zero after it; defaults are kept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from jvm_bridge.builder.columnar.special_values import nan_as_null, without_negative_zeros
from jvm_bridge.builder.columnar.stored import FixedColumn, ListColumn, store
from jvm_bridge.builder.planning import Field, Unsuitable, plan_column

NAN = math.nan
SINGLE = Field("d", "DOUBLE", True, 512)
MULTI = Field("d", "DOUBLE", False, 512)


def stored(field: Field, source: pa.Array, default: float) -> FixedColumn | ListColumn:
    cleaned = nan_as_null(field, source)
    column = without_negative_zeros(store(plan_column(field, source.type), cleaned, len(source), default))
    assert isinstance(column, FixedColumn | ListColumn)
    return column


def signs(values: NDArray[Any]) -> list[bool]:
    return [bool(sign) for sign in np.signbit(values)]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_single_values(kind: pa.DataType) -> None:
    column = stored(SINGLE, pa.array([1.5, NAN, None, -0.0, 0.0, -2.5], kind), -0.0)
    assert isinstance(column, FixedColumn)
    assert column.values.tolist() == [1.5, 0.0, 0.0, 0.0, 0.0, -2.5]
    assert signs(column.values) == [False, True, True, False, False, True]
    assert column.nulls is not None
    assert column.nulls.tolist() == [False, True, True, False, False, False]


def test_a_default_may_be_nan() -> None:
    column = stored(SINGLE, pa.array([1.5, NAN]), NAN)
    assert isinstance(column, FixedColumn)
    assert np.isnan(column.values).tolist() == [False, True]


def test_multiple_values() -> None:
    column = stored(MULTI, pa.array([[1.0, NAN, -0.0], None, [], [None, 2.0]]), -0.0)
    assert isinstance(column, ListColumn)
    assert isinstance(column.values, FixedColumn)
    assert column.offsets.tolist() == [0, 2, 3, 4, 5]
    assert column.values.values.tolist() == [1.0, 0.0, 0.0, 0.0, 2.0]
    assert signs(column.values.values) == [False, False, True, True, False]
    assert column.nulls is not None
    assert column.nulls.tolist() == [False, True, True, False]


@pytest.mark.parametrize("source", [pa.array([[1.0], [NAN, None]]), pa.array([1.0, NAN])])
def test_rows_with_nothing_but_nan_are_left_to_pinot(source: pa.Array) -> None:
    with pytest.raises(Unsuitable, match="rows with no value other than NaN"):
        nan_as_null(MULTI, source)


def test_values_that_round_to_negative_zero() -> None:
    column = stored(Field("d", "FLOAT", True, 512), pa.array([-1e-60]), 0.0)
    assert isinstance(column, FixedColumn)
    assert signs(column.values) == [False]


def test_other_columns_are_unchanged() -> None:
    source = pa.array(["nan", None])
    assert nan_as_null(Field("s", "STRING", True, 512), source) is source
    column = store(plan_column(Field("s", "STRING", True, 512), source.type), source, 2, "")
    assert without_negative_zeros(column) is column
