"""Servers that record what arrives, on a machine whose netrc and proxies try to have credentials leak."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme

from controller_client.config import Auth, BasicAuth, BearerToken, Secret, Tls
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer

__all__ = [
    "CREDENTIALS",
    "Authority",
    "Network",
    "credentials_of",
    "machine",
    "port_of",
    "received",
    "recording_network",
]

CREDENTIALS: Mapping[str, Auth | None] = {
    "none": None,
    "basic": BasicAuth("me", Secret("hush")),
    "bearer": BearerToken(Secret("hush-token")),
}
_BROKERS = "/v2/brokers/tenants"


class Authority:
    """A certificate authority of a test.

    Attributes:
        file: Its certificate.
        context: A server's, with a certificate for 127.0.0.1.
        key_and_chain: The server's key and certificate (PEM).
    """

    def __init__(self, folder: Path) -> None:
        made = trustme.CA()
        self.file = folder / "authority.pem"
        made.cert_pem.write_to_path(self.file)
        issued = made.issue_cert("127.0.0.1")
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issued.configure_cert(self.context)
        chain = b"".join(each.bytes() for each in issued.cert_chain_pems)
        self.key_and_chain = issued.private_key_pem.bytes(), chain


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
        """Have the cluster's hosts redirect to this server, or respond; as controllers, they list themselves
        as the brokers.
        """

        def respond(seen: Seen) -> Step:
            if seen.path == _BROKERS:
                host, _, port = seen.headers["Host"].partition(":")
                return answer(200, {"tenant": [{"host": host, "port": int(port)}]})
            if target is None or "again" in seen.target:
                return answer(200, {"schema": '"string"'})
            url = {"plain": self.plain, "encrypted": self.encrypted, "foreign": self.foreign}[target].url
            return answer(307, None, {"Location": f"{url}/again"})

        self.plain.answers = self.encrypted.answers = respond

    def home(self, scheme: str) -> ScriptedServer:
        return self.encrypted if scheme == "https" else self.plain


def machine(folder: Path, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    """Give this machine a netrc with an entry for every host, and a proxy for http; no settings of Pinot."""
    netrc = folder / "netrc"
    netrc.write_text("machine 127.0.0.1 login netrc password netrc\ndefault login netrc password netrc\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("PINOTCTL_CONFIG", str(folder / "pinotctl.toml"))
    for name in ("NO_PROXY", "no_proxy", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "grpc_proxy"):
        monkeypatch.setenv(name, proxy)


@contextmanager
def recording_network(
    authority: Authority, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Network]:
    """Start the servers, and make this machine a hostile one."""
    with ExitStack() as stack:
        plain, foreign, proxy = (
            stack.enter_context(ScriptedServer(host=f"127.0.0.{number}")) for number in (1, 2, 3)
        )
        encrypted = stack.enter_context(ScriptedServer(tls=authority.context))
        for server in (foreign, proxy):
            server.answers = lambda _seen: answer(200, {})
        machine(folder, monkeypatch, proxy.url)
        yield Network(plain, encrypted, foreign, proxy, Tls(ca_file=str(authority.file)))


def credentials_of(seen: Seen) -> str | None:
    """Return the credentials of a request, whose names of headers may be in lower case."""
    found = {name.lower(): value for name, value in seen.headers.items()}
    return found.get("authorization") or found.get("proxy-authorization")


def received(server: ScriptedServer) -> list[str | None]:
    """Return the credentials of each request."""
    return [credentials_of(seen) for seen in server.requests]


def port_of(server: ScriptedServer) -> int:
    port = urlsplit(server.url).port
    assert port is not None
    return port
