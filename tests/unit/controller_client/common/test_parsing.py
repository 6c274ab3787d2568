"""Numbers that come from outside."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller_client.common.parsing import count, period_s, size_bytes, whole_number

LONG_MAX = 2**63 - 1


@given(st.integers(-(2**63), LONG_MAX))
def test_each_long_of_java_is_read(number: int) -> None:
    assert whole_number(str(number), signed=True) == number
    assert whole_number(str(number).encode(), signed=True) == number
    assert whole_number(str(number)) == (number if number >= 0 else None)


@given(st.text() | st.text("0123456789-+_. ²٣", max_size=25))
@example("9" * 5000)
@example("0" * 20)
def test_a_text_is_a_number_of_ascii_digits_that_java_can_read_or_nothing(text: str) -> None:
    found = whole_number(text, signed=True)
    digits = text.removeprefix("-")
    is_digits = bool(digits) and set(digits) <= set("0123456789")
    if found is None:
        assert not is_digits or len(digits) > 19 or not -(2**63) <= int(text) <= LONG_MAX
    else:
        assert is_digits
        assert int(text) == found


@given(st.binary(max_size=25))
def test_bytes_are_read_as_their_ascii_characters(data: bytes) -> None:
    found = whole_number(data)
    assert (found is None) == (not data.isdigit() or len(data) > 19 or int(data) > LONG_MAX)


@pytest.mark.parametrize(
    "text", [None, "", "-", " 1", "1 ", "1\n", "+1", "--1", "1_0", "1.0", "0x1", "²", "٣", str(LONG_MAX + 1)]
)
def test_anything_else_is_no_number(text: str | None) -> None:
    assert whole_number(text, signed=True) is None


@pytest.mark.parametrize("parse", [count, period_s, size_bytes])
@pytest.mark.parametrize("digits", ["²", "٣", "9" * 400, "9" * 5000])
@pytest.mark.parametrize("unit", ["", "s", "g"])
def test_an_option_with_other_digits_or_endless_ones_is_refused(
    parse: object, digits: str, unit: str
) -> None:
    assert callable(parse)
    with pytest.raises(ValueError, match="expected a"):
        parse(digits + unit)
