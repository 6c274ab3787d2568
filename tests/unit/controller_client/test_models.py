"""Pinot's documents survive reading, changing and writing, whatever a newer version adds to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName
from controller_client.errors import ConfigError
from controller_client.models import FieldRole, Schema, SegmentMetadata, TableConfig, retention_ms

NAMES = st.text("abcxyzABC019_$.é", min_size=1, max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES
VALUES = (
    SCALARS
    | st.lists(SCALARS, max_size=3)
    | st.dictionaries(NAMES, st.lists(SCALARS, max_size=2), max_size=2)
)
# Fields of a newer Pinot: any names except those typed here.
UNKNOWN = st.dictionaries(NAMES.map(lambda name: f"new.{name}"), VALUES, max_size=4)
TASK_CONFIGS = st.dictionaries(NAMES, st.dictionaries(NAMES, st.text(max_size=8), max_size=3), max_size=3)


@st.composite
def table_configs(draw: st.DrawFn) -> dict[str, Any]:
    document: dict[str, Any] = {
        "tableName": draw(NAMES),
        "tableType": draw(st.sampled_from(["OFFLINE", "REALTIME"])),
        "segmentsConfig": {"replication": draw(st.sampled_from(["1", 2])), **draw(UNKNOWN)},
        "tableIndexConfig": draw(UNKNOWN),
        **draw(UNKNOWN),
    }
    if draw(st.booleans()):
        document["task"] = draw(st.none() | TASK_CONFIGS.map(lambda by_type: {"taskTypeConfigsMap": by_type}))
    if document.get("task"):
        document["task"].update(draw(UNKNOWN))
    return document


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    def spec() -> dict[str, Any]:
        document: dict[str, Any] = {
            "name": draw(NAMES),
            "dataType": draw(st.sampled_from(["INT", "STRING", "MAP"])),
        }
        if draw(st.booleans()):
            document["singleValueField"] = draw(st.booleans())
        if draw(st.booleans()):
            document["defaultNullValue"] = draw(VALUES)
        return {**document, **draw(UNKNOWN)}

    lists = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")
    return {
        "schemaName": draw(NAMES),
        **{name: [spec() for _ in range(draw(st.integers(0, 3)))] for name in lists if draw(st.booleans())},
        **draw(UNKNOWN),
    }


@given(table_configs())
def test_a_table_config_is_written_as_it_was_read(document: dict[str, Any]) -> None:
    assert TableConfig.from_json(document).to_json() == document


@given(schemas())
def test_a_schema_is_written_as_it_was_read(document: dict[str, Any]) -> None:
    assert Schema.from_json(document).to_json() == document


@given(table_configs(), NAMES, st.dictionaries(NAMES, st.text(max_size=8), max_size=3))
def test_setting_a_task_config_changes_nothing_else(
    document: dict[str, Any], task_type: str, configs: dict[str, str]
) -> None:
    before = json.dumps(document, sort_keys=True)
    changed = TableConfig.from_json(document).with_task_config(task_type, configs)
    assert changed.task_config(task_type) == configs
    written = changed.to_json()
    assert written["task"]["taskTypeConfigsMap"].pop(task_type) == configs
    original = json.loads(before)
    others = dict((original.get("task") or {}).get("taskTypeConfigsMap") or {})
    others.pop(task_type, None)
    assert written["task"]["taskTypeConfigsMap"] == others
    for key, value in (original.pop("task", None) or {}).items():
        assert key == "taskTypeConfigsMap" or written["task"][key] == value
    written.pop("task")
    assert written == original
    assert json.dumps(document, sort_keys=True) == before
    assert changed.with_task_config(task_type, None).task_config(task_type) is None


def test_assigned_fields_are_written() -> None:
    config = TableConfig.from_json({"tableName": "t", "tableType": "OFFLINE", "isDimTable": False})
    config.segments_config = config.segments_config.model_copy(update={"replication": "2"})
    config.table_index_config["loadMode"] = "MMAP"
    assert config.to_json()["segmentsConfig"] == {"replication": "2"}
    assert config.to_json()["isDimTable"] is False


def test_names_of_a_table() -> None:
    config = TableConfig.from_json({"tableName": "flights", "tableType": "OFFLINE"})
    assert (config.name_with_type, config.raw_name, config.schema_names) == (
        "flights_OFFLINE",
        "flights",
        ("flights",),
    )
    named = TableConfig.from_json(
        {"tableName": "a_OFFLINE", "tableType": "OFFLINE", "segmentsConfig": {"schemaName": "s"}}
    )
    assert (named.name_with_type, named.raw_name, named.schema_names) == ("a_OFFLINE", "a", ("a", "s"))


def test_a_wrong_document_names_the_field_and_hides_the_value() -> None:
    task = {"taskTypeConfigsMap": {"T": {"secretKey": ["hidden"]}}}
    with pytest.raises(ConfigError, match=r"task\.taskTypeConfigsMap\.T\.secretKey") as caught:
        TableConfig.from_json({"tableName": "t", "tableType": "OFFLINE", "task": task})
    assert "hidden" not in str(caught.value)


def test_fields_of_a_schema() -> None:
    schema = Schema.from_json(
        {
            "schemaName": "s",
            "dimensionFieldSpecs": [
                {"name": "city", "dataType": "STRING", "defaultNullValue": "?"},
                {"name": "tags", "dataType": "STRING", "singleValueField": False},
            ],
            "metricFieldSpecs": [{"name": "n", "dataType": "LONG"}],
            "dateTimeFieldSpecs": [
                {
                    "name": "ts",
                    "dataType": "TIMESTAMP",
                    "format": "1:MILLISECONDS:EPOCH",
                    "granularity": "1:DAYS",
                }
            ],
            "timeFieldSpec": {
                "incomingGranularitySpec": {"name": "day", "dataType": "INT", "timeType": "DAYS"}
            },
        }
    )
    assert [(f.name, f.data_type, f.single_value, f.role) for f in schema.fields] == [
        ("city", "STRING", True, FieldRole.DIMENSION),
        ("tags", "STRING", False, FieldRole.DIMENSION),
        ("n", "LONG", True, FieldRole.METRIC),
        ("ts", "TIMESTAMP", True, FieldRole.DATE_TIME),
        ("day", "INT", True, FieldRole.TIME),
    ]
    ts, city = schema.field("ts"), schema.field("city")
    assert ts is not None
    assert ts.format == "1:MILLISECONDS:EPOCH"
    assert city is not None
    assert city.default_null_value == "?"
    assert schema.field("nope") is None


def test_segment_metadata_as_returned_by_0_11() -> None:
    metadata = SegmentMetadata.from_json(
        {
            "segment.start.time": "1700000000001",
            "segment.time.unit": "MILLISECONDS",
            "segment.size.in.bytes": "1487",
            "segment.end.time": "1700000000010",
            "segment.total.docs": "10",
            "segment.crc": "4159114344",
            "segment.download.url": "http://localhost:9000/segments/probe/s",
            "custom.map": '{"input.data.file.uri":"s3://b/x"}',
            "segment.of.a.newer.pinot": "x",
        }
    )
    assert metadata.crc == 4159114344
    assert (metadata.start_time, metadata.end_time, metadata.time_unit) == (
        1700000000001,
        1700000000010,
        "MILLISECONDS",
    )
    assert metadata.custom_map == {"input.data.file.uri": "s3://b/x"}
    assert metadata.refresh_time_ms is None
    assert metadata.to_json()["segment.of.a.newer.pinot"] == "x"


_TWO_DAYS = {"retentionTimeUnit": "DAYS", "retentionTimeValue": "2"}


@pytest.mark.parametrize(
    ("table", "config", "expected"),
    [
        ("x_OFFLINE", _TWO_DAYS, 172_800_000),
        ("x_OFFLINE", {"retentionTimeUnit": "days", "retentionTimeValue": 2}, 172_800_000),
        ("x_OFFLINE", {**_TWO_DAYS, "segmentPushType": "REFRESH"}, None),
        ("x_REALTIME", {**_TWO_DAYS, "segmentPushType": "REFRESH"}, 172_800_000),
        ("x_OFFLINE", {"retentionTimeUnit": "DAYS"}, None),
        ("x_OFFLINE", {"retentionTimeUnit": "EONS", "retentionTimeValue": "1"}, None),
        ("x_OFFLINE", {"retentionTimeUnit": "DAYS", "retentionTimeValue": "-1"}, None),
    ],
)
def test_retention_is_read_as_by_pinot(table: str, config: dict[str, str], expected: int | None) -> None:
    assert retention_ms(TableName(table), {"segmentsConfig": config}) == expected
