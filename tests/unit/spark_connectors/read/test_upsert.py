"""Reads of upsert tables, without a cluster."""

from __future__ import annotations

import pytest

from controller_client.common.names import TableName
from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from spark_connectors.options import ReadOptions, parse_options
from spark_connectors.read.plan import SegmentGroup, SegmentToRead, TableToRead, WholeTable, whole_tables
from spark_connectors.read.upsert import SeenVersion, check_way
from tests.unit.controller_client.upsert.test_creating import documents, plan

TABLE = TableName("t_REALTIME")


def options(**more: str) -> ReadOptions:
    return parse_options(ReadOptions, {"controller": "http://localhost:9000", "table": "t", **more})


def test_segments_in_the_deep_store_have_no_versions() -> None:
    config = plan().table
    check_way(options(), config)
    check_way(options(readFrom="broker", columns="$validFrom"), config)
    check_way(options(readFrom="segments", skipUpsert="true"), config)
    with pytest.raises(ConfigError, match="do not record which rows are replaced"):
        check_way(options(readFrom="segments"), config)
    with pytest.raises(ConfigError, match="validFrom in the segments of t_REALTIME"):
        check_way(options(readFrom="segments", skipUpsert="true", columns="user,$validFrom"), config)


def test_system_columns_are_hidden() -> None:
    planned = plan()
    table = TableToRead("t", (planned.table,), planned.schema)
    assert table.hidden == {"$validFrom", "$validUntil", "$kafkaOffset"}
    schema, config = documents()
    plain = TableToRead("t", (TableConfig.from_json(config),), Schema.from_json(schema))
    assert plain.hidden == frozenset()


def test_segments_that_a_brokers_answer_must_cover() -> None:
    groups = [SegmentGroup(TABLE, "a > 1", (SegmentToRead(name, (), consuming=False),)) for name in "xy"]
    (whole,) = whole_tables(groups, by_version=True)
    assert whole == WholeTable(TABLE, "a > 1", frozenset("xy"))
    assert [each.needed for each in whole_tables(groups, by_version=False)] == [frozenset()]
    seen = SeenVersion(options=(("upsertVersions", "t_REALTIME:7"),), by_version=True)
    added = seen.added_to(options(queryOptions="a=b")).query_options
    assert added == (("a", "b"), ("upsertVersions", "t_REALTIME:7"))
