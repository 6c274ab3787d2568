"""Names of time zones, also on a machine without a database of them."""

from __future__ import annotations

import zoneinfo

import pytest

from jvm_bridge import input_rules
from jvm_bridge.input_rules import time_zone


def test_without_a_database_any_plausible_name_is_left_to_the_builder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(key: str) -> zoneinfo.ZoneInfo:
        raise zoneinfo.ZoneInfoNotFoundError(key)

    monkeypatch.setattr(input_rules, "ZoneInfo", nowhere)
    monkeypatch.setattr(input_rules, "available_timezones", lambda: set[str]())
    assert time_zone("Europe/Berlin") == "Europe/Berlin"
    for name in ("", "+01:00", "Europe/Berlin\n2", "../x"):
        with pytest.raises(ValueError, match="expected a time zone"):
            time_zone(name)
