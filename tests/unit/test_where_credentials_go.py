"""Each transport against servers that record what arrives, with options and a machine that try to leak.

The machine has a netrc for every host, and a proxy. In every case, credentials arrive only where they belong:
nothing without TLS beside https, and nothing at a host that nobody named.
"""

from __future__ import annotations

import base64
import itertools
import json
import logging
import pickle
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.common.retry import RetryPolicy
from controller_client.config import Auth, BasicAuth, BearerToken, BrokerConfig, ControllerConfig
from controller_client.deepstore.http_copies import HttpCopies
from controller_client.deepstore.servers import ServerTars
from controller_client.errors import ConfigError, PinotPluginError
from controller_client.filestore import open_store
from controller_client.rest.transport import Transport
from controller_client.zookeeper_access import ZooKeeperAccess
from jvm_bridge.jars.download import Repository
from jvm_bridge.jars.pins import Pin
from key_coordinator.reading.avro_messages import AvroMessages
from key_coordinator.reading.recipe import MessageFormat
from pinot_airflow.access import ClusterAddress, PinotAccess
from pinotctl.commands.serve import joining
from pinotctl.root import cli
from spark_connectors.options import ReadOptions, parse_options
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryPropertyStore
from tests.unit.recording_network import (
    CREDENTIALS,
    Authority,
    Network,
    port_of,
    received,
    recording_network,
)

ONCE = RetryPolicy(attempts=1)
MAX_BYTES = 1 << 20


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def network(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    with recording_network(authority, tmp_path, monkeypatch) as made:
        yield made


def controller_of(network: Network, home: ScriptedServer, auth: Auth | None) -> ControllerConfig:
    return ControllerConfig(home.url, auth=auth, tls=network.tls, retry=ONCE)


def controller(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    with closing(Transport(controller_of(network, home, auth), clock=FakeClock())) as transport:
        transport.request("GET", "/x", params={"a": "b"})


def change(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    with closing(Transport(controller_of(network, home, auth), clock=FakeClock())) as transport:
        transport.request("POST", "/x", json={"a": "b"})


def download(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    with closing(Transport(controller_of(network, home, auth), clock=FakeClock())) as transport:
        transport.download("/x", BytesIO())


def broker(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    config = replace(BrokerConfig.like(controller_of(network, home, auth), (home.url,)), retry=ONCE)
    with BrokerClient(config, clock=FakeClock()) as client:
        client.query("select 1")


def server_tar(network: Network, home: ScriptedServer, auth: Auth | None, folder: Path) -> None:
    with (
        ControllerClient(controller_of(network, home, auth), clock=FakeClock()) as client,
        ServerTars(client, {"Server_1": home.url}) as tars,
    ):
        tars.download("Server_1", TableName("t_OFFLINE"), "s", folder / "tar", MAX_BYTES)


def copy(network: Network, home: ScriptedServer, auth: Auth | None, folder: Path) -> None:
    with ControllerClient(controller_of(network, home, auth), clock=FakeClock()) as client:
        HttpCopies(client).download(f"{home.url}/x", folder / "tar", MAX_BYTES)


def registry(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    login = "me:hush" if auth else None
    reader = AvroMessages(MessageFormat(registry_url=home.url, registry_login=login, confluent=True))
    reader.read([b"\x00\x00\x00\x00\x01\x02a"])


def name_node(network: Network, home: ScriptedServer, auth: Auth | None, folder: Path) -> None:
    uri = f"webhdfs://{urlsplit(home.url).netloc}/in/a"
    given = {"user": "me", "password": "hush"} if auth else {}
    properties = {**given, "useHttps": str(home.url.startswith("https:")).lower()}
    open_store(uri, properties).download(uri, folder / "file")


def mirror(network: Network, home: ScriptedServer, auth: Auth | None, folder: Path) -> None:
    url = home.url.replace("://", "://me:hush@") if auth else home.url
    Repository(url).fetch(Pin("g", "a", "1", "", "0" * 64), folder)


def environment(network: Network, home: ScriptedServer, auth: Auth | None) -> dict[str, str]:
    login = {"PINOT_USERNAME": "me", "PINOT_PASSWORD": "hush"} if isinstance(auth, BasicAuth) else {}
    token = {"PINOT_TOKEN": "hush-token"} if isinstance(auth, BearerToken) else {}
    return {"PINOT_CONTROLLER_URL": home.url, "PINOT_CA_FILE": str(network.tls.ca_file), **login, **token}


def python_api(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    config = ControllerConfig.from_env(environ=environment(network, home, auth))
    with ControllerClient(replace(config, retry=ONCE)) as client:
        client.cluster.app_config()


def python_api_named_broker(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    config = BrokerConfig.from_env(environ={**environment(network, home, auth), "PINOT_BROKER_URL": home.url})
    assert config
    with BrokerClient(replace(config, retry=ONCE)) as client:
        client.query("select 1")


def pinotctl(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    CliRunner().invoke(cli, ["schema", "list"], env=environment(network, home, auth))


def pinotctl_discovered_broker(
    network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path
) -> None:
    CliRunner().invoke(cli, ["query", "select 1"], env=environment(network, home, auth))


def pinotctl_named_broker(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    env = environment(network, home, auth)
    CliRunner().invoke(cli, ["--broker", home.url, "query", "select 1"], env=env)


def of_airflow(network: Network, home: ScriptedServer, auth: Auth | None, **extra: str) -> PinotAccess:
    token = {"token": "hush-token"} if isinstance(auth, BearerToken) else {}
    login, password = ("me", "hush") if isinstance(auth, BasicAuth) else (None, None)
    connection = SimpleNamespace(
        conn_id="pinot_default", host=home.url, port=None, schema=None, login=login, password=password
    )
    connection.extra_dejson = {"ca_file": network.tls.ca_file, **token, **extra}
    return PinotAccess(ClusterAddress.of(cast("Any", connection)))


def airflow(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    with of_airflow(network, home, auth) as access:
        access.client.cluster.app_config()


def airflow_discovered_broker(
    network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path
) -> None:
    with of_airflow(network, home, auth) as access:
        access.broker.query("select 1")


def airflow_named_broker(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    with of_airflow(network, home, auth, broker=home.url) as access:
        access.broker.query("select 1")


def of_spark(network: Network, home: ScriptedServer, auth: Auth | None, **further: str) -> ReadOptions:
    login = {"username": "me", "password": "hush"} if isinstance(auth, BasicAuth) else {}
    token = {"authToken": "hush-token"} if isinstance(auth, BearerToken) else {}
    given = {"table": "t", "controller": home.url, "tlsCaFile": str(network.tls.ca_file)}
    return parse_options(ReadOptions, {**given, **login, **token, **further})


def spark(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    with of_spark(network, home, auth).client() as client:
        client.cluster.app_config()


def spark_discovered_broker(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    options = of_spark(network, home, auth)
    with options.client() as client:
        found = tuple(client.cluster.broker_urls())
    with BrokerClient(options.broker_config(found)) as client_of_broker:
        client_of_broker.query("select 1")


def spark_named_broker(network: Network, home: ScriptedServer, auth: Auth | None, _folder: Path) -> None:
    options = of_spark(network, home, auth, broker=urlsplit(home.url).netloc)
    with BrokerClient(options.broker_config()) as client:
        client.query("select 1")


TRANSPORTS: Mapping[str, Callable[[Network, ScriptedServer, Auth | None, Path], None]] = {
    made.__name__: made
    for made in (
        *(controller, change, download, broker, server_tar, copy),
        *(registry, name_node, mirror),
    )
}
PRODUCTS: Mapping[str, Callable[[Network, ScriptedServer, Auth | None, Path], None]] = {
    made.__name__: made
    for made in (
        *(python_api, python_api_named_broker),
        *(pinotctl, pinotctl_discovered_broker, pinotctl_named_broker),
        *(airflow, airflow_discovered_broker, airflow_named_broker),
        *(spark, spark_discovered_broker, spark_named_broker),
    )
}
"""How each product makes the settings of its users into those of a transport."""
TRUSTS_THE_SYSTEM = {"registry", "name_node", "mirror"}
"""These have no option for the authorities to trust; the variable of requests names them."""


@pytest.mark.parametrize(
    ("transport", "scheme", "credentials", "redirect"),
    [
        *itertools.product(
            TRANSPORTS, ("http", "https"), CREDENTIALS, (None, "plain", "encrypted", "foreign")
        ),
        *itertools.product(PRODUCTS, ("http", "https"), CREDENTIALS, (None, "foreign")),
    ],
)
def test_credentials_arrive_only_where_they_belong(
    transport: str,
    scheme: str,
    credentials: str,
    redirect: str | None,
    network: Network,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    auth, home = CREDENTIALS[credentials], network.home(scheme)
    if transport in TRUSTS_THE_SYSTEM:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(network.tls.ca_file))
    network.redirects(redirect)
    with suppress(PinotPluginError, OSError):
        {**TRANSPORTS, **PRODUCTS}[transport](network, home, auth, tmp_path)
    assert home.requests
    assert network.proxy.requests == []
    if auth is None:
        everything = (network.plain, network.encrypted, network.foreign)
        assert {name for server in everything for name in received(server)} <= {None}
        return
    assert received(home)[0] is not None
    assert "netrc" not in str(received(home))
    assert set(received(network.foreign)) <= {None}
    if scheme == "https":
        assert set(received(network.plain)) <= {None}


@pytest.mark.parametrize(
    ("transport", "status", "credentials"),
    list(itertools.product([*TRANSPORTS, *PRODUCTS], (200, 400, 403), ("basic", "bearer"))),
)
def test_credentials_that_a_peer_returns_are_in_no_error_and_no_log(
    transport: str,
    status: int,
    credentials: str,
    network: Network,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    returned: list[str] = []

    def respond(seen: Seen) -> Step:
        header = seen.headers.get("Authorization", "")
        known = "hush me:hush" if header.startswith("Basic") else "hush-token"
        text = f"{header} {header.partition(' ')[2]} {known}"
        returned.append(header)
        return answer(status, {"error": text, "schema": text, "exceptions": [{"message": text}]})

    network.plain.answers = respond
    shown = ""
    try:
        {**TRANSPORTS, **PRODUCTS}[transport](network, network.plain, CREDENTIALS[credentials], tmp_path)
    except Exception as error:  # noqa: BLE001 - it may be logged, or sent from an executor
        shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
        shown += pickle.dumps(error).decode("latin-1")
    assert any(returned)
    quoted = [line for line in shown.splitlines() if '"hush' not in line]  # lines of this file
    text = "\n".join(quoted) + caplog.text + "".join(repr(record.args) for record in caplog.records)
    assert not re.search("hush|" + base64.b64encode(b"me:hush").decode().rstrip("="), text)


@pytest.mark.parametrize("credentials", CREDENTIALS)
def test_a_proxy_passes_on_what_it_cannot_read(
    credentials: str, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, network.proxy.url)
    config = controller_of(network, network.encrypted, CREDENTIALS[credentials])
    with closing(Transport(config, clock=FakeClock())) as transport, suppress(PinotPluginError):
        transport.request("GET", "/x")
    assert [seen.method for seen in network.proxy.requests] == ["CONNECT"]
    assert received(network.proxy) == [None]


@pytest.mark.parametrize("role", ["broker", "server"])
def test_credentials_beside_https_are_not_sent_to_an_http_address(
    role: str, network: Network, tmp_path: Path
) -> None:
    home = controller_of(network, network.encrypted, CREDENTIALS["bearer"])
    with ControllerClient(home) as client, ServerTars(client, {"s": network.plain.url}) as tars:
        calls: Mapping[str, Callable[[], object]] = {
            "broker": lambda: BrokerConfig.like(home, (network.plain.url,)),
            "server": lambda: tars.download("s", TableName("t_OFFLINE"), "s", tmp_path / "tar", MAX_BYTES),
        }
        with pytest.raises(ConfigError, match="without TLS"):
            calls[role]()
    assert network.plain.requests == []
    open_config = BrokerConfig.like(replace(home, auth=None), (network.plain.url,))
    assert open_config.urls == (network.plain.url,)


@pytest.mark.parametrize("credentials", CREDENTIALS)
@pytest.mark.parametrize("has_tls_port", [False, True])
def test_a_hosted_minion_sends_credentials_to_discovered_controllers_with_tls_alone(
    credentials: str, has_tls_port: bool, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryPropertyStore()
    monkeypatch.setattr(MemoryPropertyStore, "__enter__", lambda self: self)
    monkeypatch.setattr(joining, "PropertyStore", lambda *_args, **_kwargs: store)
    network.redirects(None)
    tls_port = {"PINOT_TLS_PORT": str(port_of(network.encrypted))} if has_tls_port else {}
    address = {"HELIX_HOST": "Controller_127.0.0.1", "HELIX_PORT": str(port_of(network.plain)), **tls_port}
    record = {"id": "Controller_a", "simpleFields": address, "mapFields": {}, "listFields": {}}
    store.zookeeper.znodes["/c/CONFIGS/PARTICIPANT/Controller_a"] = (json.dumps(record).encode(), 0)
    store.zookeeper.znodes["/c/LIVEINSTANCES/Controller_a"] = (b"{}", 0)
    auth = CREDENTIALS[credentials]
    # The address is the default, which nobody gave.
    given = ControllerConfig("http://localhost:9000", auth=auth, tls=network.tls, retry=ONCE)
    given = given if auth else replace(given, tls=ControllerConfig("http://localhost:9000").tls)
    with suppress(PinotPluginError):
        config = joining.controllers_in_zookeeper(given, "z:1", "c", ZooKeeperAccess(), 0, FakeClock())
        with ControllerClient(config) as client:
            client.cluster.app_config()
    assert received(network.plain) == ([] if auth else [None])
    assert network.proxy.requests == []
    assert received(network.encrypted) == ([auth.header()] if auth and has_tls_port else [])
