"""Tenants: brokers, or servers, that have the same tag."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller_client.common.names import TableName, TableType
from controller_client.errors import ConflictError, NotFoundError
from controller_client.rest.instances import InstancesApi
from controller_client.rest.transport import Transport, path_of

__all__ = ["Tenant", "TenantRole", "Tenants", "TenantsApi", "tags_of"]

_UNTAGGED = {"server": "server_untagged", "broker": "broker_untagged"}


class TenantRole(StrEnum):
    """What a tenant is made of."""

    SERVER = "server"
    BROKER = "broker"


@dataclass(frozen=True)
class Tenants:
    """Names of the tenants, by what they serve."""

    server: tuple[str, ...]
    broker: tuple[str, ...]


@dataclass(frozen=True)
class Tenant:
    """The instances of a tenant, live and dead.

    Attributes:
        name: The tenant's name.
        offline: Servers of its offline tables.
        realtime: Servers of its realtime tables.
        broker: Brokers.
    """

    name: str
    offline: tuple[str, ...]
    realtime: tuple[str, ...]
    broker: tuple[str, ...]

    @property
    def servers(self) -> tuple[str, ...]:
        """Servers of either kind."""
        return tuple(sorted({*self.offline, *self.realtime}))


def tags_of(tenant: str, role: TenantRole, types: Sequence[TableType] = tuple(TableType)) -> tuple[str, ...]:
    """Return the tags that an instance of a tenant has.

    Args:
        tenant: The tenant's name.
        role: Of brokers or of servers.
        types: The tables that servers are for.
    """
    if role is TenantRole.BROKER:
        return (f"{tenant}_BROKER",)
    return tuple(f"{tenant}_{each}" for each in types)


class TenantsApi:
    """Resource group ``/tenants``."""

    def __init__(self, transport: Transport, instances: InstancesApi) -> None:
        self._transport = transport
        self._instances = instances

    def list(self) -> Tenants:
        """Return the names of all tenants."""
        document = self._transport.get_json("/tenants")
        return Tenants(
            server=tuple(sorted(document.get("SERVER_TENANTS") or ())),
            broker=tuple(sorted(document.get("BROKER_TENANTS") or ())),
        )

    def get(self, name: str) -> Tenant:
        """Return the instances of a tenant.

        Raises:
            NotFoundError: No instance has a tag of it.
        """
        # Of a broker tenant alone Pinot answers 404 for its servers, and the other way round.
        servers = self._answer(name, TenantRole.SERVER)
        brokers = self._answer(name, TenantRole.BROKER)
        found = Tenant(
            name,
            offline=_sorted(servers.get("OfflineServerInstances")),
            realtime=_sorted(servers.get("RealtimeServerInstances")),
            broker=_sorted(brokers.get("BrokerInstances")),
        )
        if not (found.servers or found.broker):
            raise NotFoundError(
                f"there is no tenant {name}",
                where=self._transport.base_url,
                remedy="see 'pinotctl tenant list'",
            )
        return found

    def tables(self, name: str) -> Sequence[str]:
        """Return the tables (with type) that the servers of a tenant serve."""
        answer = self._transport.get_json(path_of("tenants", name, "tables")) or {}
        return sorted(TableName(each) for each in answer.get("tables") or ())

    def free_instances(self, role: TenantRole) -> Sequence[str]:
        """Return the live instances that no tenant has."""
        live = self._instances.live()
        names = [name for name in self._instances.list() if name in live and _is(role, name)]
        return [name for name in names if _UNTAGGED[role] in self._instances.tags(name)]

    def add(
        self,
        name: str,
        role: TenantRole,
        instances: Sequence[str],
        *,
        types: Sequence[TableType] = tuple(TableType),
    ) -> dict[str, tuple[str, ...]]:
        """Give instances the tags of a tenant, which is made thereby; the tags of other tenants stay.

        Args:
            name: The tenant's name.
            role: Of brokers or of servers.
            instances: Their names; dead ones too.
            types: The tables that servers are for.

        Returns:
            Instance -> its tags now.

        Raises:
            NotFoundError: There is no such instance; the tags of those before it are set.
            ConflictError: An instance has another role; nothing is changed.
        """
        wanted = tags_of(name, role, types)
        return self._set(
            role, instances, lambda tags: (*(each for each in tags if each not in wanted), *wanted)
        )

    def remove(self, name: str, role: TenantRole, instances: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Take the tags of a tenant from instances; arguments and errors as of :meth:`add`.

        What the instances have of its tables stays there until these are rebalanced.
        """
        taken = tags_of(name, role)
        return self._set(role, instances, lambda tags: tuple(each for each in tags if each not in taken))

    def delete(self, name: str, role: TenantRole) -> None:
        """Take a tenant's tags from all its instances.

        Raises:
            RejectedError: A table has segments on its servers, or is served by its brokers.
        """
        self._transport.request("DELETE", path_of("tenants", name), params={"type": role.upper()})

    def _set(
        self,
        role: TenantRole,
        names: Sequence[str],
        change: Callable[[tuple[str, ...]], tuple[str, ...]],
    ) -> dict[str, tuple[str, ...]]:
        strangers = [each for each in names if not _is(role, each)]
        if strangers:
            raise ConflictError(
                f"{', '.join(strangers)} is no {role}",
                expected=f"names of {role}s: see 'pinotctl instance list'",
            )
        done = {}
        for name in names:
            untagged = _UNTAGGED[role]
            tags = change(tuple(each for each in self._instances.tags(name) if each != untagged)) or (
                untagged,
            )
            self._instances.set_tags(name, tags, update_broker_resource=True)
            done[name] = tags
        return done

    def _answer(self, name: str, role: TenantRole) -> Mapping[str, Any]:
        try:
            answer: Mapping[str, Any] | None = self._transport.get_json(
                path_of("tenants", name), params={"type": role}
            )
        except NotFoundError:
            return {}
        return answer or {}


def _is(role: TenantRole, instance: str) -> bool:
    return instance.lower().startswith(f"{role}_")


def _sorted(names: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(sorted(names or ()))
