"""Instances: the roles that are registered in Helix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller_client.common.counted_text import counted_text
from controller_client.common.names import TableName
from controller_client.errors import NotFoundError
from controller_client.rest.capabilities import Capability
from controller_client.rest.cluster import ClusterApi
from controller_client.rest.tables import TablesApi
from controller_client.rest.transport import Transport, path_of

__all__ = ["DRAINED", "DropCheck", "Instance", "InstancesApi"]

DRAINED = "minion_drained"
"""Tag of a minion that gets no new subtasks (Pinot 1.5 and later): it stands in the place of all others."""

_BROKER_RESOURCE = "brokerResource"
_HAS_RESOURCE = "CONTAINS_RESOURCE"


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


@dataclass(frozen=True)
class DropCheck:
    """What keeps an instance from being dropped.

    Attributes:
        name: The instance.
        live: Whether it is connected to the cluster.
        segments: Table (with type) -> how many of its segments the ideal state has on the instance.
        broker_of: Tables that the broker resource has it serve.
        others: Other resources of Helix that name it.
    """

    name: str
    live: bool
    segments: Mapping[str, int] = field(default_factory=dict)
    broker_of: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def obstacles(self) -> list[str]:
        """Each as a clause, with what to do about it; none when it can be dropped."""
        found = ["it is live (stop it first)"] if self.live else []
        found += [
            f"it has {counted_text(count, 'segment')} of {table} (take its tags away, rebalance the table)"
            for table, count in sorted(self.segments.items())
        ]
        if self.broker_of:
            found.append(f"it is a broker of {', '.join(self.broker_of)} (take its tags away)")
        return found + [f"it is in the ideal state of {each}" for each in self.others]


class InstancesApi:
    """Resource group ``/instances``."""

    def __init__(self, transport: Transport, cluster: ClusterApi, tables: TablesApi) -> None:
        self._transport = transport
        self._cluster = cluster
        self._tables = tables

    def live(self) -> list[str]:
        """Return the names of the instances that are up."""
        if self._cluster.capabilities().has(Capability.LIVE_INSTANCES):
            return sorted(self._transport.get_json("/liveinstances")["instances"])
        path = f"/{self._cluster.name()}/LIVEINSTANCES"
        return sorted(self._transport.get_json("/zk/ls", params={"path": path}) or ())

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

    def create(self, role: str, host: str, port: int, *, tags: Sequence[str] = ()) -> str:
        """Register an instance before it starts, e.g. to tag it.

        Args:
            role: ``server``, ``broker``, ``minion`` or ``controller``.
            host: Host that it will advertise.
            port: Port that it will advertise.
            tags: Its tags.

        Returns:
            Its name.

        Raises:
            ConflictError: It is registered already.
        """
        document = {"host": host, "port": port, "type": role.upper(), "tags": list(tags)}
        self._transport.request("POST", "/instances", json=document)
        return f"{role.capitalize()}_{host}_{port}"

    def set_tags(self, name: str, tags: Sequence[str], *, update_broker_resource: bool = False) -> None:
        """Replace an instance's tags.

        Args:
            name: The instance.
            tags: All that it is to have.
            update_broker_resource: Have a broker serve the tables of its new tags, and those alone; without
                it that follows at the next rebuild of each table's brokers.

        Raises:
            RejectedError: No tag is given, or there is no such instance.
        """
        self._transport.request(
            "PUT",
            path_of("instances", name, "updateTags"),
            params={"tags": ",".join(tags), "updateBrokerResource": str(update_broker_resource).lower()},
        )

    def set_enabled(self, name: str, enabled: bool) -> None:
        """Have Helix give an instance work, or take all of it away; its registration stays.

        Raises:
            NotFoundError: There is none of that name.
            AppliedError: It is done, but ten seconds later the instance is not live, or its segments have not
                followed.
            OutcomeUnknownError: The reply was lost; the same again does no harm.
        """
        path = path_of("instances", name, "state")
        word = "enable" if enabled else "disable"
        if self._cluster.capabilities().has(Capability.STATES_BY_PUT):
            self._transport.request("PUT", path, params={"state": word})
        else:
            self._transport.request("POST", path, text=word)

    def drop_check(self, name: str) -> DropCheck:
        """Return what keeps an instance from being dropped; nothing is changed.

        Before Pinot 1.0 the ideal state of each table is read.

        Raises:
            NotFoundError: There is none of that name.
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
        """Take a dead instance out of the cluster.

        Raises:
            NotFoundError: There is none of that name.
            ConflictError: It is alive or still holds segments.
        """
        self._transport.request("DELETE", path_of("instances", name))

    def _resources(self, name: str) -> Sequence[str]:
        """Return the resources of Helix that may have something on an instance."""
        if not self._cluster.capabilities().has(Capability.DROP_CHECK):
            tables = self._tables.list_typed()
            return [*tables, _BROKER_RESOURCE]
        answer = self._transport.get_json("/instances/dropInstance/validate", params={"instanceNames": name})
        issues = [issue for each in answer or () for issue in each.get("issues") or ()]
        # The resource is the last word of its sentence; there is no field for it.
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
        record = self._transport.get_json("/zk/get", params={"path": path}) or {}
        served: Mapping[str, Any] = record.get("mapFields") or {}
        return tuple(sorted(table for table, brokers in served.items() if name in brokers))
