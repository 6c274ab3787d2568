from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.models import EpochFormat
from controller_client.models.epoch_format import UNIT_NS
from jvm_bridge.time_conversion import TimeConversion, time_steps

LONGS = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:DAYS:EPOCH", EpochFormat(1, "DAYS")),
        ("15:MINUTES:EPOCH", EpochFormat(15, "MINUTES")),
        ("EPOCH|SECONDS", EpochFormat(1, "SECONDS")),
        ("EPOCH|HOURS|6", EpochFormat(6, "HOURS")),
        ("1:NANOSECONDS:EPOCH", EpochFormat(1, "NANOSECONDS")),
        *((text, None) for text in ("", None, "EPOCH", "0:DAYS:EPOCH", "1:WEEKS:EPOCH", "TIMESTAMP")),
        *(
            (text, None)
            for text in ("1:DAYS:SIMPLE_DATE_FORMAT:yyyy", "1:MILLISECONDS:TIMESTAMP", "-1:DAYS:EPOCH")
        ),
    ],
)
def test_formats(text: str | None, expected: EpochFormat | None) -> None:
    assert EpochFormat.parse(text) == expected


@given(
    numbers=st.lists(st.none() | LONGS, max_size=20),
    units=st.tuples(st.sampled_from(list(UNIT_NS.values())), st.sampled_from(list(UNIT_NS.values()))),
    size=st.integers(1, 50),
)
def test_conversions_of_numbers(numbers: list[int | None], units: tuple[int, int], size: int) -> None:
    from_ns, to_ns = units[0], units[1] * size
    conversion = TimeConversion(from_ns, to_ns)
    expected = [None if number is None else number * from_ns // to_ns for number in numbers]
    too_large = any(
        number is not None and not -(2**63) <= number * conversion.multiplier < 2**63 for number in numbers
    )
    source = pa.array(numbers, pa.int64())
    if too_large:
        with pytest.raises(pa.ArrowInvalid, match="overflow"):
            conversion.applied(source)
    else:
        assert conversion.applied(source).to_pylist() == expected


def spec(name: str, data_type: str, text: str | None = None) -> dict[str, Any]:
    return {"name": name, "dataType": data_type, **({"format": text} if text else {})}


def test_the_time_columns_of_a_schema() -> None:
    schema = {
        "dimensionFieldSpecs": [spec("seen", "TIMESTAMP"), spec("plain", "LONG"), spec("text", "STRING")],
        "metricFieldSpecs": [spec("count", "LONG")],
        "dateTimeFieldSpecs": [
            spec("ms", "LONG", "1:MILLISECONDS:EPOCH"),
            spec("day", "INT", "1:DAYS:EPOCH"),
            spec("quarter", "LONG", "EPOCH|MINUTES|15"),
            spec("stamp", "TIMESTAMP", "1:MILLISECONDS:TIMESTAMP"),
            spec("stamp as a number", "LONG", "TIMESTAMP"),
            spec("written", "STRING", "1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd"),
            spec("number as text", "STRING", "1:DAYS:EPOCH"),
        ],
        "timeFieldSpec": {
            "incomingGranularitySpec": {**spec("old", "INT"), "timeType": "HOURS", "timeUnitSize": 6}
        },
    }
    assert time_steps(schema) == {
        "seen": 1_000_000,
        "ms": 1_000_000,
        "day": 86_400 * 10**9,
        "quarter": 900 * 10**9,
        "stamp": 1_000_000,
        "stamp as a number": 1_000_000,
        "old": 21_600 * 10**9,
    }
    assert (
        time_steps({"timeFieldSpec": {"incomingGranularitySpec": {**spec("s", "LONG"), "timeFormat": "x"}}})
        == {}
    )
