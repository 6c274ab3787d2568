"""Segment tars by HTTP: credentials go only to the cluster's own hosts, over its own scheme.

A segment's download URL comes from its metadata and may name any host, and any host may redirect elsewhere.
"""

from __future__ import annotations

import logging
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from controller_client.common.credential_rules import Origin
from controller_client.common.parsing import whole_number
from controller_client.config import BrokerConfig
from controller_client.errors import AuthError, DataError, RejectedError
from controller_client.rest.bodies import Download
from controller_client.rest.client import RestClient
from controller_client.rest.paths import path_of
from controller_client.rest.transport import Transport

__all__ = ["TAR_TIMEOUT_S", "HttpCopies", "download_tar"]

# On DEBUG, urllib3 logs each request with its query, which may be a signature.
logging.getLogger("urllib3.connectionpool").setLevel(logging.INFO)

TAR_TIMEOUT_S = 600.0
"""A server builds the whole tar before it sends the first byte."""

_MAX_REDIRECTS = 5


class HttpCopies:
    """Fetches tars by their URLs; threads may share it.

    Credentials and the client certificate are sent to controllers at the configured addresses, to controllers
    and servers that are registered in the cluster, and to the address that the controller reports as its own
    (``controller.vip.host``). All other hosts, and these under another scheme, get a request without them.

    Args:
        client: Client of the cluster.
    """

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._known = {Origin.of(url): True for url in client.config.urls}
        self._home_ports = frozenset(home.port for home in self._known)

    def download(self, url: str, path: Path, max_bytes: int) -> None:
        """Fetch a file; redirects are followed, and each host is judged separately.

        Args:
            url: Address; its query is sent, but never shown.
            path: File to write.
            max_bytes: Maximum number of bytes to write.

        Raises:
            DataError: It is not an http(s) address, or the file is longer.
            AuthError: The host rejects the credentials, or requires credentials that it must not get.
            PinotPluginError: It cannot be fetched.
        """
        for _ in range(_MAX_REDIRECTS + 1):
            found = self._get(url, path, max_bytes)
            if found.redirect is None:
                return
            url = found.redirect
        raise RejectedError(f"there are more than {_MAX_REDIRECTS} redirects", where=_origin_of(url).url)

    def _get(self, url: str, path: Path, max_bytes: int) -> Download:
        origin, parts = _origin_of(url), urlsplit(url)
        is_own = self._is_own(origin)
        home = self._client.config
        if not is_own:
            bare = replace(home.tls, client_cert_file=None, client_key_file=None)
            home = replace(home, auth=None, tls=bare)
        transport = Transport(BrokerConfig.like(home, (origin.url,)), clock=self._client.clock)
        try:
            with closing(transport), path.open("wb") as file:
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
                f"{origin.url} refuses a request without credentials, but is sent none because it is not a "
                "controller or server of the cluster under the cluster's scheme",
                where=error.where,
                http_status=error.http_status,
            ) from None

    def _is_own(self, origin: Origin) -> bool:
        if origin.scheme != self._client.config.scheme:
            return False
        with self._lock:
            if origin not in self._known:
                self._known[origin] = self._is_listed(origin)
            return self._known[origin]

    def _is_listed(self, origin: Origin) -> bool:
        instances = self._client.instances
        for name in instances.list():
            is_controller = name.startswith("Controller_")
            # There may be hundreds of servers, but their names contain their hosts.
            if is_controller or (name.startswith("Server_") and origin.host in name.lower()):
                instance = instances.find(name)
                if instance is None:
                    continue
                # Pinot does not report a controller's TLS port; as a rule, all controllers use the same.
                ports = {instance.port, *self._home_ports}
                if not is_controller:
                    ports = {whole_number(str(instance.details.get("adminPort"))) or 0}
                if instance.host.lower() == origin.host and origin.port in ports:
                    return True
        config = self._client.cluster.app_config()
        vip_port = config.get("controller.vip.port") or config.get("controller.port")
        return (config.get("controller.vip.host", "").lower(), vip_port) == (origin.host, str(origin.port))


def _origin_of(url: str) -> Origin:
    try:
        return Origin.of(url)
    except ValueError:
        # The address may contain a secret, so it is not shown.
        raise DataError(
            "a segment's address cannot be parsed", expected="http(s)://host[:port]/path"
        ) from None


def download_tar(transport: Transport, table: str, segment: str, path: Path, max_bytes: int) -> int:
    """Have a server tar a segment, by its admin API, and write it to a file; return the number of bytes.

    Raises:
        NotFoundError: The server does not have the segment.
        DataError: The tar is longer than ``max_bytes``.
        NotAppliedError: It does not answer.
    """
    with path.open("wb") as target:
        return transport.download(
            path_of("segments", table, segment), target, read_timeout_s=TAR_TIMEOUT_S, max_bytes=max_bytes
        )
