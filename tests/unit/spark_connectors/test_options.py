from __future__ import annotations

import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.config import BasicAuth, BearerToken, Secret, Tls
from controller_client.errors import ConfigError
from controller_client.models import Schema
from controller_client.publishing.checks.rules import Checks, ValueRange
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess
from spark_connectors.options import OverwriteScope, ReadOptions, WriteOptions, parse_options

NEEDED = {"controller": "http://localhost:9000", "table": "flights"}
SECRET = "do-not-tell"


def write_options(**more: str) -> WriteOptions:
    return parse_options(WriteOptions, {**NEEDED, **{key.replace("__", "."): more[key] for key in more}})


def test_defaults() -> None:
    options = write_options()
    assert options.table == "flights"
    assert options.overwrite_scope is OverwriteScope.TABLE
    assert options.segment_rows == 5_000_000
    assert options.segment_bytes == 500 * 2**20
    assert options.controller_config().auth is None


@given(upper=st.lists(st.booleans(), min_size=30, max_size=30))
def test_names_are_case_insensitive(upper: list[bool]) -> None:
    name = "".join(
        letter.upper() if up else letter.lower()
        for letter, up in zip("maxNumRecordsPerSegment", upper, strict=False)
    )
    assert write_options(**{name: "17"}).segment_rows == 17


def test_addresses_of_controllers() -> None:
    assert write_options(controller="one:1, two:2").controller_config().urls == (
        "http://one:1",
        "http://two:2",
    )
    assert write_options(controller="host:9", secureMode="true").controller_config().url == "https://host:9"
    with pytest.raises(ConfigError, match=r"'useHttps' and 'secureMode' are the same option"):
        write_options(useHttps="true", secureMode="true")


def test_the_access_to_zookeeper() -> None:
    assert write_options().zookeeper_access() is None, "the environment's"
    given = {"zookeeper__auth": "digest", "zookeeper__username": "me", "zookeeper__PASSWORD": SECRET}
    options = write_options(**given, zookeeper__clientcertfile="/c.pem")
    assert options.zookeeper_access() == ZooKeeperAccess(
        tls=Tls(client_cert_file="/c.pem"), auth=AuthKind.DIGEST, username="me", password=Secret(SECRET)
    )
    assert SECRET not in repr(options)
    with pytest.raises(ConfigError, match=r"zookeeper\.auth is 'basic'"):
        write_options(zookeeper__auth="basic")
    with pytest.raises(ConfigError, match=r"unknown option 'zookeeper\.user'"):
        write_options(zookeeper__user="me")


def test_an_unknown_name_is_reported_with_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"unknown option 'stagingURL', did you mean 'stagingUri'\?"
    ) as caught:
        write_options(stagingURL=f"s3://{SECRET}@bucket")
    assert SECRET not in str(caught.value)
    assert "maxNumRecordsPerSegment" in str(caught.value)


@pytest.mark.parametrize("name", ["path", "checkpointLocation", "provider", "owner", "option.table"])
def test_options_added_by_spark_are_ignored(name: str) -> None:
    assert write_options(**{name: "/somewhere"}) == write_options()


@pytest.mark.parametrize("missing", NEEDED)
def test_required_options(missing: str) -> None:
    with pytest.raises(ConfigError, match=f"'{missing}' is missing"):
        parse_options(WriteOptions, {key: NEEDED[key] for key in NEEDED if key != missing})


def test_without_any_option_the_error_explains_where_they_are_lost() -> None:
    with pytest.raises(ConfigError, match="TEMPORARY VIEW"):
        parse_options(WriteOptions, {})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("maxNumRecordsPerSegment", "0", "an integer, at least 1"),
        ("desiredSegmentSize", "many", "a size such as 500M"),
        ("tlsVerify", "perhaps", "true or false"),
        ("pushMode", "URI", "one of METADATA, BATCH, TAR"),
        ("overwriteScope", "day", "one of table, timeRange, partitions"),
        ("overwriteFrom", "2020-01-01", "a whole number in the time column's unit"),
        ("overwritePartitions", "1,-2", "whole numbers, 0 or more"),
        ("controller", " ", "it is empty"),
    ],
)
def test_invalid_values(name: str, value: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=f"the value of the option '{name}' is invalid") as caught:
        write_options(**{name: value})
    assert expected in str(caught.value)


def test_secrets_are_not_shown() -> None:
    options = write_options(username="me", password=SECRET, fs__prop__secretkey=SECRET)
    assert options.fs_properties == {"secretKey": SECRET}
    auth = options.controller_config().auth
    assert isinstance(auth, BasicAuth)
    assert auth.password.reveal() == SECRET
    assert SECRET not in repr(options) + str(options) + repr(options.controller_config())
    # Options are pickled to the executors.
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301
    token = write_options(authToken=SECRET).controller_config().auth
    assert isinstance(token, BearerToken)
    assert SECRET not in repr(token)
    for wrong in ({"authToken": SECRET, "username": "me"}, {"password": SECRET}):
        with pytest.raises(ConfigError) as caught:
            write_options(**wrong)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "more",
    [
        {"overwriteScope": "timeRange", "overwriteFrom": "1"},
        {"overwriteFrom": "1", "overwriteTo": "2"},
        {"overwriteFrom": "1"},
        {"overwriteScope": "timeRange", "overwriteFrom": "2", "overwriteTo": "2"},
        {"overwriteScope": "partitions"},
        {"overwritePartitions": "1"},
    ],
)
def test_options_of_scopes_must_be_set_together(more: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        write_options(**more)


def test_scopes() -> None:
    ranged = write_options(overwriteScope="TIMERANGE", overwriteFrom="-5", overwriteTo="0")
    assert (ranged.overwrite_scope, ranged.overwrite_range) == (OverwriteScope.TIME_RANGE, (-5, 0))
    assert write_options().overwrite_range is None
    parts = write_options(overwriteScope="partitions", overwritePartitions="3, 1,3")
    assert parts.overwrite_partitions == (1, 3)


SCHEMA = Schema.from_json(
    {
        "schemaName": "t",
        "dimensionFieldSpecs": [
            {"name": "Size", "dataType": "INT"},
            {"name": "twin", "dataType": "INT"},
            {"name": "Twin", "dataType": "INT"},
            {"name": "city", "dataType": "STRING"},
        ],
    }
)


def test_checks() -> None:
    assert write_options().checks(SCHEMA) == Checks()
    options = write_options(
        checks__minrows="10",
        checks__maxRowsChange="5%",
        checks__mayBecomeEmpty="city",
        checks__range__size="0..",
    )
    size = ValueRange(Decimal(0), None)
    assert options.checks(SCHEMA) == Checks(10, Decimal(5), frozenset({"city"}), {"Size": size})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"checks__range__size": "wide"},
            r"checks\.range\.size is 'wide': expected a range such as 0",
        ),
        ({"checks__maxRowsChange": "5"}, r"'checks\.maxRowsChange' is invalid"),
        ({"checks__rows": "5"}, r"unknown option 'checks\.rows'"),
    ],
)
def test_checks_that_are_none_are_refused_at_once(given: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        write_options(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"checks__range__sizes": "0.."}, r"checks\.range\.sizes: the schema has no column 'sizes'"),
        ({"checks__range__city": "0.."}, r"checks\.range\.city: the column is of type STRING"),
        ({"checks__range__twin": "0.."}, r"'checks\.range\.Twin' could mean Twin or twin"),
        ({"checks__mayBecomeEmpty": "City"}, r"checks\.mayBecomeEmpty: the schema has no column 'City'"),
    ],
)
def test_checks_that_do_not_fit_the_table(given: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        write_options(**given).checks(SCHEMA)


# All options of the Scala connectors for Spark 2 and 3, from their sources.
SCALA = {
    ReadOptions: (
        *("table", "tableType", "controller", "broker", "usePushDownFilters", "segmentsPerSplit"),
        *("pinotServerTimeoutMs", "useGrpcServer", "queryOptions", "failOnInvalidSegments", "useHttps"),
        *("secureMode", "keystorePath", "keystorePassword", "truststorePath", "truststorePassword"),
        *("authHeader", "authToken", "proxy.enabled", "grpc.port", "grpc.max-inbound-message-size"),
        *("grpc.use-plain-text", "grpc.tls.keystore-type", "grpc.tls.keystore-path"),
        *("grpc.tls.keystore-password", "grpc.tls.truststore-type", "grpc.tls.truststore-path"),
        *("grpc.tls.truststore-password", "grpc.tls.ssl-provider", "grpc.proxy-uri"),
    ),
    WriteOptions: (
        *("table", "segmentNameFormat", "path", "invertedIndexColumns", "noDictionaryColumns"),
        *("bloomFilterColumns", "rangeIndexColumns", "timeColumnName", "timeFormat", "timeGranularity"),
    ),
}


@pytest.mark.parametrize(("options", "name"), [(each, name) for each in SCALA for name in SCALA[each]])
def test_options_of_the_scala_connector_are_accepted_or_explained(options: type, name: str) -> None:
    try:
        parse_options(options, {**NEEDED, name: "1"})
    except ConfigError as error:
        assert "unknown option" not in str(error)  # noqa: PT017  # an invalid value is fine here


def test_the_error_for_an_option_of_the_scala_connector_names_the_alternative() -> None:
    with pytest.raises(ConfigError, match="'tlsCaFile'") as caught:
        parse_options(ReadOptions, {**NEEDED, "trustStorePassword": SECRET})
    assert SECRET not in str(caught.value)
