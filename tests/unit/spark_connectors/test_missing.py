"""A DataFrame that lacks columns of the table is refused, or what it lacks is stated."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import StructType

from controller_client.errors import ConfigError
from controller_client.models import Schema
from jvm_bridge.input_rules import MissingLimit
from spark_connectors.options import WriteOptions, parse_options
from spark_connectors.write.missing import check_missing, expected_columns
from spark_connectors.write.plan import WritePlan
from tests.unit.controller_client.scripted_server import ScriptedServer, answer

SCHEMA: dict[str, Any] = {
    "schemaName": "t",
    "dimensionFieldSpecs": [
        {"name": "id", "dataType": "LONG"},
        {"name": "city", "dataType": "STRING"},
        {"name": "upper", "dataType": "STRING"},
    ],
    "metricFieldSpecs": [{"name": "price", "dataType": "DOUBLE"}],
    "dateTimeFieldSpecs": [
        {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:DAYS"}
    ],
}
UPPER = {"transformConfigs": [{"columnName": "upper", "transformFunction": "upper(city)"}]}
CONFIG: dict[str, Any] = {
    "tableName": "t_OFFLINE",
    "tableType": "OFFLINE",
    "segmentsConfig": {},
    "ingestionConfig": UPPER,
}
ALL = frozenset({"id", "city", "upper", "price", "ts"})


@pytest.mark.parametrize(
    ("ingestion", "expected"),
    [
        (None, ALL),
        ({}, ALL),
        (UPPER, ALL - {"upper"}),
        ({"filterConfig": {"filterFunction": "id = 1"}}, ALL),
        ({"complexTypeConfig": {}}, frozenset()),
        ({"enrichmentConfigs": [{"enricherType": "generateColumn"}]}, frozenset()),
    ],
)
def test_what_a_dataframe_has_to_have(ingestion: dict[str, Any] | None, expected: frozenset[str]) -> None:
    config = {**CONFIG, "ingestionConfig": ingestion}
    assert expected_columns(config, Schema.from_json(SCHEMA)) == expected


def test_columns_of_the_servers_are_not_expected() -> None:
    own = {"name": "$validFrom", "dataType": "LONG"}
    schema = {**SCHEMA, "dimensionFieldSpecs": [*SCHEMA["dimensionFieldSpecs"], own]}
    assert expected_columns({}, Schema.from_json(schema)) == ALL


@given(st.sets(st.sampled_from(sorted(ALL))), st.integers(0, 6), st.booleans())
def test_it_is_refused_exactly_if_it_lacks_more_than_allowed(
    present: set[str], number: int, is_percent: bool
) -> None:
    missing = ALL - present
    limit = MissingLimit(number * 20 if is_percent else number, is_percent)
    if len(missing) <= number:
        assert check_missing(ALL, present, limit) == tuple(sorted(missing))
        return
    with pytest.raises(ConfigError) as caught:
        check_missing(ALL, present, limit)
    assert f"lacks {len(missing)} of the table's 5 columns" in caught.value.message
    assert all(name in caught.value.message for name in missing)
    assert "'maxMissingColumns'" in str(caught.value.remedy)


def _plan(frame: StructType, config: dict[str, Any] = CONFIG, **options: str) -> WritePlan:
    with ScriptedServer(answer(200, {"OFFLINE": config}), answer(200, SCHEMA)) as server:
        wanted = {"controller": server.url, "table": "t", "stagingUri": "file:///tmp/staging", **options}
        return WritePlan.make(parse_options(WriteOptions, wanted), frame, overwrite=False)


def _frame(**columns: str) -> StructType:
    frame = StructType()
    for name, kind in columns.items():
        frame.add(name, kind)
    return frame


MOST = _frame(id="long", ts="long", city="string")


def test_a_write_is_refused_before_the_job(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConfigError, match=r"lacks 1 of the table's 4 columns, .*: price"):
        _plan(MOST)
    with pytest.raises(ConfigError, match="lacks 1 of the table's 4 columns"):
        _plan(MOST, maxMissingColumns="10%")
    with caplog.at_level(logging.WARNING):
        for limit in ("1", "25%", "100%"):
            assert _plan(MOST, maxMissingColumns=limit).missing_columns() == ("price",)
    assert caplog.messages == ["t_OFFLINE: the DataFrame lacks price: null in its rows"] * 3
    assert _plan(_frame(id="long", ts="long", city="string", price="double")).missing_columns() == ()
    with pytest.raises(ConfigError, match="maxMissingColumns"):
        _plan(MOST, maxMissingColumns="many")


def test_the_time_column_is_never_null() -> None:
    timed = {**CONFIG, "segmentsConfig": {"timeColumnName": "ts"}}
    frame = _frame(id="long", city="string")
    with pytest.raises(ConfigError, match="ts: the table's time column is missing"):
        _plan(frame, timed, maxMissingColumns="100%")
    derived = {"transformConfigs": [{"columnName": "ts", "transformFunction": "now()"}]}
    made = _plan(frame, {**timed, "ingestionConfig": derived}, maxMissingColumns="100%")
    assert made.missing_columns() == ("price", "upper")
