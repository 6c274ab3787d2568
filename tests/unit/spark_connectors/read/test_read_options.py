from __future__ import annotations

import pytest

from controller_client.errors import ConfigError
from spark_connectors.options import ReadFrom, ReadOptions, parse_options
from spark_connectors.read.server_query import ServerQuery

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


@pytest.mark.parametrize("controller", ["http://c:9000", "https://c:9000"])
@pytest.mark.parametrize("plain", [None, "true", "false"])
def test_servers_get_credentials_only_as_well_protected_as_controllers(
    controller: str, plain: str | None
) -> None:
    more = {} if plain is None else {"grpcUsePlainText": plain}
    query = ServerQuery.of(read_options(controller=controller, authToken="hush", **more))
    is_https = controller.startswith("https")
    assert (query.tls is not None) == (plain == "false" or (plain is None and is_https))
    assert (query.auth is None) == (is_https and query.tls is None)


def test_brokers_have_the_scheme_of_the_controllers() -> None:
    named = {"controller": "https://c:9000", "authToken": "hush"}
    assert read_options(**named, broker="b:8099").broker_config().urls == ("https://b:8099",)
    with pytest.raises(ConfigError, match="without TLS"):
        read_options(**named, broker="http://b:8099").broker_config()


def test_unverified_certificates_do_not_go_with_grpc() -> None:
    unverified = {"controller": "https://c:9000", "tlsVerify": "false"}
    with pytest.raises(ConfigError, match="gRPC always verifies"):
        read_options(**unverified)
    for more in ({"readFrom": "broker"}, {"query": "select 1 limit 1"}, {"grpcUsePlainText": "true"}):
        assert not read_options(**unverified, **more).controller_config().tls.verify


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
