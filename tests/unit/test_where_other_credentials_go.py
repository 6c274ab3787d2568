"""Where credentials go that are not those of HTTP: gRPC, ZooKeeper, object stores.

The machine is the hostile one of `test_where_credentials_go`.
"""

from __future__ import annotations

import base64
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.errors import PinotPluginError
from controller_client.filestore import open_store, s3
from controller_client.stream.offsets import StreamUnknownError, client_settings
from controller_client.zookeeper import PropertyStore, probe
from controller_client.zookeeper_access import ZooKeeperAccess
from jvm_bridge import zookeeper_address
from jvm_bridge.local_cluster import health
from pinot_airflow.access import ClusterAddress, PinotAccess
from pinotctl.context import CliContext
from spark_connectors.options import ReadOptions, parse_options
from spark_connectors.read.server_query import ServerQuery
from spark_connectors.zookeeper import open_zookeeper
from tests.unit.controller_client.filestore.gcs_server import Bucket
from tests.unit.controller_client.scripted_server import answer
from tests.unit.controller_client.zookeeper.wire_server import WireServer, wire_server
from tests.unit.recording_network import Authority, Network, credentials_of, received, recording_network
from tests.unit.spark_connectors.read.grpc_line import line, metadata


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def network(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    with recording_network(authority, tmp_path, monkeypatch) as made:
        yield made


# --- servers by gRPC ---

_ANSWER = metadata({2: 0, 5: 1, 6: 1})
_BASIC = base64.b64encode(b"me:hush").decode()


@pytest.mark.parametrize(
    ("scheme", "plain_text", "serves_tls", "given"),
    list(
        itertools.product(
            ("http", "https"),
            (None, "true", "false"),
            (False, True),
            ({}, {"username": "me", "password": "hush"}, {"authToken": "hush"}),
        )
    ),
)
def test_servers_get_credentials_by_grpc_as_encrypted_as_the_controllers_do(
    scheme: str,
    plain_text: str | None,
    serves_tls: bool,
    given: Mapping[str, str],
    authority: Authority,
    network: Network,
) -> None:
    transport = {} if plain_text is None else {"grpcUsePlainText": plain_text}
    options = {"controller": f"{scheme}://c:9000", "table": "t", "tlsCaFile": str(authority.file)}
    query = ServerQuery.of(
        parse_options(ReadOptions, {**options, "pinotServerTimeoutMs": "1000", **transport, **given})
    )
    with line("s", _ANSWER, tls=authority.key_and_chain if serves_tls else None) as server:
        with query.connect(server.address) as connection, suppress(PinotPluginError):
            connection.ask("select 1", ["a"], limit=0).close()
        seen = [request.metadata.get("Authorization") for request in server.requests]
    uses_tls = plain_text == "false" or (plain_text is None and scheme == "https")
    assert bool(seen) == (uses_tls == serves_tls)
    header = f"Basic {_BASIC}" if "username" in given else "Bearer hush" if given else None
    assert set(seen) <= {header if uses_tls or scheme == "http" else None}
    assert network.proxy.requests == []


# --- ZooKeeper ---

_DIGEST = {"AUTH": "digest", "USERNAME": "me", "PASSWORD": "hush"}


def by_pinotctl(network: Network, zookeeper: str | None, access: Mapping[str, str]) -> None:
    named = {} if zookeeper is None else {"PINOT_ZOOKEEPER": zookeeper}
    settings = {f"PINOT_ZOOKEEPER_{name}": value for name, value in access.items()}
    context = CliContext({"PINOT_CONTROLLER_URL": network.plain.url, **named, **settings})
    context.configure({}, None, 0)
    try:
        context.property_store().__enter__()
    finally:
        context.close()


def by_airflow(network: Network, zookeeper: str | None, access: Mapping[str, str]) -> None:
    connection = SimpleNamespace(conn_id="c", host=network.plain.url, port=None, schema=None)
    connection.login = connection.password = None
    named = {} if zookeeper is None else {"zookeeper": zookeeper}
    connection.extra_dejson = {
        **named,
        **{f"zookeeper_{name.lower()}": value for name, value in access.items()},
    }
    with PinotAccess(ClusterAddress.of(cast("Any", connection))) as opened:
        opened.store.live_instances()


def by_spark(network: Network, zookeeper: str | None, access: Mapping[str, str]) -> None:
    names = {"CA_FILE": "caFile", "AUTH": "auth", "USERNAME": "username", "PASSWORD": "password"}
    named = {} if zookeeper is None else {"zookeeper": zookeeper}
    given = {f"zookeeper.{names[name]}": value for name, value in access.items()}
    options = parse_options(ReadOptions, {"table": "t", "controller": network.plain.url, **named, **given})
    with options.client() as client, open_zookeeper(options, client) as store:
        store.live_instances()


def by_python(network: Network, zookeeper: str | None, access: Mapping[str, str]) -> None:
    settings = {f"PINOT_ZOOKEEPER_{name}": value for name, value in access.items()}
    made = ZooKeeperAccess.from_env(settings)
    with ControllerClient(ControllerConfig(network.plain.url)) as client:
        address = zookeeper or client.cluster.zookeeper_for(made)
    assert address
    with PropertyStore(address, "c", access=made) as store:
        store.live_instances()


_OPENERS: Mapping[str, Callable[[Network, str | None, Mapping[str, str]], None]] = {
    opener.__name__: opener for opener in (by_pinotctl, by_airflow, by_spark, by_python)
}


def _opened(
    opener: str, network: Network, server: WireServer, *, is_named: bool, access: Mapping[str, str]
) -> bool:
    """Open ZooKeeper, and return whether the password arrived at the server."""
    network.plain.answers = lambda seen: answer(
        200,
        {"clusterName": "c"}
        if seen.target.endswith("/cluster/info")
        else {"pinotConfig": {"controller.zk.str": server.address}},
    )
    with suppress(PinotPluginError):
        _OPENERS[opener](network, server.address if is_named else None, access)
    return any(b"hush" in request for request in server.received)


@pytest.mark.parametrize("opener", _OPENERS)
def test_the_password_of_zookeeper_goes_to_the_named_one_and_no_reported_one(
    opener: str, network: Network, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> None:
    trusted = {"CA_FILE": str(authority.file)}
    with wire_server() as server:
        assert _opened(opener, network, server, is_named=True, access=_DIGEST)
    with wire_server() as server:
        assert not _opened(opener, network, server, is_named=False, access=_DIGEST)
        assert server.received == []
    with wire_server() as server:  # without the credentials, a reported one is used
        _opened(opener, network, server, is_named=False, access={})
        assert server.received != []
    with wire_server(authority.context) as server:  # only the operator's authority vouches for it
        assert _opened(opener, network, server, is_named=False, access={**_DIGEST, **trusted})


def test_the_password_of_zookeeper_does_not_go_to_a_server_of_another_authority(
    network: Network, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> None:
    foreign = Authority(tmp_path_factory.mktemp("foreign"))
    settings = {**_DIGEST, "CA_FILE": str(authority.file)}
    access = ZooKeeperAccess.from_env({f"PINOT_ZOOKEEPER_{name}": text for name, text in settings.items()})
    with wire_server(foreign.context) as server:
        store = PropertyStore(server.address, "c", access=access, timeout_s=1.0)
        with suppress(PinotPluginError), store:
            store.live_instances()
        assert server.received == []


# --- object stores ---

_XML = {"Content-Type": "application/xml"}
_EMPTY = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"


@pytest.mark.parametrize(
    ("properties", "is_named_by_machine", "key"),
    [
        ({}, False, None),
        ({}, True, "machine-key"),
        ({"accessKey": "own-key", "secretKey": "own-secret"}, False, "own-key"),
        ({"accessKey": "own-key", "secretKey": "own-secret"}, True, "own-key"),
    ],
)
def test_the_keys_of_this_machine_go_only_to_the_endpoint_that_it_names(
    properties: Mapping[str, str],
    is_named_by_machine: bool,
    key: str | None,
    network: Network,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(s3, "_session", functools.cache(s3._session.__wrapped__))  # of this environment
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "machine-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "machine-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "machine-token")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    if is_named_by_machine:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", network.plain.url)
    network.plain.answers = lambda _seen: answer(200, _EMPTY, _XML)
    store = open_store("s3://bucket/in", {"endpoint": network.plain.url, "region": "r", **properties})
    assert list(store.list("s3://bucket/in")) == []
    (seen,) = network.plain.requests
    assert (key in seen.headers.get("Authorization", "")) if key else "Authorization" not in seen.headers
    assert ("X-Amz-Security-Token" in seen.headers) == (key == "machine-key")
    assert network.proxy.requests == []


def test_a_store_of_others_is_opened_without_looking_for_the_keys_of_this_machine(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "_session", functools.cache(s3._session.__wrapped__))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_EC2_METADATA_DISABLED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "1")
    network.plain.answers = lambda _seen: answer(200, _EMPTY, _XML)
    store = open_store("s3://bucket/in", {"endpoint": network.plain.url, "region": "r"})
    assert list(store.list("s3://bucket/in")) == []
    assert network.proxy.requests == []


def _service_account(token_uri: str) -> dict[str, str]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        "type": "service_account",
        "client_email": "me@p.iam.gserviceaccount.com",
        "private_key_id": "1",
        "private_key": key.decode(),
        "token_uri": token_uri,
    }


_TOKEN = {"access_token": "of-its-own-key", "expires_in": 3600, "token_type": "Bearer"}


@pytest.mark.parametrize("has_own_key", [False, True])
def test_an_endpoint_for_google_gets_the_key_beside_it_and_none_of_this_machine(
    has_own_key: bool, network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_machine = tmp_path / "machine.json"
    of_machine.write_text(json.dumps(_service_account(f"{network.plain.url}/machine")))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(of_machine))
    bucket = Bucket()
    bucket.put("in/a", b"1")
    network.foreign.answers = lambda seen: (
        answer(200, _TOKEN) if seen.target.endswith("/token") else bucket.respond(seen)
    )
    own = json.dumps(_service_account(f"{network.foreign.url}/token"))
    properties = {"endpoint": network.foreign.url, **({"gcpKey": own} if has_own_key else {})}
    assert [file.uri for file in open_store("gs://bucket/in", properties).list("gs://bucket/in")]
    requests = network.foreign.requests
    sent = {credentials_of(seen) for seen in requests if not seen.target.endswith("/token")}
    assert sent == {"Bearer of-its-own-key" if has_own_key else None}
    # The key's author names who issues its tokens, who would get what netrc has for every host.
    of_issuer = [credentials_of(seen) for seen in requests if seen.target.endswith("/token")]
    assert of_issuer == ([None] if has_own_key else [])
    assert network.plain.requests == network.proxy.requests == []


_PAGE_OF_AZURE = (
    '<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="c"><Prefix>in/</Prefix>'
    "<Delimiter>/</Delimiter><Blobs></Blobs><NextMarker></NextMarker></EnumerationResults>"
)


def test_a_connection_string_for_azure_gets_nothing_of_this_machine(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "ACCOUNT_NAME": "account",
        "ACCOUNT_KEY": base64.b64encode(b"machine").decode(),
        "SAS_TOKEN": "sig=machine",
        "CLIENT_ID": "machine",
        "CLIENT_SECRET": "machine",
        "TENANT_ID": "machine",
    }.items():
        monkeypatch.setenv(f"AZURE_STORAGE_{name}", value)
    network.foreign.answers = lambda _seen: answer(200, _PAGE_OF_AZURE, _XML)
    folder = "abfss://c@account.dfs.core.windows.net/in/"
    given = f"AccountName=account;BlobEndpoint={network.foreign.url}/account"
    with suppress(PinotPluginError):
        list(open_store(folder, {"connectionString": given}).list(folder))
    assert received(network.foreign)
    assert set(received(network.foreign)) == {None}
    assert "machine" not in str([seen.target for seen in network.foreign.requests])
    assert network.proxy.requests == []


# --- Kafka, and probes ---


def test_a_client_of_kafka_has_the_credentials_beside_its_brokers_and_no_others(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SASL_USERNAME", "SASL_PASSWORD", "KAFKA_PASSWORD", "PINOT_PASSWORD", "PINOT_TOKEN"):
        monkeypatch.setenv(name, "machine")
    brokers = {"stream.kafka.broker.list": "k:9092", "stream.kafka.topic.name": "t"}
    assert client_settings(brokers) == {"bootstrap.servers": "k:9092"}
    login = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": 'org.x.PlainLoginModule required username="me" password="hush";',
    }
    assert client_settings({**brokers, **login}) == {
        "bootstrap.servers": "k:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "hush",
    }
    for key in ("ssl.keystore.location", "ssl.ca.location", "ssl.key.location"):  # files of this machine
        with pytest.raises(StreamUnknownError):
            client_settings({**brokers, key: "/etc/hosts"})


def test_a_probe_has_no_credentials_at_hand() -> None:
    modules = (probe, health, zookeeper_address)
    names = [name.lower() for module in modules for name in vars(module)]
    assert not [name for name in names if re.search("auth|secret|password|config|environ", name)]
