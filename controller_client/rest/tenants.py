"""Tenants: brokers or servers with the same tag."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from controller_client.common.names import TableName, TableType
from controller_client.errors import ConflictError, NotFoundError
from controller_client.rest.instances import InstancesApi
from controller_client.rest.paths import path_of
from controller_client.rest.replies import parse_reply
from controller_client.rest.transport import Transport

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
        server, broker = self._names("/tenants", {}, "SERVER_TENANTS", "BROKER_TENANTS")
        return Tenants(server, broker)

    def get(self, name: str) -> Tenant:
        """Return the instances of a tenant.

        Raises:
            NotFoundError: No instance has the tenant's tag.
        """
        # For a tenant with brokers only, Pinot returns 404 for its servers, and vice versa.
        offline, realtime = self._members(
            name, TenantRole.SERVER, "OfflineServerInstances", "RealtimeServerInstances"
        )
        (broker,) = self._members(name, TenantRole.BROKER, "BrokerInstances")
        tenant = Tenant(name, offline, realtime, broker)
        if not (tenant.servers or tenant.broker):
            raise NotFoundError(
                f"there is no tenant {name}",
                where=self._transport.base_url,
                remedy="see 'pinotctl tenant list'",
            )
        return tenant

    def tables(self, name: str) -> Sequence[str]:
        """Return the tables (names with type) that the servers of a tenant serve."""
        names = self._transport.get_json(path_of("tenants", name, "tables"), list, key="tables")
        return sorted(map(TableName, names))

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
        strangers = [name for name in names if not _is(role, name)]
        if strangers:
            raise ConflictError(
                f"{', '.join(strangers)} is not a {role}",
                expected=f"names of {role}s: see 'pinotctl instance list'",
            )
        done = {}
        for name in names:
            untagged = _UNTAGGED[role]
            tags = change(tuple(tag for tag in self._instances.tags(name) if tag != untagged)) or (untagged,)
            self._instances.set_tags(name, tags, update_broker_resource=True)
            done[name] = tags
        return done

    def _members(self, name: str, role: TenantRole, *keys: str) -> Sequence[tuple[str, ...]]:
        try:
            return self._names(path_of("tenants", name), {"type": role}, *keys)
        except NotFoundError:
            return [()] * len(keys)

    def _names(self, path: str, params: Mapping[str, str], *keys: str) -> Sequence[tuple[str, ...]]:
        """Return the lists of names in a response."""
        response = self._transport.request("GET", path, params=params)
        lists = (parse_reply(response, list, key=key, clean=self._transport.clean) for key in keys)
        return [tuple(sorted(names)) for names in lists]


def _is(role: TenantRole, instance: str) -> bool:
    return instance.lower().startswith(f"{role}_")
