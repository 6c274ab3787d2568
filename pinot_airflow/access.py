"""Reads the address of a cluster from an Airflow connection and creates clients for it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controller_client.clock import Clock, SystemClock
from controller_client.common.closing import Closing
from controller_client.common.names import TableName, TableType
from controller_client.common.text import did_you_mean
from controller_client.config import BrokerConfig, ControllerConfig, SettingReader
from controller_client.connection_settings import (
    CONNECTION_SETTINGS,
    ZOOKEEPER_PREFIX,
    ZOOKEEPER_SETTINGS,
    ConnectionSetting,
)
from controller_client.errors import ConfigError, NotFoundError
from controller_client.zookeeper_access import ZooKeeperAccess

if TYPE_CHECKING:
    from controller_client.broker.client import BrokerClient
    from controller_client.client import ControllerClient
    from controller_client.consumption import TableControl
    from controller_client.zookeeper import PropertyStore
    from pinot_airflow.airflow_api import Connection

__all__ = ["EXTRAS", "ClusterAddress", "PinotAccess"]

_PORT = 9000

_FIELDS = {"controller": "host", "username": "login", "password": "password"}
"""Settings that are fields of a connection, not in its extra."""


def _description(setting: ConnectionSetting) -> str:
    text = setting.description
    if setting.name.endswith("_file"):
        text = f"{text} A file on every worker."
    if setting.name.startswith(ZOOKEEPER_PREFIX):
        return f"{text} Default: {setting.env} in the worker's environment."
    return f"{text} Default: {setting.default}." if setting.default else text


EXTRAS: Mapping[str, str] = {
    setting.name: _description(setting) for setting in CONNECTION_SETTINGS if setting.name not in _FIELDS
}
"""The keys in the extra of a connection, with their descriptions."""


@dataclass(frozen=True)
class ClusterAddress:
    """The address of a cluster.

    Attributes:
        controller: The controller.
        brokers: Addresses of brokers; empty: those reported by the controller.
        zookeeper: Address of ZooKeeper; None: the one reported by the controller.
        cluster_name: Name of the Helix cluster; None: the one reported by the controller.
        access: Credentials for ZooKeeper; None: those of the worker's environment.
    """

    controller: ControllerConfig
    brokers: tuple[str, ...] = ()
    zookeeper: str | None = None
    cluster_name: str | None = None
    access: ZooKeeperAccess | None = None

    @classmethod
    def of(cls, connection: Connection) -> ClusterAddress:
        """Read a connection: host, port, schema (``http`` or ``https``), login, password and extra.

        Raises:
            ConfigError: The connection has no host, or its extra has an unknown key.
        """
        extra = connection.extra_dejson
        where = f"connection {connection.conn_id}"
        for key in extra:
            if key not in EXTRAS:
                remedy = did_you_mean(key, EXTRAS, otherwise=f"known keys: {', '.join(EXTRAS)}")
                raise ConfigError(f"the extra has the unknown key {key!r}", where=where, remedy=remedy)
        if not connection.host:
            raise ConfigError(
                "the connection has no host", expected="the host of Pinot's controller", where=where
            )
        scheme = connection.schema or "http"
        url = connection.host
        if "://" not in url:
            hosts = (host.strip() for host in url.split(","))
            url = ",".join(f"{scheme}://{host}:{connection.port or _PORT}" for host in hosts)
        fields = {"username": connection.login, "password": connection.password}
        settings = SettingReader(
            lambda name: fields[name] if name in fields else extra.get(name),
            lambda name: f"{_FIELDS.get(name, name)} of the {where}",
        )
        has_access = any(settings.text(ZOOKEEPER_PREFIX + name) for name in ZOOKEEPER_SETTINGS)
        return cls(
            ControllerConfig.of(settings, url),
            settings.addresses("broker"),
            settings.text("zookeeper"),
            settings.text("cluster_name"),
            ZooKeeperAccess.of(settings) if has_access else None,
        )


@dataclass
class PinotAccess(Closing):
    """The clients of one cluster, created on first use; a context manager that closes them.

    Attributes:
        address: The cluster's address.
        by: Name recorded for changes.
    """

    address: ClusterAddress
    by: str = "airflow"
    clock: Clock = field(default_factory=SystemClock, repr=False)
    _open: ExitStack = field(default_factory=ExitStack, init=False, repr=False)

    def close(self) -> None:
        """Close all clients."""
        self._open.close()

    @functools.cached_property
    def client(self) -> ControllerClient:
        """The client of the controller."""
        from controller_client.client import ControllerClient

        return self._open.enter_context(ControllerClient(self.address.controller))

    @functools.cached_property
    def broker(self) -> BrokerClient:
        """The client of the brokers."""
        from controller_client.broker.client import BrokerClient

        urls = self.address.brokers or tuple(self.client.cluster.broker_urls())
        if not urls:
            raise NotFoundError(
                "the cluster has no live broker",
                remedy="start one, or set 'broker' in the extra of the connection",
            )
        return self._open.enter_context(BrokerClient(BrokerConfig.like(self.address.controller, urls)))

    @functools.cached_property
    def store(self) -> PropertyStore:
        """The property store in ZooKeeper, connected.

        Raises:
            NotFoundError: Neither the connection nor the controller names the address of ZooKeeper.
            ConfigError: A password for ZooKeeper must not go to that address.
        """
        from controller_client.zookeeper import PropertyStore

        named = self.address.zookeeper
        access = self.address.access or ZooKeeperAccess.from_env(address=named)
        zookeeper = named or self.client.cluster.zookeeper_for(access)
        if not zookeeper:
            raise NotFoundError(
                "the controller does not report the address of ZooKeeper",
                remedy="set 'zookeeper' in the extra of the connection",
            )
        name = self.address.cluster_name or self.client.cluster.name()
        return self._open.enter_context(PropertyStore(zookeeper, name, access=access))

    def table_control(self, table: str, *, watch_stream: bool = True) -> TableControl:
        """Return access to the consumption of a realtime table.

        Args:
            table: With or without ``_REALTIME``.
            watch_stream: Whether offsets may be read from the stream itself.
        """
        from controller_client.consumption import TableControl

        name = TableName.parse(table) or TableName.of(table, TableType.REALTIME)
        return TableControl(self.client, self.store, name, by=self.by, watch_stream=watch_stream)
