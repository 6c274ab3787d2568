from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import ConfigError, DataError
from controller_client.models import Schema, SegmentMetadata, TableConfig
from spark_connectors.options import WriteOptions, parse_options
from spark_connectors.write.partitioning import Partitioning
from spark_connectors.write.scope import PartitionScope, Scope, TimeScope, scope_of

_DAY_MS = 86_400_000

SCHEMA = Schema.from_json(
    {
        "schemaName": "t",
        "dimensionFieldSpecs": [
            {"name": "id", "dataType": "LONG"},
            {"name": "x", "dataType": "DOUBLE"},
            {"name": "tags", "dataType": "STRING", "singleValueField": False},
        ],
        "dateTimeFieldSpecs": [
            {"name": "day", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"},
            {"name": "step", "dataType": "LONG", "format": "EPOCH|MINUTES|5", "granularity": "1:DAYS"},
            {"name": "ts", "dataType": "TIMESTAMP", "format": "TIMESTAMP", "granularity": "1:DAYS"},
            {
                "name": "text",
                "dataType": "STRING",
                "format": "1:DAYS:SIMPLE_DATE_FORMAT:yyyyMMdd",
                "granularity": "1:DAYS",
            },
        ],
    }
)


def config_of(time_column: str | None = None, **partition_columns: Any) -> TableConfig:
    return TableConfig.from_json(
        {
            "tableName": "t",
            "tableType": "OFFLINE",
            "segmentsConfig": {"timeColumnName": time_column},
            "tableIndexConfig": {"segmentPartitionConfig": {"columnPartitionMap": partition_columns}},
        }
    )


MURMUR = {"functionName": "Murmur", "numPartitions": 4}


def scope(config: TableConfig, columns: list[str], **options: str) -> Scope | None:
    needed = {"controller": "http://localhost:9000", "table": "t"}
    return scope_of(parse_options(WriteOptions, {**needed, **options}), config, SCHEMA, columns)


def time_scope(column: str, first: int, end: int) -> TimeScope:
    found = scope(
        config_of(column),
        [column],
        overwriteScope="timeRange",
        overwriteFrom=str(first),
        overwriteTo=str(end),
    )
    assert isinstance(found, TimeScope)
    return found


def segment(**metadata: Any) -> SegmentMetadata:
    return SegmentMetadata.from_json(
        {f"segment.{key.replace('_', '.')}": value for key, value in metadata.items()}
    )


@given(st.tuples(*[st.integers(-20, 20)] * 4))
def test_segments_of_a_time_range(numbers: tuple[int, int, int, int]) -> None:
    first, last_wanted = sorted(numbers[:2])
    end = last_wanted + 1
    start, last = sorted(numbers[2:])
    days = set(range(start, last + 1))
    wanted = set(range(first, end))
    place = TimeScope("day", "INT", "DAYS", first, end).place(
        segment(start_time=str(start), end_time=str(last), time_unit="DAYS")
    )
    if not days & wanted:
        assert place.name == "OUTSIDE"
    else:
        assert place.name == ("INSIDE" if days <= wanted else "ACROSS")
    # Pinot 1.x records the same times in milliseconds.
    times = {"start_time": str(start * _DAY_MS), "end_time": str(last * _DAY_MS), "time_unit": "MILLISECONDS"}
    assert TimeScope("day", "INT", "DAYS", first, end).place(segment(**times)) is place


@given(st.lists(st.integers(5_680_000, 5_680_030), min_size=4, max_size=4))
def test_segments_of_a_range_of_steps_of_five_minutes(numbers: list[int]) -> None:
    first, end, start, last = *sorted(numbers[:2]), *sorted(numbers[2:])
    end += 1
    steps = TimeScope("step", "LONG", "MINUTES", first, end, 5)
    times = {"start_time": str(start * 300_000), "end_time": str(last * 300_000), "time_unit": "MILLISECONDS"}
    inside = sum(first <= step < end for step in range(start, last + 1))
    place = "OUTSIDE" if not inside else "INSIDE" if inside == last - start + 1 else "ACROSS"
    assert steps.place(segment(**times)).name == place
    assert steps.describe(segment(**times)) == f"{start} to {last} x 5 MINUTES"
    by_others = segment(start_time=str(start), end_time=str(last), time_unit="MINUTES")
    assert steps.place(by_others).name == place


def test_a_range_of_a_column_that_counts_steps() -> None:
    steps = time_scope("step", 10, 12)
    assert str(steps) == "[10, 12) x 5 MINUTES of step"


@pytest.mark.parametrize(
    ("end", "place"), [(5_000, "OUTSIDE"), (5_900, "ACROSS"), (6_000, "INSIDE"), (6_001, "INSIDE")]
)
def test_times_recorded_in_a_coarser_unit_cover_the_whole_unit(end: int, place: str) -> None:
    recorded = segment(start_time="5", end_time="5", time_unit="MILLISECONDS")
    assert TimeScope("at", "LONG", "MICROSECONDS", 0, end).place(recorded).name == place
    before_1970 = segment(start_time="-5", end_time="-5", time_unit="MILLISECONDS")
    assert TimeScope("at", "LONG", "MICROSECONDS", 1 - end, 1).place(before_1970).name == place


def test_segments_whose_times_are_not_in_the_columns_unit() -> None:
    days = time_scope("day", 0, 10)
    assert days.place(segment(start_time="1", end_time="2", time_unit="HOURS")).name == "ACROSS"
    assert days.place(segment(start_time="-1", end_time="-1")).name == "ACROSS"
    assert days.place(segment()).name == "ACROSS"


def test_a_segments_times_are_described_in_the_columns_unit() -> None:
    days = time_scope("day", 0, 10)
    by_1x = segment(start_time=str(4 * _DAY_MS), end_time=str(5 * _DAY_MS), time_unit="MILLISECONDS")
    assert days.describe(by_1x) == "4 to 5 DAYS"
    assert days.describe(segment(start_time="4", end_time="5", time_unit="DAYS")) == "4 to 5 DAYS"
    assert days.describe(segment(start_time="4", end_time="5", time_unit="MOONS")) == "4 to 5 MOONS"
    assert days.describe(segment()) == "times unknown"


def test_rows_of_a_time_range() -> None:
    days = time_scope("day", 10, 12)
    days.check_rows(pa.RecordBatch.from_pydict({"day": pa.array([10, 11], pa.int32())}))
    cases = (([9, 11], "from 9 to 11"), ([12], "from 12 to 12"), ([10, None], "1 rows have no"))
    for wrong, message in cases:
        with pytest.raises(DataError, match=message) as caught:
            days.check_rows(pa.RecordBatch.from_pydict({"day": pa.array(wrong, pa.int32())}))
        assert "[10, 12) DAYS of day" in str(caught.value)
    millis = time_scope("ts", -1, 1)
    for moment in (-1001, 1000):
        with pytest.raises(DataError):
            millis.check_rows(pa.RecordBatch.from_pydict({"ts": pa.array([moment], pa.timestamp("us"))}))
    millis.check_rows(pa.RecordBatch.from_pydict({"ts": pa.array([-1000, 999], pa.timestamp("us", "UTC"))}))
    millis.check_rows(pa.RecordBatch.from_pydict({"ts": pa.array([-1, 0], pa.int64())}))


RANGE = {"overwriteScope": "timeRange", "overwriteFrom": "0", "overwriteTo": "1"}
PARTITIONS = {"overwriteScope": "partitions", "overwritePartitions": "0,3"}


@pytest.mark.parametrize(
    ("config", "columns", "options", "message"),
    [
        (config_of(), ["day"], RANGE, "has no time column"),
        (config_of("text"), ["text"], RANGE, "is STRING with the format"),
        (config_of("day"), ["id"], RANGE, "lacks the time column day"),
        (config_of(), ["id"], PARTITIONS, "is not partitioned"),
        (config_of(x=MURMUR), ["x"], PARTITIONS, "is not partitioned"),
        (config_of(tags=MURMUR), ["tags"], PARTITIONS, "is not partitioned"),
        (config_of(id=MURMUR, day=MURMUR), ["id"], PARTITIONS, "is not partitioned"),
        (config_of(id=MURMUR), ["x"], PARTITIONS, "lacks the column id"),
        (config_of(id={**MURMUR, "numPartitions": 3}), ["id"], PARTITIONS, "names partition 3"),
    ],
)
def test_scopes_that_a_table_does_not_support(
    config: TableConfig, columns: list[str], options: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        scope(config, columns, **options)


def told(partitions: object, function: str = "murmur", count: int = 4) -> SegmentMetadata:
    column = {"functionName": function, "numPartitions": count, "partitions": partitions}
    return segment(partition_metadata=json.dumps({"columnPartitionMap": {"id": column}}))


def test_segments_of_partitions() -> None:
    found = scope(config_of(id=MURMUR), ["id"], **PARTITIONS)
    assert isinstance(found, PartitionScope)
    assert found.partitioning == Partitioning("id", "LONG", 512, "Murmur", 4)
    places = {
        "INSIDE": [told([0]), told([3]), told([3, 0])],
        "OUTSIDE": [told([1]), told([1, 2])],
        "ACROSS": [told([0, 1]), told([0], count=8), told([0], "Modulo"), told(None), segment()],
    }
    for name, segments in places.items():
        assert {found.place(each).name for each in segments} == {name}
    found.check_partition(3)
    with pytest.raises(DataError, match="rows of partition 1"):
        found.check_partition(1)


def test_the_whole_table_has_no_scope() -> None:
    assert scope(config_of(), ["id"]) is None
