"""A REST catalog: where its credentials go, whatever its server, a table and this machine say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from controller_client.errors import ConfigError, SourceError
from minion_tasks.sources.iceberg import IcebergSource
from minion_tasks.sources.iceberg_properties import check_properties
from tests.unit.controller_client.scripted_server import Seen, Step, answer
from tests.unit.minion_tasks.sources.test_iceberg import Lakehouse
from tests.unit.recording_network import Authority, Network, received, recording_network

TABLE = "/v1/namespaces/sales/tables/orders"
URI = "iceberg://prod/sales.orders"
GIVEN: Mapping[str, Mapping[str, str]] = {
    "token": {"token": "hush-token"},
    "credential": {"credential": "me:hush"},
}


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    with recording_network(Authority(tmp_path), tmp_path, monkeypatch) as network:
        yield network


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    lakehouse = Lakehouse(tmp_path / "lakehouse")
    lakehouse.append([1])
    return lakehouse


def serve(
    network: Network, lakehouse: Lakehouse, hostile: Mapping[str, str], config: Mapping[str, str]
) -> None:
    """Have the plain host serve the catalog.

    Args:
        network: The network.
        lakehouse: The table.
        hostile: What its server overrides.
        config: What it sends with the table.
    """

    def respond(seen: Seen) -> Step:
        if seen.path == "/v1/config":
            return answer(200, {"defaults": {}, "overrides": dict(hostile)})
        if seen.path == "/v1/oauth/tokens":
            return answer(200, {"access_token": "hush-token", "token_type": "bearer", "expires_in": 600})
        assert seen.path == TABLE
        table = lakehouse.catalog.load_table(lakehouse.name)
        metadata = json.loads(table.metadata.model_dump_json())
        return answer(
            200,
            {"metadata-location": table.metadata_location, "metadata": metadata, "config": dict(config)},
        )

    network.plain.answers = respond


def source(network: Network, lakehouse: Lakehouse, given: Mapping[str, str]) -> IcebergSource:
    properties = {
        "type": "rest",
        "uri": network.plain.url,
        "warehouse": lakehouse.properties["warehouse"],
        **given,
    }
    check_properties(properties)
    return IcebergSource(URI, properties)


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_credentials_go_to_the_catalog_alone(
    network: Network, lakehouse: Lakehouse, given: Mapping[str, str]
) -> None:
    foreign = network.foreign.url
    hostile = {
        "uri": foreign,
        "oauth2-server-uri": f"{foreign}/v1/oauth/tokens",
        "token": "theirs",
        "py-io-impl": "subprocess.Popen",
        "rest.sigv4-enabled": "true",
    }
    serve(network, lakehouse, hostile, {"py-io-impl": "subprocess.Popen"})
    reading = source(network, lakehouse, given)
    assert len(list(reading.list(None).files)) == 1
    assert len(list(reading.list(None).files)) == 1
    assert network.foreign.requests == []
    assert network.proxy.requests == []
    of_table = [seen for seen in network.plain.requests if seen.path == TABLE]
    assert [seen.headers["Authorization"] for seen in of_table] == ["Bearer hush-token"] * 2
    assert not any("netrc" in str(credentials) for credentials in received(network.plain))
    for seen in network.plain.requests:
        if seen.path == "/v1/oauth/tokens":
            assert parse_qs(seen.body.decode())["client_secret"] == ["hush"]
        else:
            assert b"hush" not in seen.body


def test_a_poll_is_one_request_after_the_first(network: Network, lakehouse: Lakehouse) -> None:
    serve(network, lakehouse, {}, {})
    reading = source(network, lakehouse, GIVEN["token"])
    reading.list(None)
    assert len(network.plain.requests) == 2
    reading.list(None)
    assert len(network.plain.requests) == 3


@pytest.mark.parametrize(
    ("of_server", "expected"),
    [
        ({}, {"s3.access-key-id": "mine", "s3.secret-access-key": "hush"}),
        # The keys of the config do not go to an address that the server names.
        ({"s3.endpoint": "http://127.0.0.9"}, {"s3.endpoint": "http://127.0.0.9", "s3.anonymous": "true"}),
        (
            {"s3.endpoint": "http://127.0.0.9", "s3.access-key-id": "theirs"},
            {"s3.endpoint": "http://127.0.0.9", "s3.access-key-id": "theirs"},
        ),
        (
            {
                "s3.retry-strategy-impl": "subprocess.Popen",
                "s3.signer": "S3V4RestSigner",
                "s3.proxy-uri": "x",
            },
            {"s3.access-key-id": "mine", "s3.secret-access-key": "hush"},
        ),
    ],
)
def test_the_keys_of_a_store_and_its_address_have_one_owner(
    network: Network, lakehouse: Lakehouse, of_server: Mapping[str, str], expected: Mapping[str, str]
) -> None:
    serve(network, lakehouse, {}, of_server)
    own = {"s3.access-key-id": "mine", "s3.secret-access-key": "hush", "token": "hush-token"}
    reading = source(network, lakehouse, own)
    reading.list(None)
    assert reading._table.io.properties == expected


def test_a_redirect_takes_no_credentials_along(network: Network, lakehouse: Lakehouse) -> None:
    network.plain.answers = lambda _seen: answer(307, None, {"Location": f"{network.foreign.url}/again"})
    with pytest.raises(SourceError, match="could not be listed"):
        source(network, lakehouse, GIVEN["token"]).list(None)
    assert received(network.foreign) == [None] * len(network.foreign.requests)


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({}, "input.fs.prop.type is missing"),
        ({"type": "dynamodb"}, "input.fs.prop.type is 'dynamodb'"),
        ({"type": "rest"}, "input.fs.prop.uri is missing"),
        ({"type": "rest", "uri": "http://catalog", "token": "${env:PINOT_SECRET_T}"}, "without TLS"),
        (
            {"type": "rest", "uri": "https://c", "credential": "x", "oauth2-server-uri": "http://o"},
            "oauth2-server-uri would get the catalog's credentials without TLS",
        ),
        ({"type": "rest", "uri": "https://me:hush@catalog"}, "not the plain address"),
        ({"type": "rest", "uri": "${env:PINOT_SECRET_URI}"}, "not the plain address"),
        ({"type": "sql", "uri": "sqlite://", "py-io-impl": "os.system"}, "has no property 'py-io-impl' here"),
        ({"type": "rest", "uri": "https://c", "s3.acces-key-id": "x"}, "has no property 's3.acces-key-id'"),
        ({"type": "rest", "uri": "https://c", "glue.region": "x"}, "has no property 'glue.region'"),
    ],
)
def test_properties_that_are_refused(properties: Mapping[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_properties(properties)
    assert problem in caught.value.message
    assert "hush" not in str(caught.value)


def test_plain_http_is_allowed_without_credentials_and_on_this_machine() -> None:
    check_properties({"type": "rest", "uri": "http://catalog:8181"})
    check_properties({"type": "rest", "uri": "http://localhost:8181", "credential": "me:hush"})
