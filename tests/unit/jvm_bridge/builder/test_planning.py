from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from jvm_bridge.builder.csv_plan import CsvPlan, plan_csv
from jvm_bridge.builder.planning import (
    DECIMAL,
    MIXED,
    NESTED,
    Conversion,
    Field,
    Unsuitable,
    is_foreign,
    plan_column,
    plan_table,
)

SCHEMA: dict[str, Any] = {
    "dimensionFieldSpecs": [
        {"name": "s", "dataType": "STRING", "maxLength": 9},
        {"name": "mv", "dataType": "INT", "singleValueField": False},
        {"name": "$virtual", "dataType": "STRING", "virtualColumnProvider": "x.Y"},
    ],
    "metricFieldSpecs": [{"name": "m", "dataType": "BIG_DECIMAL"}],
    "dateTimeFieldSpecs": [
        {"name": "ts", "dataType": "LONG", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}
    ],
}


def field(data_type: str, *, single_value: bool = True) -> Field:
    return Field("c", data_type, single_value, 512)


def test_a_plain_table() -> None:
    config = {
        "segmentsConfig": {"timeColumnName": "ts"},
        "tableIndexConfig": {"nullHandlingEnabled": True},
        "ingestionConfig": {"batchIngestionConfig": {"x": 1}, "transformConfigs": [], "filterConfig": None},
    }
    plan = plan_table(config, SCHEMA)
    assert [each.name for each in plan.fields] == ["s", "mv", "m", "ts"]
    assert plan.fields[0] == Field("s", "STRING", True, 9)
    assert plan.fields[1] == Field("mv", "INT", False, 512)
    assert plan.with_nulls
    assert not plan_table({}, SCHEMA).with_nulls
    assert plan_table({}, {**SCHEMA, "enableColumnBasedNullHandling": "true"}).with_nulls


def test_additions_of_pinot_1_5_to_an_ingestion_config_are_accepted() -> None:
    added = {
        "batchIngestionConfig": {"segmentIngestionType": "APPEND", "consistentDataPush": False},
        "continueOnError": False,
        "ingestionExceptionLogRateLimitPerMin": 5,
        "maxConsecutiveRecordFetchFailuresAllowed": 0,
        "retryOnSegmentBuildPrecheckFailure": False,
        "rowTimeValueCheck": False,
        "segmentTimeValueCheck": True,
    }
    assert plan_table({"ingestionConfig": added}, SCHEMA).fields == plan_table({}, SCHEMA).fields


def test_computed_columns_are_not_source_columns() -> None:
    schema = {
        "dimensionFieldSpecs": [
            {"name": "a", "dataType": "INT", "transformFunction": "of the schema"},
            {"name": "b", "dataType": "INT", "transformFunction": "of the schema"},
            {"name": "c", "dataType": "INT"},
        ]
    }
    ingestion = {
        "transformConfigs": [
            {"columnName": "b", "transformFunction": "of the config"},
            {"columnName": "helper", "transformFunction": "c"},
        ],
        "filterConfig": {"filterFunction": "isNull(c)"},
    }
    plan = plan_table({"ingestionConfig": ingestion}, schema)
    assert [field.name for field in plan.fields] == ["c"]
    assert [field.name for field in plan.derived] == ["a", "b"]
    assert {each.column: each.function for each in plan.transforms} == {
        "a": "of the schema",
        "b": "of the config",
        "helper": "c",
    }
    assert plan.filter_function == "isNull(c)"
    assert plan.has_expressions
    assert not plan_table({}, SCHEMA).has_expressions


def _ingestion(**keys: Any) -> dict[str, Any]:
    return {"ingestionConfig": keys}


def _dimension(data_type: str, name: str = "a", **keys: Any) -> dict[str, Any]:
    return {"dimensionFieldSpecs": [{"name": name, "dataType": data_type, **keys}]}


_OLD_TIMES = {
    "incomingGranularitySpec": {"name": "a", "dataType": "LONG", "timeType": "SECONDS"},
    "outgoingGranularitySpec": {"name": "b", "dataType": "INT", "timeType": "DAYS"},
}


@pytest.mark.parametrize(
    ("config", "schema", "reason"),
    [
        (_ingestion(transformConfigs=[{"columnName": "a"}, {"columnName": "a"}]), {}, "two transforms"),
        (_ingestion(complexTypeConfig={"delimiter": "."}), {}, "complexTypeConfig"),
        (_ingestion(continueOnError=True), {}, "continueOnError"),
        (_ingestion(somethingOfTheFuture=1), {}, "somethingOfTheFuture"),
        ({"fieldConfigList": [{"name": "t", "indexTypes": ["TIMESTAMP"]}]}, {}, "timestamp index"),
        ({}, {"complexFieldSpecs": [{"name": "x"}]}, "complex"),
        ({}, _dimension("STRING", "a__KEYS"), "map"),
        ({}, _dimension("VECTOR"), "VECTOR"),
        ({}, _dimension("BOOLEAN", singleValueField=False), "multi-value BOOLEAN"),
        ({}, _dimension("STRING", maxLengthExceedStrategy="ERROR"), "maxLengthExceedStrategy"),
        ({}, _dimension("BYTES", maxLengthExceedStrategy="TRIM_LENGTH"), "maxLengthExceedStrategy"),
        ({}, {"timeFieldSpec": _OLD_TIMES}, "granularities"),
    ],
)
def test_tables_for_pinot(config: dict[str, Any], schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unsuitable, match=reason):
        plan_table(config, schema, of_pinot_1=False)


def test_multi_values_that_only_later_versions_write() -> None:
    fields = [{"name": kind, "dataType": kind, "singleValueField": False} for kind in ("BOOLEAN", "BYTES")]
    plan = plan_table({}, {"dimensionFieldSpecs": fields})
    assert [field.single_value for field in plan.fields] == [False, False]


def test_an_old_time_field_without_conversion() -> None:
    incoming = {"name": "day", "dataType": "INT", "timeType": "DAYS"}
    plan = plan_table({}, {"timeFieldSpec": {"incomingGranularitySpec": incoming}})
    assert plan.fields == (Field("day", "INT", True, 512, 86_400 * 10**9),)


def test_csv_options() -> None:
    assert plan_csv(None) == CsvPlan()
    # With any config, even an empty one, Pinot's reader trims spaces around values.
    assert plan_csv({}) == CsvPlan(no_edge_spaces=True)
    plan = plan_csv({"delimiter": "|", "multiValueDelimiterEnabled": "false", "header": 'a| "b"'})
    assert plan == CsvPlan("|", None, ("a", "b"), no_edge_spaces=True)


@pytest.mark.parametrize(
    "config",
    [
        {"delimiter": "||"},
        {"delimiter": '"'},
        {"delimiter": "§"},
        {"multiValueDelimiter": ""},
        {"escapeCharacter": "x"},
    ],
)
def test_csv_options_for_pinot(config: dict[str, str]) -> None:
    with pytest.raises(Unsuitable, match="the reader property"):
        plan_csv(config)


@pytest.mark.parametrize(
    ("data_type", "source", "conversion"),
    [
        ("INT", pa.int32(), Conversion.SAME),
        ("INT", pa.int64(), Conversion.NUMBER),
        ("LONG", pa.uint64(), Conversion.NUMBER),
        ("DOUBLE", pa.float64(), Conversion.SAME),
        ("FLOAT", pa.float64(), Conversion.NUMBER),
        ("INT", pa.string(), Conversion.TEXT_TO_NUMBER),
        ("STRING", pa.large_string(), Conversion.SAME),
        ("STRING", pa.int16(), Conversion.TO_TEXT),
        ("STRING", pa.bool_(), Conversion.TO_TEXT),
        ("STRING", pa.float64(), None),
        ("STRING", pa.binary(), None),
        ("BOOLEAN", pa.bool_(), Conversion.SAME),
        ("BOOLEAN", pa.int64(), Conversion.NUMBER_TO_BOOLEAN),
        ("BOOLEAN", pa.float64(), None),
        ("INT", pa.bool_(), None),
        ("TIMESTAMP", pa.int64(), Conversion.SAME),
        ("TIMESTAMP", pa.int32(), Conversion.NUMBER),
        ("TIMESTAMP", pa.timestamp("us"), Conversion.TO_STEPS),
        ("TIMESTAMP", pa.string(), Conversion.LATE),
        ("LONG", pa.timestamp("us"), Conversion.TO_STEPS),
        ("STRING", pa.timestamp("us"), None),
        ("LONG", pa.date32(), Conversion.NUMBER),
        ("INT", pa.date32(), Conversion.NUMBER),
        ("STRING", pa.date32(), Conversion.TO_TEXT),
        ("TIMESTAMP", pa.date32(), Conversion.TO_STEPS),
        ("BOOLEAN", pa.date32(), None),
        ("LONG", pa.time32("ms"), None),
        ("BYTES", pa.binary(), Conversion.SAME),
        ("BYTES", pa.string(), Conversion.HEX_TO_BYTES),
        ("JSON", pa.string(), Conversion.LATE),
        ("JSON", NESTED, Conversion.LATE),
        ("STRING", NESTED, Conversion.SAME),
        ("INT", NESTED, None),
        ("JSON", MIXED, None),
        ("BIG_DECIMAL", DECIMAL, Conversion.LATE),
        ("DOUBLE", DECIMAL, Conversion.TEXT_TO_NUMBER),
        ("STRING", DECIMAL, Conversion.SAME),
        ("BOOLEAN", DECIMAL, None),
        ("BIG_DECIMAL", pa.float64(), None),
        ("STRING", pa.null(), Conversion.MISSING),
        ("STRING", None, Conversion.MISSING),
    ],
)
def test_columns(data_type: str, source: pa.DataType | None, conversion: Conversion | None) -> None:
    if conversion is None:
        with pytest.raises(Unsuitable, match="column c is"):
            plan_column(field(data_type), source)
    else:
        assert plan_column(field(data_type), source).conversion is conversion


def test_an_int_accepts_times_only_in_a_time_unit() -> None:
    days = Field("c", "INT", True, 512, step_ns=86_400 * 10**9)
    assert plan_column(days, pa.timestamp("us")).conversion is Conversion.TO_STEPS
    assert [each.step_ns for each in plan_table({}, SCHEMA).fields] == [None, None, None, 86_400 * 10**9]


def test_lists() -> None:
    assert plan_column(field("INT", single_value=False), pa.list_(pa.int64())).conversion is Conversion.NUMBER
    assert plan_column(field("INT", single_value=False), pa.int32()).conversion is Conversion.SAME
    with pytest.raises(Unsuitable, match="has lists"):
        plan_column(field("INT"), pa.list_(pa.int32()))


def test_late_columns() -> None:
    # A BigDecimal cannot be in the row file, so even a column of nulls goes through Pinot's transformer.
    assert plan_column(field("BIG_DECIMAL"), None).is_late
    assert plan_column(field("TIMESTAMP"), pa.string()).is_late
    assert not plan_column(field("TIMESTAMP"), None).is_late


def test_a_foreign_source() -> None:
    assert is_foreign([field("INT")], ["x", "y"])
    assert not is_foreign([field("INT")], ["x", "c"])
    assert not is_foreign([field("INT")], [])
