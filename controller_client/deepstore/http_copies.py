"""Segments' tars by HTTP: credentials go to the cluster's own hosts, over its own scheme, and nowhere else.

A segment's download url comes from its metadata and may name any host; so may the redirect of any host.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import requests

from controller_client.config import BrokerConfig
from controller_client.errors import AuthError, DataError, RejectedError
from controller_client.rest.bodies import Download
from controller_client.rest.client import RestClient
from controller_client.rest.transport import Transport, path_of

__all__ = ["TAR_TIMEOUT_S", "HttpCopies", "download_tar"]

# On DEBUG urllib3 writes each request with its query, which may be a signature.
logging.getLogger("urllib3.connectionpool").setLevel(logging.INFO)

TAR_TIMEOUT_S = 600.0
"""A server makes the whole tar before the first byte."""

_MAX_REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class _Origin:
    """Scheme, host and port of an address."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> _Origin:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in _PORTS or not parts.hostname:
            # The address may hold a secret, so it is not shown.
            raise DataError("an address of a segment cannot be read", expected="http(s)://host[:port]/path")
        return cls(parts.scheme, parts.hostname, port or _PORTS[parts.scheme])

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


class HttpCopies:
    """Fetches tars by their urls; threads may share it.

    Credentials and client certificate are for the controllers at the configured addresses, for controllers
    and servers that are registered in the cluster, and for the address that the controller itself calls its
    own (``controller.vip.host``). All others, and those under another scheme, get the bare request.

    Args:
        client: Client of the cluster.
    """

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._known = {_Origin.of(url): True for url in client.config.urls}
        self._home_ports = frozenset(home.port for home in self._known)

    def download(self, url: str, path: Path, max_bytes: int) -> None:
        """Fetch a file; redirects are followed, each host being judged for itself.

        Args:
            url: Address; its query is kept, and shown nowhere.
            path: File to write.
            max_bytes: Most that is written.

        Raises:
            DataError: It is no http(s) address, or the file is longer.
            AuthError: The host wants credentials that it was sent, or that it is not sent.
            PinotPluginError: It cannot be fetched.
        """
        for _ in range(_MAX_REDIRECTS + 1):
            found = self._get(url, path, max_bytes)
            if found.redirect is None:
                return
            url = found.redirect
        raise RejectedError(f"it is sent on more than {_MAX_REDIRECTS} times", where=_Origin.of(url).url)

    def _get(self, url: str, path: Path, max_bytes: int) -> Download:
        origin, parts = _Origin.of(url), urlsplit(url)
        is_own = self._is_own(origin)
        config = BrokerConfig.like(self._client.config, (origin.url,))
        if not is_own:
            bare = replace(config.tls, client_cert_file=None, client_key_file=None)
            config = replace(config, auth=None, tls=bare)
        try:
            with requests.Session() as session, path.open("wb") as file:
                session.auth = _nothing  # nor what the user's netrc has for all hosts
                transport = Transport(config, session=session, clock=self._client.clock)
                return transport.fetch(
                    parts.path or "/",
                    file,
                    query=parts.query,
                    read_timeout_s=TAR_TIMEOUT_S,
                    max_bytes=max_bytes,
                )
        except AuthError as error:
            if is_own:
                raise
            raise AuthError(
                f"{origin.url} refuses a request without credentials, and gets none: "
                "it is no controller or server of the cluster under its scheme",
                where=error.where,
                http_status=error.http_status,
            ) from None

    def _is_own(self, origin: _Origin) -> bool:
        if origin.scheme != self._client.config.scheme:
            return False
        with self._lock:
            if origin not in self._known:
                self._known[origin] = self._is_listed(origin)
            return self._known[origin]

    def _is_listed(self, origin: _Origin) -> bool:
        instances = self._client.instances
        for name in instances.list():
            is_controller = name.startswith("Controller_")
            # There may be hundreds of servers, and their names have their hosts.
            if is_controller or (name.startswith("Server_") and origin.host in name.lower()):
                instance = instances.get(name)
                # Pinot does not report at which port a controller speaks TLS: as a rule, all at the same.
                ports = {instance.port, *self._home_ports}
                if not is_controller:
                    ports = {int(instance.details.get("adminPort") or 0)}
                if instance.host.lower() == origin.host and origin.port in ports:
                    return True
        config = self._client.cluster.app_config()
        vip_port = config.get("controller.vip.port") or config.get("controller.port")
        return (config.get("controller.vip.host", "").lower(), vip_port) == (origin.host, str(origin.port))


def download_tar(transport: Transport, table: str, segment: str, path: Path, max_bytes: int) -> int:
    """Let a server tar a segment, by its admin API, and write it to a file; returns its bytes.

    Raises:
        NotFoundError: The server does not have the segment.
        DataError: The tar is longer than ``max_bytes``.
        NotAppliedError: It does not answer.
    """
    with path.open("wb") as target:
        return transport.download(
            path_of("segments", table, segment), target, read_timeout_s=TAR_TIMEOUT_S, max_bytes=max_bytes
        )


def _nothing(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
