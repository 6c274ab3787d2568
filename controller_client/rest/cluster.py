"""What the controller reports about the cluster as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from controller_client.common.redaction import masked
from controller_client.common.retry import RetryPolicy
from controller_client.errors import NotAppliedError
from controller_client.rest.capabilities import Capabilities, PinotVersion, warn_if_untested
from controller_client.rest.paths import path_of
from controller_client.rest.transport import Transport
from controller_client.zookeeper_access import ZooKeeperAccess

__all__ = ["ClusterApi", "visible_config"]


class ClusterApi:
    """Name, version, configuration and addresses of a cluster."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._name: str | None = None
        self._version: PinotVersion | None = None

    def name(self) -> str:
        """Return the Helix cluster's name (``GET /cluster/info``); requested once per client."""
        if self._name is None:
            self._name = self._transport.get_json("/cluster/info", str, key="clusterName")
        return self._name

    def version(self) -> PinotVersion:
        """Return the controller's version; requested once per client."""
        if self._version is None:
            self._version = PinotVersion.from_components(self._transport.get_json("/version", dict))
            warn_if_untested(self._version)
        return self._version

    def capabilities(self) -> Capabilities:
        """Return the capabilities of this version."""
        return Capabilities(self.version())

    def healthy(self) -> bool:
        """Return whether the controller answers ``GET /health`` with success; one attempt."""
        try:
            # The only call that returns plain text; it returns 406 to clients that want JSON.
            self._transport.request(
                "GET", "/health", headers={"Accept": "text/plain"}, retry=RetryPolicy(attempts=1)
            )
        except NotAppliedError:
            return False
        return True

    def app_config(self) -> Mapping[str, str]:
        """Return the controller's own configuration (``pinotConfig`` of ``GET /appconfigs``).

        The other parts of the response, including the process's environment, are omitted, and values of keys
        for credentials are masked.
        """
        return visible_config(self._transport.get_json("/appconfigs", dict, key="pinotConfig"))

    def deep_store_uri(self) -> str | None:
        """Return ``controller.data.dir`` as a URI without a trailing slash; None if it is not set."""
        folder = self.app_config().get("controller.data.dir", "").strip()
        if not folder:
            return None
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", folder):
            return folder.rstrip("/")
        return "file://" + str(PurePosixPath("/") / folder)

    def zookeeper_address(self) -> str | None:
        """Return the ZooKeeper address that the controller uses; None if it is not reported."""
        config = self.app_config()
        return config.get("controller.zk.str") or config.get("pinot.zk.server") or None

    def zookeeper_for(self, access: ZooKeeperAccess | None = None) -> str | None:
        """Return :meth:`zookeeper_address` in order to connect to it.

        Args:
            access: How this process authenticates to ZooKeeper; None: as the environment says.

        Raises:
            ConfigError: See :meth:`~controller_client.zookeeper_access.ZooKeeperAccess.check_reported`.
        """
        address = self.zookeeper_address()
        if address is not None:
            (access or ZooKeeperAccess.from_env()).check_reported(address)
        return address

    def broker_urls(self, table_name: str | None = None, *, scheme: str | None = None) -> list[str]:
        """Return the base addresses of the brokers that are online.

        Args:
            table_name: Only the brokers that serve this table.
            scheme: ``http`` or ``https``; default: that of the controller's address.
        """
        chosen = scheme or self._transport.base_url.partition(":")[0]
        params = {"state": "ONLINE"}

        def addresses(brokers: Iterable[Mapping[str, Any]]) -> list[str]:
            return sorted({f"{chosen}://{broker['host']}:{broker['port']}" for broker in brokers})

        def of_all(tenants: Mapping[str, Any]) -> list[str]:
            return addresses(broker for group in tenants.values() for broker in group)

        if table_name is None:
            # Not /v2/brokers, which reads all tables too, and fails if one of them is deleted meanwhile.
            return self._transport.get_value("/v2/brokers/tenants", dict, of_all, params=params)
        path = path_of("v2", "brokers", "tables", table_name)
        return self._transport.get_value(path, list, addresses, params=params)


def visible_config(pinot_config: Mapping[str, Any]) -> dict[str, str]:
    """Return a role's ``pinotConfig`` from its response to ``GET /appconfigs``; credentials are masked."""
    return masked(dict(_flatten("", pinot_config)))


def _flatten(prefix: str, value: Any) -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(f"{prefix}.{key}" if prefix else str(key), inner)
    elif isinstance(value, list):
        yield prefix, ",".join(str(item) for item in value)
    elif value is not None:
        yield prefix, str(value)
