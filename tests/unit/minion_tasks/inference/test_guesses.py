"""What columns of files become: by kind, what was guessed and what a person would have said."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minion_tasks.inference.guesses import ColumnGuess, guess_column
from minion_tasks.inference.samples import ColumnSample


def guess(
    values: list[Any], name: str = "c", *, is_text: bool = False, declared: str | None = None
) -> ColumnGuess:
    present = [value for value in values if value is not None]
    return guess_column(
        ColumnSample(name, present, nulls=len(values) - len(present), declared=declared), is_text=is_text
    )


@pytest.mark.parametrize(
    ("values", "data_type", "reason"),
    [
        (["1", "-25"], "INT", "whole numbers from -25 to 1"),
        (["1", "600000000"], "LONG", "whole numbers from 1 to 600000000"),
        (["1", "9223372036854775807"], "LONG", ""),
        (["1", "9223372036854775808"], "STRING", "more digits than LONG has"),
        (["007", "12"], "STRING", "zeros in front, such as 007"),
        (["0", "12"], "INT", ""),
        (["491511234567890123456"], "STRING", "more digits"),
        (["1.5", "2", "-.5", "1e10"], "DOUBLE", "with a fraction, such as 1.5"),
        (["0.1234567890123456789"], "BIG_DECIMAL", "of up to 19 digits"),
        (["10.357019999999999", "-80.61958329999999"], "DOUBLE", "with a fraction"),
        (["10.357019999999999", "0.12345678901234568"], "DOUBLE", "with a fraction"),
        (["10.357019999999999", "0.1234567890123456"], "DOUBLE", "with a fraction"),
        (["10.357019999999999", "10.35701999999999999"], "BIG_DECIMAL", "of up to 19 digits"),
        (["1.234,50", "3,10"], "STRING", "decimal comma, such as 1.234,50"),
        (["true", "FALSE"], "BOOLEAN", ""),
        (["yes", "no"], "STRING", "texts, such as yes"),
        (['{"a": 1}', "[]"], "JSON", "objects or lists of JSON"),
        (['{"a": 1}', "[x"], "STRING", ""),
        ([None, None], "STRING", "none of its 2 rows has a value"),
        (["NaN", "1.5"], "STRING", ""),
    ],
)
def test_texts_of_csv(values: list[Any], data_type: str, reason: str) -> None:
    found = guess(values, is_text=True)
    assert found.data_type == data_type
    assert reason in found.reason
    assert found.time is None


@pytest.mark.parametrize(
    ("values", "data_type", "text", "granularity"),
    [
        (["2026-01-03 08:15:00", "2026-01-03T08:15"], "TIMESTAMP", "1:MILLISECONDS:EPOCH", "1:MILLISECONDS"),
        (["2026-01-03T08:15:00.123+01:00"], "TIMESTAMP", "1:MILLISECONDS:EPOCH", "1:MILLISECONDS"),
        (["2026-01-03"], "STRING", "1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd", "1:DAYS"),
        (["03.01.2026", "31.01.2026"], "STRING", "1:DAYS:SIMPLE_DATE_FORMAT:dd.MM.yyyy", "1:DAYS"),
        (["31/01/2026", "01/02/2026"], "STRING", "1:DAYS:SIMPLE_DATE_FORMAT:dd/MM/yyyy", "1:DAYS"),
        (["01/31/2026", "01/02/2026"], "STRING", "1:DAYS:SIMPLE_DATE_FORMAT:MM/dd/yyyy", "1:DAYS"),
        (["03-Jan-2026"], "STRING", "1:DAYS:SIMPLE_DATE_FORMAT:dd-MMM-yyyy", "1:DAYS"),
        (["03.01.2026 08:15"], "STRING", "1:MINUTES:SIMPLE_DATE_FORMAT:dd.MM.yyyy HH:mm", "1:MINUTES"),
    ],
)
def test_points_in_time_as_texts(values: list[Any], data_type: str, text: str, granularity: str) -> None:
    for is_text in (True, False):
        found = guess(values, is_text=is_text)
        assert found.time is not None
        assert (found.data_type, found.time.text, found.time.granularity) == (data_type, text, granularity)


def test_days_that_could_be_months_are_said() -> None:
    found = guess(["03/01/2026", "04/02/2026"], is_text=True)
    assert found.time is not None
    assert found.time.rivals == ("MM/dd/yyyy",)
    assert "MM/dd/yyyy would fit as well" in found.reason


@pytest.mark.parametrize(
    "value",
    [
        "2026-02-30",
        "2026-02-30 08:15:00",
        "2026-01-03 25:00",
        "1.1.2026",
        "2026-01-03 08:15:00.123456",
        "0001-01-01",
    ],
)
def test_what_a_schema_could_not_read_is_no_point_in_time(value: str) -> None:
    assert guess([value], is_text=True).time is None


@pytest.mark.parametrize(
    ("name", "value", "data_type", "text"),
    [
        ("ts", 1_767_225_600, "LONG", "1:SECONDS:EPOCH"),
        ("created_at", 1_767_225_600_000, "TIMESTAMP", "1:MILLISECONDS:EPOCH"),
        ("eventTime", 1_767_225_600_000_000, "LONG", "1:MICROSECONDS:EPOCH"),
        ("date", 20_260_103, "STRING", "1:DAYS:SIMPLE_DATE_FORMAT:yyyyMMdd"),
        ("views", 1_767_225_600_000, "LONG", None),
        ("date", 7, "INT", None),
    ],
)
def test_numbers_are_points_in_time_by_the_names_of_their_columns(
    name: str, value: int, data_type: str, text: str | None
) -> None:
    found = guess([str(value)], name, is_text=True)
    assert found.data_type == data_type
    assert (found.time and found.time.text) == text


@pytest.mark.parametrize(
    ("values", "declared", "data_type", "has_lists"),
    [
        ([1, 2], "int64", "LONG", False),
        ([1, 2], "int32", "INT", False),
        ([1, 2], "uint32", "LONG", False),
        ([2**64 - 1], "uint64", "BIG_DECIMAL", False),
        ([1], "uint64", "LONG", False),
        ([2**60 + 1, Decimal("0.5")], None, "BIG_DECIMAL", False),
        ([1, 2], None, "INT", False),
        ([1, 2.5], None, "DOUBLE", False),
        ([1.5], "float", "FLOAT", False),
        ([Decimal("1.5"), 1], None, "DOUBLE", False),
        ([Decimal("1.23456789012345678")], None, "BIG_DECIMAL", False),
        ([Decimal("1.50")], "decimal128(9, 2)", "BIG_DECIMAL", False),
        ([True, False], None, "BOOLEAN", False),
        ([b"\x00"], "binary", "BYTES", False),
        ([time(1, 2)], "time32[ms]", "STRING", False),
        (["a", 1], None, "STRING", False),
        ([{"a": 1}, None], None, "JSON", False),
        ([["a"], ["b", "c"], []], None, "STRING", True),
        ([[1], [2**40]], None, "LONG", True),
        ([[1.5]], None, "DOUBLE", True),
        ([[]], None, "JSON", False),
        ([["a", None]], None, "JSON", False),
        ([[["a"]]], None, "JSON", False),
        ([[{"a": 1}]], None, "JSON", False),
        ([["a"], "b"], None, "JSON", False),
    ],
)
def test_values_with_types(values: list[Any], declared: str | None, data_type: str, has_lists: bool) -> None:
    found = guess(values, declared=declared)
    assert (found.data_type, found.has_lists) == (data_type, has_lists)


def test_points_in_time_of_files_with_types() -> None:
    for values in ([date(2026, 1, 3)], [datetime(2026, 1, 3, 8, 15)]):  # noqa: DTZ001 - as Parquet gives them
        found = guess(values, declared="timestamp[us]")
        assert found.data_type == "TIMESTAMP"
        assert found.time is not None
        assert "cut off" not in found.reason
    finer = guess([datetime(2026, 1, 3, 8, 15, 0, 123_456)], declared="timestamp[us]")  # noqa: DTZ001
    assert "finer than milliseconds is cut off" in finer.reason


@pytest.mark.parametrize(
    ("name", "values", "is_metric"),
    [
        ("price", ["1.5"], True),
        ("distance", ["15"], True),
        ("ride_id", ["15"], False),
        ("zip", ["53111"], False),
        ("year", ["2026"], False),
        ("minutes", ["12"], True),
        ("city", ["Bonn"], False),
        ("ts", ["1767225600"], False),
    ],
)
def test_numbers_to_add_up_are_metrics_and_those_that_name_something_are_not(
    name: str, values: list[Any], is_metric: bool
) -> None:
    assert guess(values, name, is_text=True).is_metric == is_metric


_CAN_BE_READ: Mapping[str, Callable[[str], object]] = {
    "INT": lambda text: abs(int(text)) < 2**31 or pytest.fail(text),
    "LONG": lambda text: abs(int(text)) < 2**63 or pytest.fail(text),
    "DOUBLE": float,
    "BIG_DECIMAL": Decimal,
    "BOOLEAN": lambda text: {"true": True, "false": False}[text.lower()],
    "TIMESTAMP": lambda text: int(text) if text.isdecimal() else datetime.fromisoformat(text),
    "JSON": json.loads,
    "STRING": str,
}
_TEXTS = st.one_of(
    st.integers(-(2**66), 2**66).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.booleans().map(str),
    st.datetimes(datetime(1971, 1, 1), datetime(2070, 1, 1)).map(str),  # noqa: DTZ001 - as files have them
    st.dates().map(str),
    st.sampled_from(["007", "1,5", "[1]", "{}", "x", "1_0", "\u0661", "1e5", "+1", "0"]),
)


@example(values=["946684800000"])  # milliseconds
@given(values=st.one_of(st.lists(_TEXTS, min_size=1, max_size=5), st.lists(_TEXTS, min_size=1, max_size=1)))
def test_the_type_of_texts_is_one_that_can_have_all_of_them(values: list[str]) -> None:
    found = guess(values, "ts", is_text=True)
    for value in values:
        _CAN_BE_READ[found.data_type](value)


def test_times_of_other_centuries_are_times_but_not_those_of_segments() -> None:
    born = guess(["1950-05-01 00:00:00"], is_text=True)
    assert (born.data_type, born.time and born.time.is_usual) == ("TIMESTAMP", False)
    assert guess([date(1950, 5, 1)]).time == born.time


def test_digits_in_json_are_dates_by_the_names_of_their_columns_as_in_csv() -> None:
    for is_text in (True, False):
        by_name = guess(["20260103"], "date", is_text=is_text)
        assert by_name.time is not None
        assert by_name.time.text == "1:DAYS:SIMPLE_DATE_FORMAT:yyyyMMdd"
        assert guess(["20260103"], "code", is_text=is_text).time is None


@pytest.mark.parametrize(
    ("name", "values"), [("password", ["hush"]), ("api_key", ["007", "12"]), ("c", ["https://me:hush@host/"])]
)
def test_no_secret_is_shown_as_a_sample(name: str, values: list[Any]) -> None:
    reason = guess(values, name, is_text=True).reason
    assert "***" in reason
    assert not any(value in reason for value in values)
