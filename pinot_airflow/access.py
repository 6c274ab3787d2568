"""Reads the address of a cluster from an Airflow connection and creates clients for it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from controller_client.clock import Clock, SystemClock
from controller_client.common.names import TableName, TableType
from controller_client.common.text import did_you_mean
from controller_client.config import Auth, BasicAuth, BearerToken, BrokerConfig, ControllerConfig, Secret, Tls
from controller_client.errors import ConfigError, NotFoundError
from controller_client.zookeeper_access import ACCESS_SETTINGS, ENVIRONMENT_PREFIX, ZooKeeperAccess

if TYPE_CHECKING:
    from controller_client.broker.client import BrokerClient
    from controller_client.client import ControllerClient
    from controller_client.consumption import TableControl
    from controller_client.zookeeper import PropertyStore
    from pinot_airflow.airflow_api import Connection

__all__ = ["EXTRAS", "ClusterAddress", "PinotAccess"]

_PORT = 9000

EXTRAS: Mapping[str, str] = {
    "broker": "Addresses of brokers, comma-separated. Default: reported by the controller.",
    "zookeeper": "host:port,...[/chroot]. Default: reported by the controller.",
    **{
        f"zookeeper_{name}": f"Default: {ENVIRONMENT_PREFIX}{name.upper()} in the worker's environment."
        for name in ACCESS_SETTINGS
    },
    "cluster_name": "Name of the Helix cluster. Default: reported by the controller.",
    "token": "Bearer token, instead of login and password.",
    "ca_file": "Trusted certificate authorities (PEM); a file on every worker.",
    "client_cert_file": "Client certificate (PEM); a file on every worker.",
    "client_key_file": "Private key of the client certificate (PEM); a file on every worker.",
    "tls_verify": "Set to false to disable the verification of certificates.",
    "connect_timeout_s": "Connection time-out in seconds.",
    "read_timeout_s": "Response time-out in seconds.",
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
        tls = Tls(
            ca_file=extra.get("ca_file") or None,
            client_cert_file=extra.get("client_cert_file") or None,
            client_key_file=extra.get("client_key_file") or None,
            verify=str(extra.get("tls_verify", "true")).lower() != "false",
        )
        brokers = [part.strip() for part in str(extra.get("broker") or "").split(",")]
        return cls(
            ControllerConfig(
                url,
                auth=_auth(connection, extra, where),
                tls=tls,
                connect_timeout_s=_seconds(
                    extra, "connect_timeout_s", ControllerConfig.connect_timeout_s, where
                ),
                read_timeout_s=_seconds(extra, "read_timeout_s", ControllerConfig.read_timeout_s, where),
            ),
            tuple(part for part in brokers if part),
            extra.get("zookeeper") or None,
            extra.get("cluster_name") or None,
            _zookeeper_access(extra, where),
        )


@dataclass
class PinotAccess:
    """The clients of one cluster, created on first use; a context manager that closes them.

    Attributes:
        address: The cluster's address.
        by: Name recorded for changes.
    """

    address: ClusterAddress
    by: str = "airflow"
    clock: Clock = field(default_factory=SystemClock, repr=False)
    _open: ExitStack = field(default_factory=ExitStack, init=False, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

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


def _auth(connection: Connection, extra: Mapping[str, Any], where: str) -> Auth | None:
    token = extra.get("token")
    if token and connection.login:
        raise ConfigError("both 'token' and login are set", expected="only one of them", where=where)
    if token:
        return BearerToken(Secret(str(token)))
    if connection.login:
        return BasicAuth(connection.login, Secret(connection.password or ""))
    return None


def _zookeeper_access(extra: Mapping[str, Any], where: str) -> ZooKeeperAccess | None:
    given = {name: str(extra.get(f"zookeeper_{name}") or "").strip() for name in ACCESS_SETTINGS}
    if not any(given.values()):
        return None
    return ZooKeeperAccess.of(given, lambda name: f"zookeeper_{name} of the {where}")


def _seconds(extra: Mapping[str, Any], key: str, default: float, where: str) -> float:
    value = extra.get(key, default)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{key} is {value!r}", expected="a number of seconds", where=where) from error
