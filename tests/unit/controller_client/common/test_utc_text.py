from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.text import utc_text


def test_a_time_is_shown_to_the_second() -> None:
    assert utc_text(1_700_000_000_999) == "2023-11-14 22:13:20Z"
    assert utc_text(0, "T") == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize("epoch_ms", [float("nan"), float("inf"), 1e300, 10**400, -(10**20)])
def test_what_no_calendar_has_is_a_dash(epoch_ms: float) -> None:
    assert utc_text(epoch_ms) == "-"


@given(st.integers() | st.floats())
def test_any_number_has_a_text(epoch_ms: float) -> None:
    assert utc_text(epoch_ms) == "-" or utc_text(epoch_ms).endswith("Z")
