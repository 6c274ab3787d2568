from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from jvm_bridge.builder.stored import FixedColumn, ListColumn, TextColumn
from jvm_bridge.builder.summary import ColumnSummary


def numbers(*batches: list[Any], dtype: str = "<f8") -> ColumnSummary:
    summary = ColumnSummary(is_text=False)
    for batch in batches:
        summary.add(FixedColumn(np.array(batch, dtype=dtype), None))
    return summary


def texts(*batches: list[str]) -> ColumnSummary:
    summary = ColumnSummary(is_text=True)
    for batch in batches:
        summary.add(TextColumn(pa.array([text.encode() for text in batch], pa.large_binary()), None))
    return summary


@pytest.mark.parametrize(
    ("batches", "is_sorted"),
    [
        ([[1, 1, 2], [2, 3]], True),
        ([[1, 2], [1]], False),
        ([[2, 1]], False),
        ([[0.0, -0.0]], True),  # Java's >= does not tell zeros apart
        ([[math.nan, math.nan]], False),
        ([[1.0], [math.nan]], False),
        ([[-math.inf, 0.0]], True),
    ],
)
def test_order_of_numbers(batches: list[list[float]], is_sorted: bool) -> None:
    assert numbers(*batches).is_sorted is is_sorted


def test_distinct_numbers_in_javas_order() -> None:
    summary = numbers([math.nan, 1.0, -0.0, 0.0], [-1.0, math.inf, -math.inf, -math.nan, 1.0])
    assert summary.entries == 9
    values = summary.distinct().values
    assert [repr(float(value)) for value in values] == ["-inf", "-1.0", "-0.0", "0.0", "1.0", "inf", "nan"]
    assert numbers([3, 1], [2, 3], dtype="<i4").distinct().values.tolist() == [1, 2, 3]


def test_texts() -> None:
    summary = texts(["b", "a"], ["ü", "b"])
    assert (summary.is_sorted, summary.is_certain, summary.entries) == (False, True, 4)
    distinct = summary.distinct()
    assert isinstance(distinct, TextColumn)
    assert distinct.values.to_pylist() == [b"a", b"b", "ü".encode()]
    assert texts(["a"], ["a", "b"], []).is_sorted
    assert not texts(["b"], ["a"]).is_sorted
    # UTF-8 and UTF-16 sort U+FFFD and U+1F600 in another order.
    assert not texts(["\ufffd", "😀"]).is_certain


def test_lists() -> None:
    summary = ColumnSummary(is_text=True)
    values = TextColumn(pa.array([b"a", b"bcd", b"e"], pa.large_binary()), None)
    summary.add(ListColumn(values, np.array([0, 2, 3]), None))
    assert (summary.entries, summary.longest_list, summary.longest_list_bytes) == (3, 2, 4)
    assert not summary.is_sorted
