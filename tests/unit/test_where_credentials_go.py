"""Each transport against servers that record what arrives, with options and a machine that try to leak.

The machine has a netrc for every host, and a proxy. In every case, credentials arrive only where they belong:
nothing without TLS beside https, and nothing at a host that nobody named.
"""

from __future__ import annotations

import itertools
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.common.retry import RetryPolicy
from controller_client.config import Auth, BasicAuth, BearerToken, BrokerConfig, ControllerConfig, Secret, Tls
from controller_client.deepstore.http_copies import HttpCopies
from controller_client.deepstore.servers import ServerTars
from controller_client.errors import ConfigError, PinotPluginError
from controller_client.filestore import open_store
from controller_client.rest.transport import Transport
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess
from jvm_bridge.jars.download import Repository
from jvm_bridge.jars.pins import Pin
from key_coordinator.reading.avro_messages import AvroMessages
from key_coordinator.reading.recipe import MessageFormat
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer
from tests.unit.fake_clock import FakeClock

ONCE = RetryPolicy(attempts=1)
MAX_BYTES = 1 << 20
CREDENTIALS: Mapping[str, Auth | None] = {
    "none": None,
    "basic": BasicAuth("me", Secret("hush")),
    "bearer": BearerToken(Secret("hush-token")),
}


@dataclass
class Network:
    """The servers of a test.

    Attributes:
        plain: A host of the cluster, over http.
        encrypted: The same over https.
        foreign: A host that nobody named.
        proxy: The machine's proxy.
        tls: Trusts the authority of `encrypted`.
    """

    plain: ScriptedServer
    encrypted: ScriptedServer
    foreign: ScriptedServer
    proxy: ScriptedServer
    tls: Tls

    def redirects(self, target: str | None) -> None:
        """Have the cluster's hosts redirect to this server, or respond."""

        def respond(seen: Seen) -> Step:
            if target is None or "again" in seen.target:
                return answer(200, {"schema": '"string"'})
            url = {"plain": self.plain, "encrypted": self.encrypted, "foreign": self.foreign}[target].url
            return answer(307, None, {"Location": f"{url}/again"})

        self.plain.answers = self.encrypted.answers = respond

    def home(self, scheme: str) -> ScriptedServer:
        return self.encrypted if scheme == "https" else self.plain


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """Return the file with the authority's certificate, and a server's context."""
    made = trustme.CA()
    file = tmp_path_factory.mktemp("authority") / "authority.pem"
    made.cert_pem.write_to_path(file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.issue_cert("127.0.0.1").configure_cert(context)
    return file, context


@pytest.fixture
def network(
    authority: tuple[Path, ssl.SSLContext], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Network]:
    file, context = authority
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login netrc password netrc\ndefault login netrc password netrc\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("NO_PROXY", "no_proxy", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    with ExitStack() as stack:
        plain, foreign, proxy = (
            stack.enter_context(ScriptedServer(host=f"127.0.0.{number}")) for number in (1, 2, 3)
        )
        encrypted = stack.enter_context(ScriptedServer(tls=context))
        for server in (foreign, proxy):
            server.answers = lambda _seen: answer(200, {})
        for variable in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(variable, proxy.url)
        yield Network(plain, encrypted, foreign, proxy, Tls(ca_file=str(file)))


def received(server: ScriptedServer) -> list[str | None]:
    return [seen.headers.get("Authorization") for seen in server.requests]


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


TRANSPORTS: Mapping[str, Callable[[Network, ScriptedServer, Auth | None, Path], None]] = {
    made.__name__: made
    for made in (
        *(controller, change, download, broker, server_tar, copy),
        *(registry, name_node, mirror),
    )
}
# These have no option for the authorities to trust, and so never get as far as a request here.
TRUSTS_ONLY_THE_SYSTEM = {"registry", "name_node", "mirror"}


@pytest.mark.parametrize(
    ("transport", "scheme", "credentials", "redirect"),
    [
        case
        for case in itertools.product(
            TRANSPORTS, ("http", "https"), CREDENTIALS, (None, "plain", "encrypted", "foreign")
        )
        if not (case[1] == "https" and case[0] in TRUSTS_ONLY_THE_SYSTEM)
    ],
)
def test_credentials_arrive_only_where_they_belong(
    transport: str, scheme: str, credentials: str, redirect: str | None, network: Network, tmp_path: Path
) -> None:
    auth, home = CREDENTIALS[credentials], network.home(scheme)
    network.redirects(redirect)
    with suppress(PinotPluginError, OSError):
        TRANSPORTS[transport](network, home, auth, tmp_path)
    assert home.requests or network.proxy.requests
    if auth is None:
        everything = (network.plain, network.encrypted, network.foreign, network.proxy)
        assert {name for server in everything for name in received(server)} <= {None}
        return
    assert received(home)[0] is not None
    assert "netrc" not in str(received(home))
    assert set(received(network.foreign)) <= {None}
    assert set(received(network.proxy)) <= {None}
    if scheme == "https":
        assert set(received(network.plain)) <= {None}


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


def test_no_module_opens_a_session_of_its_own() -> None:
    root = Path(__file__).parents[2]
    packages = (
        "controller_client",
        "jvm_bridge",
        "minion_tasks",
        "pinot_airflow",
        "pinotctl",
        "server_hooks",
    )
    verbs = "Session|session|get|head|post|put|patch|delete|request"
    session = re.compile(rf"\brequests\.({verbs})\(|\b(urlopen|PoolManager)\(")
    found = {
        str(file.relative_to(root))
        for package in (*packages, "spark_connectors", "pyspark_pinot")
        for file in (root / package).rglob("*.py")
        if session.search(file.read_text())
    }
    assert found == set(), "use controller_client.common.http_session.HttpSession"


@pytest.mark.parametrize("is_digest", [False, True])
def test_a_password_for_zookeeper_does_not_go_where_a_controller_says(
    is_digest: bool, network: Network
) -> None:
    config = {"pinotConfig": {"controller.zk.str": "evil:2181"}}
    network.plain.answers = lambda _seen: answer(200, config)
    by_digest = ZooKeeperAccess(auth=AuthKind.DIGEST, username="me", password=Secret("hush"))
    with ControllerClient(controller_of(network, network.plain, CREDENTIALS["basic"])) as client:
        assert client.cluster.zookeeper_address() == "evil:2181"
        if is_digest:
            with pytest.raises(ConfigError, match="only what the controller reports"):
                client.cluster.zookeeper_for(by_digest)
        else:
            assert client.cluster.zookeeper_for(ZooKeeperAccess()) == "evil:2181"


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
