"""Credentials go only to the cluster's own hosts, whatever URLs and redirects name."""

from __future__ import annotations

import logging
import traceback
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.common.retry import RetryPolicy
from controller_client.config import BasicAuth, ControllerConfig, Secret, Tls
from controller_client.deepstore.http_copies import HttpCopies
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.servers import ServerAdmins
from controller_client.errors import AuthError, DataError, PinotPluginError, RejectedError, UnreachableError
from tests.unit.controller_client.deepstore.samples import endless
from tests.unit.controller_client.scripted_server import (
    ScriptedServer,
    Seen,
    Step,
    answer,
    closed_port,
    truncate,
)
from tests.unit.fake_clock import FakeClock

PASSWORD = "s3cr3t-password"
SIGNATURE = "X-Amz-Signature=abc%2Bdef&X-Amz-Credential=key%2Fday"
TAR = b"a tar"
MOST = 1000

Listen = Callable[..., ScriptedServer]


@pytest.fixture
def listen() -> Iterator[Listen]:
    with ExitStack() as stack:

        def start(*script: Step, host: str = "127.0.0.1") -> ScriptedServer:
            return stack.enter_context(ScriptedServer(*script, host=host))

        yield start


class Cluster:
    """A controller that knows instances; it sends tars, and redirects for certain paths."""

    def __init__(self, listen: Listen) -> None:
        self.controller = listen()
        self.controller.answers = self._answer
        self.instances: dict[str, Mapping[str, Any]] = {}
        self.config: dict[str, str] = {}
        self.redirects: dict[str, str] = {}
        auth = BasicAuth("admin", Secret(PASSWORD))
        self.client = ControllerClient(
            ControllerConfig(self.controller.url, auth=auth, retry=RetryPolicy(attempts=1)), clock=FakeClock()
        )
        self.copies = HttpCopies(self.client)

    def add(self, name: str, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self.instances[name] = {
            "instanceName": name,
            "hostName": host,
            "port": port if name.startswith("Controller_") else "8098",
            "enabled": True,
            "adminPort": port,
        }

    def _answer(self, seen: Seen) -> Step:
        if seen.path in self.redirects:
            return answer(302, "", {"Location": self.redirects[seen.path]})
        if seen.path == "/instances":
            return answer(200, {"instances": list(self.instances)})
        if seen.path.startswith("/instances/"):
            return answer(200, self.instances[seen.path.removeprefix("/instances/")])
        if seen.path == "/appconfigs":
            return answer(200, {"pinotConfig": self.config})
        return answer(200, TAR)


@pytest.fixture
def cluster(listen: Listen) -> Iterator[Cluster]:
    cluster = Cluster(listen)
    yield cluster
    cluster.client.close()


def credentials(server: ScriptedServer) -> list[str | None]:
    return [seen.headers.get("Authorization") for seen in server.requests]


def fetched(cluster: Cluster, url: str, folder: Path) -> bytes:
    cluster.copies.download(url, folder / "tar", MOST)
    return (folder / "tar").read_bytes()


def test_the_configured_controller_gets_credentials(cluster: Cluster, tmp_path: Path) -> None:
    assert fetched(cluster, f"{cluster.controller.url}/segments/t/s", tmp_path) == TAR
    (sent,) = credentials(cluster.controller)
    assert sent is not None
    assert sent.startswith("Basic ")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
def test_another_host_never_sees_credentials(
    cluster: Cluster, listen: Listen, tmp_path: Path, host: str
) -> None:
    other = listen(answer(200, TAR), host=host)
    assert fetched(cluster, f"{other.url}/bucket/s?{SIGNATURE}", tmp_path) == TAR
    assert credentials(other) == [None]
    assert other.requests[0].target == f"/bucket/s?{SIGNATURE}"


def test_a_redirect_to_another_host_sends_none_and_one_back_does(
    cluster: Cluster, listen: Listen, tmp_path: Path
) -> None:
    cluster.redirects["/to"] = "/near?x=1"
    there = listen(answer(302, "", {"Location": f"{cluster.controller.url}/to"}), host="127.0.0.2")
    cluster.redirects["/away"] = f"{there.url}/there?{SIGNATURE}"
    assert fetched(cluster, f"{cluster.controller.url}/away", tmp_path) == TAR
    assert there.requests[0].target == f"/there?{SIGNATURE}"
    assert credentials(there) == [None]
    own = [seen for seen in cluster.controller.requests if seen.path in ("/away", "/to", "/near")]
    assert [seen.target for seen in own] == ["/away", "/to", "/near?x=1"]
    assert all("Authorization" in seen.headers for seen in own)


def test_controllers_and_servers_of_the_cluster_get_them(
    cluster: Cluster, listen: Listen, tmp_path: Path
) -> None:
    second, server, broker = (listen(answer(200, TAR), host=f"127.0.0.{number}") for number in (2, 3, 4))
    cluster.add("Controller_127.0.0.2_9000", second.url)
    cluster.add("Server_127.0.0.3_8098", server.url)
    cluster.add("Broker_127.0.0.4_8099", broker.url)
    for each in (second, server, broker):
        assert fetched(cluster, f"{each.url}/segments/t/s", tmp_path) == TAR
    assert None not in credentials(second) + credentials(server)
    assert credentials(broker) == [None]


def test_a_controller_at_the_configured_port_gets_them(cluster: Cluster, tmp_path: Path) -> None:
    """Even if it registers another port: with TLS, Pinot reports the port of plain HTTP."""
    port = int(cluster.controller.url.rpartition(":")[2])
    cluster.add("Controller_127.0.0.2_9000", "http://127.0.0.2:9000")
    with ScriptedServer(answer(200, TAR), host="127.0.0.2", port=port) as second:
        assert fetched(cluster, f"{second.url}/segments/t/s", tmp_path) == TAR
        assert None not in credentials(second)


def test_the_address_that_the_controller_reports_gets_them(
    cluster: Cluster, listen: Listen, tmp_path: Path
) -> None:
    vip, other = (listen(answer(200, TAR), host="127.0.0.2") for _ in range(2))
    cluster.config = {"controller.vip.host": "127.0.0.2", "controller.vip.port": vip.url.rpartition(":")[2]}
    for each in (vip, other):
        assert fetched(cluster, f"{each.url}/segments/t/s", tmp_path) == TAR
    assert None not in credentials(vip)
    assert credentials(other) == [None]


def test_a_cluster_under_tls_sends_none_without(listen: Listen, tmp_path: Path) -> None:
    plain = listen(answer(200, TAR))
    address = plain.url.replace("http:", "https:")
    config = ControllerConfig(address, auth=BasicAuth("admin", Secret(PASSWORD)))
    with ControllerClient(config, clock=FakeClock()) as client:
        HttpCopies(client).download(f"{plain.url}/segments/t/s", tmp_path / "tar", MOST)
    assert credentials(plain) == [None]


def test_a_client_certificate_is_only_for_the_clusters_hosts(
    listen: Listen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = listen(), listen(host="127.0.0.2")
    tls = Tls(client_cert_file=str(tmp_path / "none.pem"), verify=False)
    policy = RetryPolicy(attempts=1)
    config = ControllerConfig(own.url.replace("http:", "https:"), tls=tls, retry=policy)
    # As if the file had existed when the client was created.
    monkeypatch.setattr(Tls, "check", lambda _tls: None)
    with ControllerClient(config, clock=FakeClock()) as client:
        monkeypatch.setattr(client.instances, "list", list)
        monkeypatch.setattr(client.cluster, "app_config", dict)
        copies = HttpCopies(client)
        with pytest.raises(OSError, match=r"TLS certificate file.*none\.pem"):
            copies.download(f"{config.url}/s", tmp_path / "tar", MOST)
        # Without it the handshake begins, which this listener does not understand.
        with pytest.raises(UnreachableError):
            copies.download(f"{other.url.replace('http:', 'https:')}/s", tmp_path / "tar", MOST)


def test_credentials_from_the_users_netrc_are_not_sent(
    cluster: Cluster, listen: Listen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password mine\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    other = listen(answer(200, TAR), host="127.0.0.2")
    name = other.url.replace("http://", "http://user:word@")
    for url in (other.url, name):
        other.script.append(answer(200, TAR))
        fetched(cluster, f"{url}/s", tmp_path)
    assert credentials(other) == [None, None]


def test_a_server_that_redirects_is_refused(cluster: Cluster, listen: Listen, tmp_path: Path) -> None:
    other = listen(host="127.0.0.2")
    server = listen(answer(302, "", {"Location": f"{other.url}/x"}), host="127.0.0.3")
    cluster.add("Server_1", server.url)
    with (
        ServerAdmins(cluster.client, RateLimit(1e9, FakeClock())) as servers,
        pytest.raises(RejectedError, match="another host"),
    ):
        servers.download("Server_1", TableName("t_OFFLINE"), "s", tmp_path / "tar", MOST)
    assert other.requests == []
    assert None not in credentials(server)


def test_endless_redirects_end(cluster: Cluster, tmp_path: Path) -> None:
    cluster.redirects["/around"] = "/around"
    with pytest.raises(RejectedError, match="more than 5 redirects"):
        fetched(cluster, f"{cluster.controller.url}/around", tmp_path)
    assert len(cluster.controller.requests) < 10


@pytest.mark.parametrize("location", ["ftp://127.0.0.2/x", "file:///etc/passwd", "http://", "//["])
def test_a_redirect_to_another_scheme_is_refused(cluster: Cluster, tmp_path: Path, location: str) -> None:
    cluster.redirects["/away"] = location
    with pytest.raises(PinotPluginError):
        fetched(cluster, f"{cluster.controller.url}/away", tmp_path)


def _chunked(handler: Any) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.close_connection = True
    for _ in range(200):
        handler.wfile.write(b"10000\r\n" + bytes(1 << 16) + b"\r\n")


def _packed(handler: Any) -> None:
    """A few bytes that would unpack to more than the limit on the way."""
    body = zlib.compress(bytes(1 << 20))[: MOST - 1]
    handler.send_response(200)
    handler.send_header("Content-Encoding", "deflate")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.mark.parametrize("step", [endless, _chunked, answer(200, bytes(MOST + 1))])
def test_a_body_above_the_limit_is_refused(
    cluster: Cluster, listen: Listen, tmp_path: Path, step: Step
) -> None:
    other = listen(step, host="127.0.0.2")
    with pytest.raises(DataError, match="larger than the allowed 1,000 bytes"):
        fetched(cluster, f"{other.url}/s", tmp_path)
    assert (tmp_path / "tar").stat().st_size <= MOST + (1 << 20)


def test_a_body_is_not_unpacked(cluster: Cluster, listen: Listen, tmp_path: Path) -> None:
    other = listen(_packed, host="127.0.0.2")
    assert len(fetched(cluster, f"{other.url}/s", tmp_path)) < MOST
    assert other.requests[0].headers["Accept-Encoding"] == "identity"


SECRETS = (PASSWORD, "abc%2Bdef", "abc+def", "key%2Fday", "s3cr3t")


@pytest.mark.parametrize(
    "step",
    [
        answer(403, f"<Error>SignatureDoesNotMatch {SIGNATURE}</Error>"),
        answer(404, {"error": f"no {SIGNATURE}"}),
        answer(500, SIGNATURE),
        truncate,
        answer(302, "", {"Location": f"ftp://127.0.0.2/x?{SIGNATURE}"}),
        None,
    ],
)
def test_neither_errors_nor_logs_show_a_signature(
    cluster: Cluster, listen: Listen, tmp_path: Path, caplog: pytest.LogCaptureFixture, step: Step | None
) -> None:
    base = (
        f"http://127.0.0.1:{closed_port()}"
        if step is None
        else listen(step, step, step, host="127.0.0.2").url
    )
    with caplog.at_level(logging.DEBUG), pytest.raises(PinotPluginError) as error:
        fetched(cluster, f"{base}/bucket/s?{SIGNATURE}", tmp_path)
    text = "".join(traceback.format_exception(error.value)) + repr(error.value) + caplog.text
    assert not [secret for secret in SECRETS if secret in text]


def test_a_foreign_host_that_requires_credentials_is_explained(
    cluster: Cluster, listen: Listen, tmp_path: Path
) -> None:
    other = listen(answer(401, "who are you?"), host="127.0.0.2")
    with pytest.raises(AuthError, match="it is not a controller or server of the cluster"):
        fetched(cluster, f"{other.url}/s", tmp_path)
    own = listen(answer(403, {"error": "Permission is denied"}), host="127.0.0.3")
    cluster.add("Controller_127.0.0.3_9000", own.url)
    with pytest.raises(AuthError, match="Permission is denied"):
        fetched(cluster, f"{own.url}/s", tmp_path)
