"""Finds the cluster that a minion joins: missing settings come from the controller or ZooKeeper."""

from __future__ import annotations

from dataclasses import replace

from controller_client.clock import Clock, SystemClock
from controller_client.config import ControllerConfig
from controller_client.errors import ConfigError, NotFoundError, UnreachableError
from controller_client.helix.instance_config import live_controllers
from controller_client.zookeeper import PropertyStore
from controller_client.zookeeper_access import ZooKeeperAccess
from jvm_bridge.jvm import check_jars_fit

__all__ = ["controllers_in_zookeeper", "joined_cluster"]

_POLL_INTERVAL_S = 0.5
_ZOOKEEPER_INTERVAL_S = 2.0


def joined_cluster(
    config: ControllerConfig,
    zookeeper: str | None,
    cluster_name: str | None,
    jars_version: str,
    wait_s: float,
    access: ZooKeeperAccess,
) -> tuple[str, str]:
    """Return ZooKeeper's address and the cluster's name, from the controller where they are None.

    Args:
        config: The controller.
        zookeeper: ZooKeeper's address.
        cluster_name: The cluster's name.
        jars_version: Pinot version of the jars.
        wait_s: How long to wait for a controller that does not answer yet.
        access: The credentials for ZooKeeper.

    Raises:
        ConfigError: The credentials must not go to an address that the controller reports.
        UnreachableError: The controller did not answer.
        SetupError: The jars are newer than the cluster.
        NotFoundError: The controller does not report its ZooKeeper.
    """
    from controller_client.client import ControllerClient

    clock = SystemClock()
    deadline = clock.monotonic() + wait_s
    with ControllerClient(config) as client:
        while not client.cluster.healthy():
            if clock.monotonic() > deadline:
                raise UnreachableError(
                    f"the controller did not answer within {wait_s:.0f} s",
                    where=config.url,
                    remedy="check --controller, or increase --wait",
                )
            clock.sleep(_POLL_INTERVAL_S)
        check_jars_fit(jars_version, client.cluster.version().text)
        address = zookeeper or client.cluster.zookeeper_for(access)
        if address is None:
            raise NotFoundError(
                "the controller does not report the address of its ZooKeeper",
                where=config.url,
                remedy="pass --zookeeper host:port[/chroot]",
            )
        return address, cluster_name or client.cluster.name()


def controllers_in_zookeeper(
    config: ControllerConfig,
    zookeeper: str,
    cluster_name: str,
    access: ZooKeeperAccess,
    wait_s: float,
    clock: Clock | None = None,
) -> ControllerConfig:
    """Return the configuration with the live controllers in ZooKeeper.

    Without credentials and TLS files, the controllers are reached over http. With any of them, only those are
    used that registered a port for https.

    Args:
        config: The configuration, with credentials and TLS.
        zookeeper: ZooKeeper's address.
        cluster_name: The cluster's name.
        access: The credentials for ZooKeeper.
        wait_s: How long to wait for ZooKeeper, the cluster, and a live controller.
        clock: The clock.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        AuthError: ZooKeeper rejects the credentials.
        NotFoundError: There is no such cluster, or it has no live controller.
        ConfigError: There are credentials or TLS files, but no controller registered a port for https.
    """
    needs_tls = config.auth is not None or bool(config.tls.ca_file or config.tls.client_cert_file)
    clock = clock or SystemClock()
    deadline = clock.monotonic() + wait_s
    while True:
        try:
            with PropertyStore(zookeeper, cluster_name, access=access) as store:
                controllers = live_controllers(store)
                encrypted = live_controllers(store, with_tls=True) if needs_tls else ()
            if not controllers:
                raise NotFoundError(
                    "ZooKeeper has no live controller",
                    where=f"{zookeeper}, cluster {cluster_name}",
                    remedy="start a controller, or set --controller or PINOT_CONTROLLER_URL",
                )
        except (UnreachableError, NotFoundError):
            if clock.monotonic() > deadline:
                raise
            clock.sleep(_ZOOKEEPER_INTERVAL_S)
        else:
            break
    if needs_tls and not encrypted:
        host, port = controllers[0]
        raise ConfigError(
            f"the controllers in ZooKeeper, such as {host}:{port}, registered no port for https, but this"
            " process has credentials or TLS files for them, and sends credentials without TLS only to"
            " addresses that you name",
            where=f"{zookeeper}, cluster {cluster_name}",
            remedy="set --controller or PINOT_CONTROLLER_URL, with https, or with http if that is intended",
        )
    scheme, chosen = ("https", encrypted) if needs_tls else ("http", controllers)
    return replace(config, url=",".join(f"{scheme}://{host}:{port}" for host, port in chosen))
