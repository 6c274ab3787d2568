"""Tenants: brokers or servers with the same tag."""

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
    """The role of a tenant's instances."""

    SERVER = "server"
    BROKER = "broker"


@dataclass(frozen=True)
class Tenants:
    """Names of the tenants, by role."""

    server: tuple[str, ...]
    broker: tuple[str, ...]


@dataclass(frozen=True)
class Tenant:
    """The instances of a tenant, both live and dead.

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
        role: Role of the tenant: brokers or servers.
        types: Types of the tables that servers are for.
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
            NotFoundError: No instance has the tenant's tag.
        """
        # For a tenant with brokers only, Pinot returns 404 for its servers, and vice versa.
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
        """Return the tables (names with type) that the servers of a tenant serve."""
        answer = self._transport.get_json(path_of("tenants", name, "tables")) or {}
        return sorted(TableName(each) for each in answer.get("tables") or ())

    def free_instances(self, role: TenantRole) -> Sequence[str]:
        """Return the live instances that belong to no tenant."""
        live = self._instances.live()
        names = [name for name in self._instances.list() if name in live and _is(role, name)]
        instances = [each for name in names if (each := self._instances.find(name)) is not None]
        return [each.name for each in instances if _UNTAGGED[role] in each.tags]

    def add(
        self,
        name: str,
        role: TenantRole,
        instances: Sequence[str],
        *,
        types: Sequence[TableType] = tuple(TableType),
    ) -> dict[str, tuple[str, ...]]:
        """Add a tenant's tags to instances, which creates the tenant; tags of other tenants stay.

        Args:
            name: The tenant's name.
            role: Role of the tenant: brokers or servers.
            instances: Names of the instances; dead ones are allowed.
            types: Types of the tables that servers are for.

        Returns:
            Instance -> its new tags.

        Raises:
            NotFoundError: An instance does not exist; the tags of those before it have been set.
            ConflictError: An instance has another role; nothing was changed.
        """
        wanted = tags_of(name, role, types)
        return self._set(
            role, instances, lambda tags: (*(each for each in tags if each not in wanted), *wanted)
        )

    def remove(self, name: str, role: TenantRole, instances: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Remove a tenant's tags from instances; arguments and errors: see :meth:`add`.

        Segments of the tenant's tables stay on the instances until the tables are rebalanced.
        """
        removed = tags_of(name, role)
        return self._set(role, instances, lambda tags: tuple(each for each in tags if each not in removed))

    def delete(self, name: str, role: TenantRole) -> None:
        """Remove a tenant's tags from all its instances.

        Raises:
            RejectedError: A table still uses its servers or brokers.
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
                f"{', '.join(strangers)} is not a {role}",
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
