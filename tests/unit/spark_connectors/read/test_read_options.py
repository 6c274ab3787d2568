from __future__ import annotations

import pytest

from controller_client.errors import ConfigError
from spark_connectors.options import ReadFrom, ReadOptions, parse_options

NEEDED = {"controller": "http://localhost:9000", "table": "flights"}


def read_options(**more: str) -> ReadOptions:
    return parse_options(ReadOptions, {**NEEDED, **more})


def test_defaults() -> None:
    options = read_options()
    assert options.read_from is ReadFrom.SERVERS
    assert options.segments_per_split == 3
    assert (options.columns, options.filter, options.limit, options.null_handling) == ((), None, None, None)


def test_options_of_the_scala_connector_are_accepted() -> None:
    scala = {
        "controller": "localhost:9000",
        "broker": "localhost:8000",
        "secureMode": "true",
        "tableType": "offline",
        "segmentsPerSplit": "1",
        "pinotServerTimeoutMs": "10000",
        "useGrpcServer": "true",
        "usePushDownFilters": "false",
        "failOnInvalidSegments": "true",
        "grpc.use-plain-text": "false",
    }
    options = read_options(**scala, queryOptions="enableNullHandling=true,skipUpsert=true")
    assert options.broker_config().urls == ("https://localhost:8000",)
    assert not options.grpc_plain_text
    assert options.query_options == (("enableNullHandling", "true"), ("skipUpsert", "true"))


@pytest.mark.parametrize(
    "more",
    [
        {"query": "select 1", "filter": "a = 1"},
        {"query": "select 1", "columns": "a"},
        {"query": "select 1", "readFrom": "segments"},
        {"columns": "a,,b"},
        {"columns": "a,a"},
        {"decimalType": "decimal(39,2)"},
        {"decimalType": "decimal(3,4)"},
        {"queryOptions": "a=1; drop table"},
        {"tableType": "HYBRID"},
    ],
)
def test_invalid_combinations_are_rejected(more: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        read_options(**more)


def test_filters_are_not_pushed_down() -> None:
    """Up to PySpark 4.3, pushed filters leak into other queries."""
    assert not read_options(usePushDownFilters="false").filter
    with pytest.raises(ConfigError, match="pass the predicate in the option 'filter'"):
        read_options(usePushDownFilters="true")


def test_decimal_types() -> None:
    assert read_options(decimalType="STRING").decimal_type is None
    assert read_options(decimalType="Decimal(20, 3)").decimal_type == (20, 3)


def test_versions_of_upsert_tables() -> None:
    assert read_options().version_options() == {}
    assert read_options(asOfVersion="7", queryOptions="a=b").version_options() == {
        "a": "b",
        "asOfVersion": "7",
    }
    assert read_options(asOfTimestamp="0", skipUpsert="false").version_options() == {"asOfTimestamp": "0"}
    assert read_options(skipUpsert="true").version_options() == {"skipUpsert": "true"}
    with pytest.raises(ConfigError, match="asOfVersion"):
        read_options(asOfVersion="-1")
