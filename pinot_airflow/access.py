"""How a connection of Airflow reaches a cluster, and the clients that are made of it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from controller_client.clock import Clock, SystemClock
from controller_client.common.names import TableName, TableType
from controller_client.common.nearest import did_you_mean
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
    "broker": "Addresses of brokers, separated by commas; without it the controller is asked.",
    "zookeeper": "host:port,...[/chroot]; without it the controller is asked.",
    **{
        f"zookeeper_{name}": f"In place of the worker's {ENVIRONMENT_PREFIX}{name.upper()}."
        for name in ACCESS_SETTINGS
    },
    "cluster_name": "Helix' name of the cluster; without it the controller is asked.",
    "token": "Bearer token, instead of login and password.",
    "ca_file": "Certificates (PEM) of the authorities that sign the cluster's, on every worker.",
    "client_cert_file": "Client certificate (PEM), on every worker.",
    "client_key_file": "Its key (PEM), on every worker.",
    "tls_verify": "False switches the check of certificates off.",
    "connect_timeout_s": "Seconds to a connection.",
    "read_timeout_s": "Seconds to an answer.",
}
"""The keys of a connection's extra, with what they are."""


@dataclass(frozen=True)
class ClusterAddress:
    """Where a cluster is.

    Attributes:
        controller: Of its controller.
        brokers: Addresses of its brokers; empty: the controller is asked.
        zookeeper: None: the controller is asked.
        cluster_name: None: the controller is asked.
        access: How to come into ZooKeeper; None: as the worker's environment says.
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
            ConfigError: It has no host, or a key of its extra is unknown.
        """
        extra = connection.extra_dejson
        where = f"connection {connection.conn_id}"
        for key in extra:
            if key not in EXTRAS:
                remedy = did_you_mean(key, EXTRAS, otherwise=f"known are: {', '.join(EXTRAS)}")
                raise ConfigError(f"the extra has the unknown key {key!r}", where=where, remedy=remedy)
        if not connection.host:
            raise ConfigError(
                "the connection has no host", expected="that of Pinot's controller", where=where
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
    """The clients of one cluster, made when they are first used; a context manager that closes them.

    Attributes:
        address: Where it is.
        by: Who acts, for those who read it later.
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
        """Close the clients that were made."""
        self._open.close()

    @functools.cached_property
    def client(self) -> ControllerClient:
        """Of the controller."""
        from controller_client.client import ControllerClient

        return self._open.enter_context(ControllerClient(self.address.controller))

    @functools.cached_property
    def broker(self) -> BrokerClient:
        """Of the brokers."""
        from controller_client.broker.client import BrokerClient

        urls = self.address.brokers or tuple(self.client.cluster.broker_urls())
        if not urls:
            raise NotFoundError(
                "the cluster has no live broker", remedy="start one, or name one in the connection's extra"
            )
        return self._open.enter_context(BrokerClient(BrokerConfig.like(self.address.controller, urls)))

    @functools.cached_property
    def store(self) -> PropertyStore:
        """The property store in ZooKeeper, connected.

        Raises:
            NotFoundError: The controller does not report where its ZooKeeper is, nor does the connection.
        """
        from controller_client.zookeeper import PropertyStore

        zookeeper = self.address.zookeeper or self.client.cluster.zookeeper_address()
        if not zookeeper:
            raise NotFoundError(
                "the controller does not report the address of its ZooKeeper",
                remedy="add zookeeper to the connection's extra",
            )
        name = self.address.cluster_name or self.client.cluster.name()
        return self._open.enter_context(PropertyStore(zookeeper, name, access=self.address.access))

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
        raise ConfigError("both a token and a login are given", expected="one of them", where=where)
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
