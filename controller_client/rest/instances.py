"""Instances: the roles registered in Helix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller_client.common.names import TableName
from controller_client.common.text import counted_text
from controller_client.errors import NotFoundError
from controller_client.rest.capabilities import Capability
from controller_client.rest.cluster import ClusterApi
from controller_client.rest.paths import path_of
from controller_client.rest.tables import TablesApi
from controller_client.rest.transport import Transport

__all__ = ["DRAINED", "DropCheck", "Instance", "InstancesApi"]

DRAINED = "minion_drained"
"""Tag of a minion that gets no new subtasks (Pinot 1.5 and later); it replaces all other tags."""

_BROKER_RESOURCE = "brokerResource"
_HAS_RESOURCE = "CONTAINS_RESOURCE"


@dataclass(frozen=True)
class Instance:
    """A role's registration in Helix.

    Attributes:
        name: E.g. ``Server_localhost_8098``.
        host: Its advertised host.
        port: Its advertised port.
        enabled: Whether Helix gives it work.
        tags: Its tags, e.g. ``DefaultTenant_OFFLINE``.
        details: Pinot's complete response.
    """

    name: str
    host: str
    port: int
    enabled: bool
    tags: tuple[str, ...]
    details: dict[str, Any]


@dataclass(frozen=True)
class DropCheck:
    """What keeps an instance from being dropped.

    Attributes:
        name: The instance.
        live: Whether it is connected to the cluster.
        segments: Table (name with type) -> number of its segments on the instance in the ideal state.
        broker_of: Tables assigned to it in the broker resource.
        others: Other Helix resources that name it.
    """

    name: str
    live: bool
    segments: Mapping[str, int] = field(default_factory=dict)
    broker_of: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def obstacles(self) -> list[str]:
        """Each obstacle as a clause, with what to do about it; empty if the instance can be dropped."""
        obstacles = ["it is live (stop it first)"] if self.live else []
        obstacles += [
            f"it has {counted_text(count, 'segment')} of {table} (remove its tags, then rebalance the table)"
            for table, count in sorted(self.segments.items())
        ]
        if self.broker_of:
            obstacles.append(f"it is a broker of {', '.join(self.broker_of)} (remove its tags)")
        return obstacles + [f"it is in the ideal state of {each}" for each in self.others]


class InstancesApi:
    """Resource group ``/instances``."""

    def __init__(self, transport: Transport, cluster: ClusterApi, tables: TablesApi) -> None:
        self._transport = transport
        self._cluster = cluster
        self._tables = tables

    def live(self) -> list[str]:
        """Return the names of the live instances."""
        if self._cluster.capabilities().has(Capability.LIVE_INSTANCES):
            return sorted(self._transport.get_json("/liveinstances", list, key="instances"))
        path = f"/{self._cluster.name()}/LIVEINSTANCES"
        return sorted(self._transport.get_json("/zk/ls", list, params={"path": path}))

    def list(self) -> list[str]:
        """Return the names of all registered instances, including dead ones."""
        return sorted(self._transport.get_json("/instances", list, key="instances"))

    def get(self, name: str) -> Instance:
        """Return an instance.

        Raises:
            NotFoundError: There is no such instance.
        """
        return self._transport.get_value(path_of("instances", name), dict, _instance)

    def find(self, name: str) -> Instance | None:
        """Return an instance, or None if it does not exist: a listed one may have been dropped since."""
        try:
            return self.get(name)
        except NotFoundError:
            return None

    def tags(self, name: str) -> tuple[str, ...]:
        """Return an instance's tags.

        Raises:
            NotFoundError: There is no such instance.
        """
        return self.get(name).tags

    def create(self, role: str, host: str, port: int, *, tags: Sequence[str] = ()) -> str:
        """Register an instance before it starts, e.g. to tag it.

        Args:
            role: ``server``, ``broker``, ``minion`` or ``controller``.
            host: The host it will advertise.
            port: The port it will advertise.
            tags: Its tags.

        Returns:
            Its name.

        Raises:
            ConflictError: It is already registered.
        """
        document = {"host": host, "port": port, "type": role.upper(), "tags": list(tags)}
        self._transport.request("POST", "/instances", json=document)
        return f"{role.capitalize()}_{host}_{port}"

    def set_tags(self, name: str, tags: Sequence[str], *, update_broker_resource: bool = False) -> None:
        """Replace an instance's tags.

        Args:
            name: The instance.
            tags: All of its new tags.
            update_broker_resource: Let a broker serve exactly the tables of its new tags at once; default: at
                the next rebuild of each table's brokers.

        Raises:
            RejectedError: No tag is given, or there is no such instance.
        """
        self._transport.request(
            "PUT",
            path_of("instances", name, "updateTags"),
            params={"tags": ",".join(tags), "updateBrokerResource": str(update_broker_resource).lower()},
        )

    def set_enabled(self, name: str, enabled: bool) -> None:
        """Enable or disable an instance: whether Helix gives it work. Its registration stays.

        Raises:
            NotFoundError: There is no such instance.
            AppliedError: The change was applied, but ten seconds later the instance is not live, or its
                segments have not changed state.
            OutcomeUnknownError: The reply was lost; repeating the call does no harm.
        """
        path = path_of("instances", name, "state")
        word = "enable" if enabled else "disable"
        if self._cluster.capabilities().has(Capability.STATES_BY_PUT):
            self._transport.request("PUT", path, params={"state": word})
        else:
            self._transport.request("POST", path, text=word)

    def drop_check(self, name: str) -> DropCheck:
        """Return what keeps an instance from being dropped; changes nothing.

        Before Pinot 1.0 this reads the ideal state of each table.

        Raises:
            NotFoundError: There is no such instance.
        """
        self.get(name)
        live = name in self.live()
        segments: dict[str, int] = {}
        broker_of: tuple[str, ...] = ()
        others = []
        for resource in self._resources(name):
            table = TableName.parse(resource)
            if table is not None:
                if count := self._segments_on(name, table):
                    segments[table] = count
            elif resource == _BROKER_RESOURCE:
                broker_of = self._broker_of(name)
            else:
                others.append(resource)
        return DropCheck(name, live, segments, broker_of, tuple(others))

    def drop(self, name: str) -> None:
        """Remove a dead instance from the cluster.

        Raises:
            NotFoundError: There is no such instance.
            ConflictError: It is alive or still has segments.
        """
        self._transport.request("DELETE", path_of("instances", name))

    def _resources(self, name: str) -> Sequence[str]:
        """Return the Helix resources that may have something on an instance."""
        if not self._cluster.capabilities().has(Capability.DROP_CHECK):
            tables = self._tables.list_typed()
            return [*tables, _BROKER_RESOURCE]
        path, params = "/instances/dropInstance/validate", {"instanceNames": name}
        answer = self._transport.get_json(path, list, params=params)
        issues = [issue for each in answer for issue in each["issues"]]
        # The resource is the last word of the message; there is no field for it.
        return [
            str(issue["message"]).rpartition(" ")[2] for issue in issues if issue.get("code") == _HAS_RESOURCE
        ]

    def _segments_on(self, name: str, table: TableName) -> int:
        try:
            ideal = self._tables.ideal_state(table)
        except NotFoundError:  # deleted meanwhile
            return 0
        return sum(name in states for states in ideal.values())

    def _broker_of(self, name: str) -> tuple[str, ...]:
        path = f"/{self._cluster.name()}/IDEALSTATES/{_BROKER_RESOURCE}"
        served = self._transport.get_json("/zk/get", dict, key="mapFields", params={"path": path})
        return tuple(sorted(table for table, brokers in served.items() if name in brokers))


def _instance(document: dict[str, Any]) -> Instance:
    return Instance(
        name=document["instanceName"],
        host=document["hostName"],
        port=int(document["port"]),
        enabled=bool(document["enabled"]),
        tags=tuple(document.get("tags") or ()),
        details=document,
    )
