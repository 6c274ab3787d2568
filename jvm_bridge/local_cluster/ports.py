"""Which port each role of a local cluster listens on."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psutil

from controller_client.errors import ConfigError, SetupError

__all__ = ["HOST", "ClusterPorts", "ServerPorts", "check_free"]

HOST = "127.0.0.1"
"""Everything is advertised here; what stands in ZooKeeper is reachable from this machine alone."""

_LARGEST_PORT = 65535
_BASE_SERVER_OFFSET, _PORTS_PER_SERVER = 10, 3


@dataclass(frozen=True)
class ServerPorts:
    """Ports of one server."""

    query: int
    admin: int
    grpc: int


@dataclass(frozen=True)
class ClusterPorts:
    """Ports of a whole cluster."""

    zookeeper: int
    controller: int
    broker: int
    minion: int
    servers: tuple[ServerPorts, ...]

    def __post_init__(self) -> None:
        named = self.named()
        by_port: dict[int, str] = {}
        for name, port in named.items():
            if not 0 < port <= _LARGEST_PORT:
                raise ConfigError(f"The port of {name} would be {port}", expected=f"1 to {_LARGEST_PORT}")
            if port in by_port:
                raise ConfigError(f"{name} and {by_port[port]} would both have port {port}")
            by_port[port] = name

    @classmethod
    def usual(cls, servers: int = 1) -> ClusterPorts:
        """Pinot's own default ports; each further server ten higher."""
        more = (ServerPorts(8098 + 10 * i, 8097 + 10 * i, 8090 + 10 * i) for i in range(servers))
        return cls(2123, 9000, 8099, 9514, tuple(more))

    @classmethod
    def from_base(cls, base: int, servers: int = 1) -> ClusterPorts:
        """Ports from `base` on: ZooKeeper, controller, broker, minion; servers from base + 10, three each."""
        first = base + _BASE_SERVER_OFFSET
        starts = (first + _PORTS_PER_SERVER * i for i in range(servers))
        return cls(base, base + 1, base + 2, base + 3, tuple(ServerPorts(p, p + 1, p + 2) for p in starts))

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> ClusterPorts:
        """Read what `dataclasses.asdict` wrote."""
        servers = tuple(ServerPorts(**ports) for ports in document["servers"])
        return cls(**{**document, "servers": servers})

    def named(self) -> dict[str, int]:
        """All ports by role and use."""
        ports = {
            "zookeeper": self.zookeeper,
            "controller": self.controller,
            "broker": self.broker,
            "minion": self.minion,
        }
        for number, server in enumerate(self.servers, start=1):
            ports[f"server-{number}"] = server.query
            ports[f"server-{number} admin"] = server.admin
            ports[f"server-{number} grpc"] = server.grpc
        return ports


def check_free(ports: Mapping[str, int]) -> None:
    """Check that nobody listens on these ports.

    Args:
        ports: Port by what it is for.

    Raises:
        SetupError: Some are taken; the message tells all of them and who has them, as far as it can be seen.
    """
    taken = [f"{port} ({name}): {_holder(port)}" for name, port in ports.items() if not _is_free(port)]
    if taken:
        raise SetupError(
            f"Ports are taken: {'; '.join(taken)}",
            remedy="Stop who has them, or give others with --port-base or the single port options.",
        )


def _is_free(port: int) -> bool:
    # Both addresses: a listener on one of them does not hinder a bind to the other, but would get our
    # clients.
    for address in (HOST, "0.0.0.0"):  # noqa: S104  # bound for a moment, never listened on
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError as error:
                if error.errno in {errno.EADDRINUSE, errno.EACCES}:
                    return False
                raise
    return True


def _holder(port: int) -> str:
    try:
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:
        return "another process"
    listening = [c for c in connections if c.status == psutil.CONN_LISTEN and c.pid and c.laddr]
    for connection in listening:
        if connection.laddr and connection.laddr.port == port:
            try:
                return f"pid {connection.pid}, {psutil.Process(connection.pid).name()}"
            except psutil.NoSuchProcess:
                continue
    return "another user's process, or one in a container"
