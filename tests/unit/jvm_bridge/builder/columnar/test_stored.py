from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from jvm_bridge.builder.columnar.stored import FixedColumn, ListColumn, TextColumn, store
from jvm_bridge.builder.planning import Field, Unsuitable, plan_column


def stored(
    data_type: str, source: Any, default: Any, *, single_value: bool = True, max_length: int = 512
) -> Any:
    plan = plan_column(Field("c", data_type, single_value, max_length), source.type)
    return store(plan, source, len(source), default)


def test_nulls_take_the_default() -> None:
    column = stored("INT", pa.array([1, None, 3], pa.int32()), -9)
    assert isinstance(column, FixedColumn)
    assert column.values.tolist() == [1, -9, 3]
    assert column.nulls is not None
    assert column.nulls.tolist() == [False, True, False]
    assert stored("INT", pa.array([1, 2], pa.int32()), -9).nulls is None


@pytest.mark.parametrize(
    ("data_type", "texts", "values"),
    [
        ("INT", ["-5", " 7\t", None], [-5, 7, 0]),
        ("LONG", ["9223372036854775807"], [2**63 - 1]),
        ("DOUBLE", ["1e5", ".5", "-2.", "4.9E-324", None], [1e5, 0.5, -2.0, 5e-324, 0]),
        ("BOOLEAN", ["TRUE", " true ", "1", "faLse", " 0", None], [1, 1, 1, 0, 0, 0]),
    ],
)
def test_texts_as_java_parses_them(data_type: str, texts: list[str], values: list[Any]) -> None:
    assert stored(data_type, pa.array(texts), 0).values.tolist() == values


@pytest.mark.parametrize(
    ("data_type", "text"),
    [
        *(("INT", text) for text in ("0x1F", "1.0", "", "-", "2147483648", "1 2", "\u0663", "\xa05")),
        *(("DOUBLE", text) for text in ("inf", "nan", "NaN", "1.5f", "0x1p3", "1e", "1e999")),
        *(("FLOAT", text) for text in ("1e39", "-1e39")),
        *(("BOOLEAN", text) for text in ("yes", "01", "", "t", "2")),
        *(("BYTES", text) for text in ("0", "0g", " 00")),
    ],
)
def test_texts_that_are_left_to_the_rows(data_type: str, text: str) -> None:
    with pytest.raises(Unsuitable, match="column c"):
        stored(data_type, pa.array(["1" * 2, text]), 0)


def test_hexadecimal_bytes() -> None:
    column = stored("BYTES", pa.array(["00fF", None, "", "a9"]).slice(0, 4), b"\x07")
    assert isinstance(column, TextColumn)
    assert column.values.to_pylist() == [b"\x00\xff", b"\x07", b"", b"\xa9"]
    assert stored("BYTES", pa.array(["xx", "0a", "0b"]).slice(1), b"").values.to_pylist() == [
        b"\x0a",
        b"\x0b",
    ]


def test_strings_are_truncated_as_by_pinot() -> None:
    source = pa.array(["a\0b", "äöüäö", None, "abc"])
    assert stored("STRING", source, "null", max_length=4).values.to_pylist() == [
        b"a",
        "äöüä".encode(),
        b"null",
        b"abc",
    ]
    with pytest.raises(Unsuitable, match="two UTF-16 units"):
        stored("STRING", pa.array(["😀😀😀"]), "", max_length=4)


@pytest.mark.parametrize(
    ("data_type", "value", "kind"),
    [("INT", 2**31, pa.int64()), ("FLOAT", 1e39, pa.float64()), ("TIMESTAMP", 2**63, pa.uint64())],
)
def test_numbers_that_do_not_fit(data_type: str, value: float, kind: pa.DataType) -> None:
    with pytest.raises(Unsuitable):
        stored(data_type, pa.array([value], kind), 0)


def test_points_in_time_are_floored_to_milliseconds() -> None:
    source = pa.array([-1, 1_500, None], pa.timestamp("us"))
    assert stored("TIMESTAMP", source, 0).values.tolist() == [-1, 1, 0]
    assert stored("TIMESTAMP", pa.array([2], pa.date32()), 0).values.tolist() == [2 * 86_400_000]


def test_dates_are_days_or_texts() -> None:
    days = pa.array([2, None, -1], pa.date32())
    for data_type in ("INT", "LONG", "DOUBLE"):
        assert stored(data_type, days, 7).values.tolist() == [2, 7, -1]
    texts = stored("STRING", days, "null").values.to_pylist()
    assert texts == [b"1970-01-03", b"null", b"1969-12-31"]


@pytest.mark.parametrize("data_type", ["INT", "LONG"])
def test_points_in_time_come_in_the_unit_of_a_time_column(data_type: str) -> None:
    seconds = Field("c", data_type, True, 512, step_ns=10**9)
    for unit in ("ms", "us", "ns"):
        source = pa.array([-1_500, 1_500, None], pa.timestamp("ms")).cast(pa.timestamp(unit, "UTC"))
        column = store(plan_column(seconds, source.type), source, 3, 0)
        assert isinstance(column, FixedColumn)
        assert column.values.tolist() == [-2, 1, 0]
    late = pa.array([2**31], pa.timestamp("s"))
    if data_type == "INT":
        with pytest.raises(Unsuitable):
            store(plan_column(seconds, late.type), late, 1, 0)


def test_lists_without_values_take_the_default() -> None:
    source = pa.array([[1, None, 2], [], None, [None], [3]], pa.list_(pa.int32()))
    column = stored("INT", source, -1, single_value=False)
    assert isinstance(column, ListColumn)
    assert column.offsets.tolist() == [0, 2, 3, 4, 5, 6]
    assert column.values.values.tolist() == [1, 2, -1, -1, -1, 3]
    assert column.nulls is not None
    assert column.nulls.tolist() == [False, True, True, True, False]


def test_lists_of_strings_and_single_values() -> None:
    column = stored("STRING", pa.array([["a"], None, ["b", "c"]]).slice(1), "x", single_value=False)
    assert column.values.values.to_pylist() == [b"x", b"b", b"c"]
    column = stored("STRING", pa.array(["a", None]), "x", single_value=False)
    assert column.values.values.to_pylist() == [b"a", b"x"]


def test_a_missing_column_is_null_throughout() -> None:
    plan = plan_column(Field("c", "DOUBLE", True, 512), None)
    column = store(plan, None, 3, 0.5)
    assert isinstance(column, FixedColumn)
    assert column.values.tolist() == [0.5] * 3
    assert np.all(column.nulls)
