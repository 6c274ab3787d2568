"""Instances and tenants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.transport import Transport, path_of

__all__ = ["DRAINED", "Instance", "InstancesApi", "Tenants", "TenantsApi"]

DRAINED = "minion_drained"
"""Tag of a minion that gets no new subtasks (Pinot 1.5 and later): it stands in the place of all others."""


@dataclass(frozen=True)
class Instance:
    """A role's registration in Helix.

    Attributes:
        name: E.g. ``Server_localhost_8098``.
        host: Host that it advertises.
        port: Port that it advertises.
        enabled: Whether Helix gives it work.
        tags: Its tags, e.g. ``DefaultTenant_OFFLINE``.
        details: Pinot's whole answer.
    """

    name: str
    host: str
    port: int
    enabled: bool
    tags: tuple[str, ...]
    details: dict[str, Any]


class InstancesApi:
    """Resource group ``/instances``."""

    def __init__(self, transport: Transport, capabilities: Callable[[], Capabilities]) -> None:
        self._transport = transport
        self._capabilities = capabilities

    def live(self) -> list[str]:
        """Return the names of the instances that are up.

        Raises:
            UnsupportedError: The version lacks the endpoint.
        """
        self._capabilities().require(
            Capability.LIVE_INSTANCES, remedy="read the live instances from ZooKeeper"
        )
        return sorted(self._transport.get_json("/liveinstances")["instances"])

    def list(self) -> list[str]:
        """Return the names of all registered instances, dead ones included."""
        return sorted(self._transport.get_json("/instances")["instances"])

    def get(self, name: str) -> Instance:
        """Return one instance.

        Raises:
            NotFoundError: There is none of that name.
        """
        document = self._transport.get_json(path_of("instances", name))
        return Instance(
            name=document["instanceName"],
            host=document["hostName"],
            port=int(document["port"]),
            enabled=bool(document["enabled"]),
            tags=tuple(document.get("tags") or ()),
            details=document,
        )

    def tags(self, name: str) -> tuple[str, ...]:
        """Return an instance's tags.

        Raises:
            NotFoundError: There is none of that name.
        """
        return self.get(name).tags

    def set_tags(self, name: str, tags: Sequence[str]) -> None:
        """Replace an instance's tags; a broker serves the tables of its new tenants at once.

        Raises:
            RejectedError: No tag is given, or there is no such instance.
        """
        self._transport.request(
            "PUT",
            path_of("instances", name, "updateTags"),
            params={"tags": ",".join(tags), "updateBrokerResource": "true"},
        )

    def drop(self, name: str) -> None:
        """Take a dead instance out of the cluster.

        Raises:
            NotFoundError: There is none of that name.
            ConflictError: It is alive or still holds segments.
        """
        self._transport.request("DELETE", path_of("instances", name))


@dataclass(frozen=True)
class Tenants:
    """Names of the tenants, by what they serve."""

    server: tuple[str, ...]
    broker: tuple[str, ...]


class TenantsApi:
    """Resource group ``/tenants``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> Tenants:
        """Return the names of all tenants."""
        document = self._transport.get_json("/tenants")
        return Tenants(
            server=tuple(sorted(document.get("SERVER_TENANTS") or ())),
            broker=tuple(sorted(document.get("BROKER_TENANTS") or ())),
        )
