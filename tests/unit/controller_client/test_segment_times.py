"""Time columns of realtime tables whose segments would get wrong times."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from controller_client.models.epoch_format import UNIT_NS
from controller_client.models.segment import check_segment_times, wrong_times


def table(table_type: str = "REALTIME", time_column: str | None = "ts") -> TableConfig:
    segments = {"timeColumnName": time_column} if time_column else {}
    return TableConfig.from_json({"tableName": "t", "tableType": table_type, "segmentsConfig": segments})


def schema(time_format: str, name: str = "ts") -> Schema:
    field = {"name": name, "dataType": "LONG", "format": time_format, "granularity": "1:DAYS"}
    return Schema.from_json({"schemaName": "t", "dateTimeFieldSpecs": [field]})


@given(
    st.integers(1, 10_000),
    st.sampled_from(sorted(UNIT_NS)),
    st.sampled_from(["{size}:{unit}:EPOCH", "EPOCH|{unit}|{size}"]),
    st.sampled_from(["REALTIME", "OFFLINE"]),
)
def test_only_single_units_are_right_in_realtime_tables(
    size: int, unit: str, written: str, table_type: str
) -> None:
    reason = wrong_times(table(table_type), schema(written.format(size=size, unit=unit)))
    if size == 1 or table_type == "OFFLINE":
        assert reason is None
    else:
        assert reason is not None
        assert f"steps of {size} {unit}" in reason


def test_other_formats_and_columns_do_not_count() -> None:
    for time_format in ("1:DAYS:SIMPLE_DATE_FORMAT:yyyyMMdd", "TIMESTAMP", "EPOCH|MINUTES", "EPOCH"):
        assert wrong_times(table(), schema(time_format)) is None
    assert wrong_times(table(time_column=None), schema("5:MINUTES:EPOCH")) is None
    assert wrong_times(table(), schema("5:MINUTES:EPOCH", name="other")) is None


@pytest.mark.parametrize("outgoing", [False, True])
def test_the_old_kind_of_time_column(outgoing: bool) -> None:
    incoming = {"name": "day", "dataType": "INT", "timeType": "DAYS"}
    spec: dict[str, Any] = {"incomingGranularitySpec": {**incoming, "timeUnitSize": 7}}
    if outgoing:
        spec["outgoingGranularitySpec"] = {"name": "ts", "dataType": "INT", "timeType": "DAYS"}
    old = Schema.from_json({"schemaName": "t", "timeFieldSpec": spec})
    name = "ts" if outgoing else "day"
    found = old.field(name)
    assert found is not None
    assert found.format == ("1:DAYS:EPOCH" if outgoing else "7:DAYS:EPOCH")
    assert (wrong_times(table(time_column=name), old) is None) is outgoing


def test_the_error_names_the_table_and_a_way() -> None:
    with pytest.raises(ConfigError, match=r"(?s)t_REALTIME.*steps of 5 MINUTES.*a transform"):
        check_segment_times(table(), schema("5:MINUTES:EPOCH"))
