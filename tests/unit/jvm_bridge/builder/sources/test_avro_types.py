from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.sources.avro_types import AvroColumn, AvroType, planned_column
from jvm_bridge.time_conversion import TimeConversion

MILLIS, MICROS = AvroType("LONG", "timestamp-millis"), AvroType("LONG", "timestamp-micros")
SECONDS_OF_MICROS = TimeConversion(10**3, 10**9)


def planned(
    found: AvroType, conversion: TimeConversion | None = None, *, applies_logical: bool | None
) -> AvroColumn:
    return planned_column("c", found, conversion, applies_logical=applies_logical)


@pytest.mark.parametrize("applies_logical", [False, True, None])
@pytest.mark.parametrize(
    ("kind", "arrow"),
    [
        ("BOOLEAN", pa.bool_()),
        ("INT", pa.int32()),
        ("LONG", pa.int64()),
        ("FLOAT", pa.float32()),
        ("DOUBLE", pa.float64()),
        ("STRING", pa.string()),
        ("ENUM", pa.string()),
        ("BYTES", pa.binary()),
    ],
)
def test_types_without_conversion(kind: str, arrow: pa.DataType, applies_logical: bool | None) -> None:
    assert planned(AvroType(kind), applies_logical=applies_logical) == AvroColumn(arrow, arrow)
    assert planned(AvroType(kind, "one's own"), applies_logical=applies_logical) == AvroColumn(arrow, arrow)
    lists = pa.list_(arrow)
    assert planned(AvroType(kind, is_array=True), applies_logical=applies_logical) == AvroColumn(lists, lists)


@pytest.mark.parametrize("applies_logical", [False, True, None])
@pytest.mark.parametrize("kind", ["NULL", "FIXED", "MAP", "RECORD", "UNION", "ARRAY"])
def test_types_that_are_left_to_pinot(kind: str, applies_logical: bool | None) -> None:
    with pytest.raises(Unsuitable, match=f"^column c is stored as {kind.lower()}$"):
        planned(AvroType(kind), applies_logical=applies_logical)
    with pytest.raises(Unsuitable, match=f"^column c is stored as array of {kind.lower()}$"):
        planned(AvroType(kind, is_array=True), applies_logical=applies_logical)
    with pytest.raises(Unsuitable, match="stored as bytes decimal"):
        planned(AvroType("BYTES", "decimal"), applies_logical=applies_logical)


@pytest.mark.parametrize(
    "found",
    [
        AvroType("INT", "date"),
        AvroType("INT", "time-millis"),
        AvroType("LONG", "time-micros"),
        AvroType("STRING", "uuid"),
        AvroType("LONG", "timestamp-micros", is_array=True),
    ],
)
def test_types_that_pinot_converts_to_text(found: AvroType) -> None:
    assert planned(found, applies_logical=False).millis_of is None
    for applies_logical in (True, None):
        with pytest.raises(Unsuitable, match="column c is stored as"):
            planned(found, applies_logical=applies_logical)


def test_times_as_they_are_stored() -> None:
    column = planned(MICROS, applies_logical=False)
    assert column == AvroColumn(pa.int64(), pa.int64())
    numbers = pa.array([-1, None, 1_500_000])
    assert column.converted(numbers) == numbers
    of_time_column = planned(MICROS, SECONDS_OF_MICROS, applies_logical=False)
    assert of_time_column.converted(numbers) == pa.array([-1, None, 1])
    with pytest.raises(Unsuitable, match="no Avro reader to compare with"):
        planned(MICROS, applies_logical=None)


def test_times_that_pinot_returns_in_milliseconds() -> None:
    column = planned(MICROS, applies_logical=True)
    assert column.planned == pa.timestamp("ms")
    numbers = pa.array([-1, None, 1_500_999])
    assert column.converted(numbers) == pa.array([-1, None, 1_500], pa.timestamp("ms"))
    # Fractions of a millisecond are lost, even for a column of microseconds.
    of_micros = planned(MICROS, TimeConversion(10**3, 10**3), applies_logical=True)
    assert of_micros.planned == pa.int64()
    assert of_micros.converted(numbers) == pa.array([-1_000, None, 1_500_000])
    assert planned(MICROS, SECONDS_OF_MICROS, applies_logical=True).converted(numbers) == pa.array(
        [-1, None, 1]
    )
    with pytest.raises(Unsuitable, match="milliseconds since 1970"):
        planned(MILLIS, applies_logical=True).converted(pa.array([5, -(2**63) + 7]))
    with pytest.raises(pa.ArrowInvalid, match="overflow"):
        of_micros.converted(pa.array([-(2**63)]))


def test_days_of_a_time_column() -> None:
    days = TimeConversion(86_400 * 10**9, 10**9)
    for applies_logical in (True, False):
        column = planned(AvroType("INT", "date"), days, applies_logical=applies_logical)
        assert (column.stored, column.planned) == (pa.int32(), pa.int64())
        assert column.converted(pa.array([1, None], pa.int32())) == pa.array([86_400, None])


def test_lists_of_times_keep_their_nulls() -> None:
    column = planned(
        AvroType("LONG", "timestamp-micros", is_array=True), SECONDS_OF_MICROS, applies_logical=False
    )
    lists: list[Any] = [[1_000_000, None], None, [], [-1]]
    assert column.converted(pa.array(lists, column.stored)).to_pylist() == [[1, None], None, [], [-1]]


def test_texts_that_are_not_utf8() -> None:
    texts = pa.array([b"a", b"\xff"]).view(pa.string())
    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        planned(AvroType("STRING"), applies_logical=False).converted(texts)
    lists = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), texts)
    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        planned(AvroType("STRING", is_array=True), applies_logical=False).converted(lists)
