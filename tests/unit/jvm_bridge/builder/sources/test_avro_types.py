from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from jvm_bridge.builder.planning import DECIMAL, MIXED, NESTED
from jvm_bridge.builder.sources.avro_types import AvroColumn, AvroType, planned_column
from jvm_bridge.time_conversion import TimeConversion

MICROS = AvroType("LONG", "timestamp-micros")
SECONDS_OF_MICROS = TimeConversion(10**3, 10**9)


@pytest.mark.parametrize("applies_logical", [False, True])
@pytest.mark.parametrize(
    ("kind", "arrow"),
    [
        ("NULL", pa.null()),
        ("BOOLEAN", pa.bool_()),
        ("INT", pa.int32()),
        ("LONG", pa.int64()),
        ("FLOAT", pa.float32()),
        ("DOUBLE", pa.float64()),
        ("STRING", pa.string()),
        ("ENUM", pa.string()),
        ("BYTES", pa.binary()),
        ("DECIMAL", DECIMAL),
        ("MIXED", MIXED),
        ("NESTED", NESTED),
    ],
)
def test_types_without_conversion(kind: str, arrow: pa.DataType, applies_logical: bool) -> None:
    for logical in (None, "one's own", "uuid"):
        column = planned_column(AvroType(kind, logical), None, applies_logical=applies_logical)
        assert column == AvroColumn(arrow, arrow)
    lists = planned_column(AvroType(kind, is_array=True), None, applies_logical=applies_logical)
    assert lists == AvroColumn(pa.list_(arrow), pa.large_list(arrow))


def test_times_as_they_are_stored() -> None:
    column = planned_column(MICROS, None, applies_logical=False)
    assert column == AvroColumn(pa.int64(), pa.int64())
    numbers = pa.array([-1, None, 1_500_000])
    assert column.converted(numbers) == numbers


def test_times_in_milliseconds() -> None:
    column = planned_column(MICROS, None, applies_logical=True)
    assert column.planned == pa.timestamp("ms")
    numbers = pa.array([-1, None, 1_500_999])
    assert column.converted(numbers) == pa.array([-1, None, 1_500], pa.timestamp("ms"))


def test_days_and_times_of_day_as_texts() -> None:
    days = planned_column(AvroType("INT", "date"), None, applies_logical=True)
    assert days.planned == pa.string()
    assert days.converted(pa.array([0, None, -1], pa.int32())).to_pylist() == [
        "1970-01-01",
        None,
        "1969-12-31",
    ]
    times = planned_column(AvroType("INT", "time-millis"), None, applies_logical=True)
    assert times.converted(pa.array([0, None, 5_000, 86_399_999], pa.int32())).to_pylist() == [
        "00:00", None, "00:00:05", "23:59:59.999",
    ]  # fmt: skip
    micros = planned_column(AvroType("LONG", "time-micros"), None, applies_logical=True)
    assert micros.converted(pa.array([1, 60_000_000])).to_pylist() == ["00:00:00.000001", "00:01"]


@pytest.mark.parametrize(
    ("kind", "logical", "planned", "number", "text"),
    [
        ("INT", "date", pa.date32(), -1, "1969-12-31"),
        ("INT", "time-millis", pa.time32("ms"), 86_399_999, "23:59:59.999"),
        ("LONG", "time-micros", pa.time64("us"), 1, "00:00:00.000001"),
        ("LONG", "timestamp-millis", pa.timestamp("ms"), -1, "1969-12-31 23:59:59.999"),
        ("LONG", "timestamp-micros", pa.timestamp("us"), 1, "1970-01-01 00:00:00.000001"),
        ("LONG", "timestamp-nanos", pa.timestamp("ns"), 1, "1970-01-01 00:00:00.000000001"),
    ],
)
def test_times_that_are_kept(kind: str, logical: str, planned: pa.DataType, number: int, text: str) -> None:
    column = planned_column(AvroType(kind, logical), None, applies_logical=False, keeps_times=True)
    assert column.planned == planned
    assert column.converted(pa.array([number, None], column.stored)).cast(pa.string()).to_pylist() == [
        text,
        None,
    ]
    found = AvroType(kind, logical, is_array=True)
    lists = planned_column(found, None, applies_logical=False, keeps_times=True)
    assert lists.converted(pa.array([[number], None], lists.stored)).type == lists.planned


@pytest.mark.parametrize("applies_logical", [False, True])
def test_times_of_a_time_column_come_in_its_unit(applies_logical: bool) -> None:
    numbers = pa.array([-1, None, 1_500_999])
    seconds = planned_column(MICROS, SECONDS_OF_MICROS, applies_logical=applies_logical)
    assert seconds.planned == pa.int64()
    assert seconds.converted(numbers) == pa.array([-1, None, 1])
    same = planned_column(MICROS, TimeConversion(10**3, 10**3), applies_logical=applies_logical)
    assert same.converted(numbers) == numbers
    days = TimeConversion(86_400 * 10**9, 10**9)
    column = planned_column(AvroType("INT", "date"), days, applies_logical=applies_logical)
    assert (column.stored, column.planned) == (pa.int32(), pa.int64())
    assert column.converted(pa.array([1, None], pa.int32())) == pa.array([86_400, None])


def test_lists_of_times_keep_their_nulls() -> None:
    found = AvroType("LONG", "timestamp-micros", is_array=True)
    column = planned_column(found, SECONDS_OF_MICROS, applies_logical=False)
    lists: list[Any] = [[1_000_000, None], None, [], [-1]]
    assert column.converted(pa.array(lists, column.stored)).to_pylist() == [[1, None], None, [], [-1]]
