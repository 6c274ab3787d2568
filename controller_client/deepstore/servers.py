"""Servers: their admin API (checksums of segments, configuration, tars), and which of them a table has."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controller_client.common.closing import Closing
from controller_client.common.names import TableName
from controller_client.common.parsing import whole_number
from controller_client.config import BrokerConfig
from controller_client.deepstore.http_copies import download_tar
from controller_client.deepstore.rate import RateLimit
from controller_client.errors import NotAppliedError, NotFoundError
from controller_client.models import ServerTags, TableConfig
from controller_client.rest.client import RestClient
from controller_client.rest.cluster import visible_config
from controller_client.rest.paths import path_of
from controller_client.rest.transport import Transport

__all__ = ["ServerAdmins", "ServerTars", "TableServers", "table_servers"]


class ServerTars(Closing):
    """Fetches segment tars from servers, by their admin ports, with the client's credentials and TLS.

    A context manager; threads may share it.

    Args:
        client: Client of the cluster.
        addresses: Base addresses of the servers' admin APIs, by the servers' names.
    """

    def __init__(self, client: RestClient, addresses: Mapping[str, str] | None = None) -> None:
        self._client = client
        self._addresses = addresses or {}
        self._lock = threading.Lock()
        self._transports: dict[str, Transport] = {}

    def close(self) -> None:
        """Close the connections."""
        for transport in self._transports.values():
            transport.close()

    def address(self, server: str) -> str:
        """Return the base address of a server's admin API."""
        return self._addresses[server]

    def download(self, server: str, table: TableName, segment: str, path: Path, max_bytes: int) -> int:
        """Have a server tar a segment and write it to a file; see :func:`download_tar`."""
        return download_tar(self._transport(server), table, segment, path, max_bytes)

    def _transport(self, server: str) -> Transport:
        with self._lock:
            transport = self._transports.get(server)
        if transport is None:
            config = BrokerConfig.like(self._client.config, (self.address(server),))
            new_transport = Transport(config, clock=self._client.clock)
            with self._lock:
                transport = self._transports.setdefault(server, new_transport)
            if transport is not new_transport:
                new_transport.close()
        return transport


class ServerAdmins(ServerTars):
    """Client of all servers of a cluster; their addresses come from the controller.

    Args:
        client: Client of the cluster.
        rate: Limits all requests except downloads.
    """

    def __init__(self, client: RestClient, rate: RateLimit) -> None:
        super().__init__(client)
        self._rate = rate

    def crcs(self, server: str, table: TableName) -> dict[str, int]:
        """Return the checksums of all segments of a table that a server has loaded, in one request.

        Consuming segments have none.

        Args:
            server: Name of the instance.
            table: Name with type.

        Raises:
            NotFoundError: The server does not have the table, or has no admin port.
            NotAppliedError: It does not answer.
        """
        self._rate.wait()
        found = self._transport(server).get_json(path_of("tables", table, "segments", "crc"), dict)
        crcs = {name: whole_number(str(crc)) for name, crc in found.items()}
        return {name: crc for name, crc in crcs.items() if crc is not None}

    def config(self, server: str) -> dict[str, str]:
        """Return a server's configuration with masked credentials; errors as for :meth:`crcs`."""
        self._rate.wait()
        return visible_config(self._transport(server).get_json("/appconfigs", dict, key="pinotConfig"))

    def address(self, server: str) -> str:
        """Return the base address of a server's admin API.

        Raises:
            NotFoundError: There is no such instance, or its admin port is unknown.
        """
        self._rate.wait()
        instance = self._client.instances.get(server)
        port = whole_number(str(instance.details.get("adminPort")))
        if not port:
            raise NotFoundError(
                f"the admin port of {server} is unknown",
                where=self._client.config.url,
                remedy="restart the server: it writes its admin port when it joins the cluster",
            )
        return f"{self._client.config.scheme}://{instance.host}:{port}"


@dataclass(frozen=True)
class TableServers:
    """The servers of a table.

    Attributes:
        configs: Configuration of each server by name, or why it does not answer.
        consuming: Names of the servers that consume and commit.
        fewest: Number of servers with that of the tags that the fewest servers have.
    """

    configs: Mapping[str, dict[str, str] | str]
    consuming: frozenset[str]
    fewest: int


def table_servers(client: RestClient, servers: ServerAdmins, config: TableConfig) -> TableServers:
    """Read the configuration of each server of a table.

    Raises:
        NotAppliedError: The controller does not answer.
    """
    tags = ServerTags.of(config)
    counts = Counter(dict.fromkeys((tags.consuming, *tags.others), 0))
    configs: dict[str, dict[str, str] | str] = {}
    consuming = set()
    for name in client.instances.list():
        instance = client.instances.find(name) if name.startswith("Server_") else None
        shared_tags = counts.keys() & instance.tags if instance is not None else set()
        if not shared_tags:
            continue
        counts.update(shared_tags)
        if tags.consuming in shared_tags:
            consuming.add(name)
        try:
            configs[name] = servers.config(name)
        except NotAppliedError as error:
            configs[name] = error.message
    return TableServers(configs, frozenset(consuming), min(counts.values()))
