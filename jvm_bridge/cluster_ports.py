"""The ports of each role of a local cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller_client.common.formats import only_known
from controller_client.errors import ConfigError

__all__ = ["HOST", "ClusterPorts", "KafkaPorts", "ServerPorts"]

HOST = "127.0.0.1"
"""The advertised host of all roles; addresses in ZooKeeper are reachable only from this machine."""

_LARGEST_PORT = 65535
_BASE_SERVER_OFFSET, _PORTS_PER_SERVER = 10, 3


@dataclass(frozen=True)
class ServerPorts:
    """Ports of one server."""

    query: int
    admin: int
    grpc: int


@dataclass(frozen=True)
class KafkaPorts:
    """Ports of the Kafka node: for clients, and for its own controller."""

    client: int
    controller: int

    @classmethod
    def usual(cls) -> KafkaPorts:
        """Kafka's own default ports."""
        return cls(9092, 9093)

    @classmethod
    def from_base(cls, base: int) -> KafkaPorts:
        """The ports after the minion's in :meth:`ClusterPorts.from_base`."""
        return cls(base + 4, base + 5)


@dataclass(frozen=True)
class ClusterPorts:
    """Ports of a whole cluster; without Kafka if ``kafka`` is None."""

    zookeeper: int
    controller: int
    broker: int
    minion: int
    servers: tuple[ServerPorts, ...]
    kafka: KafkaPorts | None = None

    def __post_init__(self) -> None:
        named = self.named()
        by_port: dict[int, str] = {}
        for name, port in named.items():
            if not 0 < port <= _LARGEST_PORT:
                raise ConfigError(f"the port of {name} would be {port}", expected=f"1 to {_LARGEST_PORT}")
            if port in by_port:
                raise ConfigError(f"{name} and {by_port[port]} would both use port {port}")
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
        """Parse the result of `dataclasses.asdict`."""
        servers = tuple(ServerPorts(**only_known(ServerPorts, ports)) for ports in document["servers"])
        kafka = document.get("kafka")
        return cls(
            **{
                **only_known(cls, document),
                "servers": servers,
                "kafka": KafkaPorts(**only_known(KafkaPorts, kafka)) if kafka else None,
            }
        )

    def on_all_addresses(self) -> dict[str, int]:
        """Return the ports, by role and use, that Pinot's configuration cannot bind to :data:`HOST`."""
        ports = {"minion": self.minion}
        for number, server in enumerate(self.servers, start=1):
            ports |= {f"server-{number}": server.query, f"server-{number} grpc": server.grpc}
        return ports

    def named(self) -> dict[str, int]:
        """Return all ports by role and use."""
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
        if self.kafka is not None:
            ports["kafka"] = self.kafka.client
            ports["kafka controller"] = self.kafka.controller
        return ports
