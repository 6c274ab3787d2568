"""The hook: clients of a cluster for an Airflow connection."""

from __future__ import annotations

from typing import Any

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.operator_secrets import observe_values
from controller_client.errors import PinotPluginError
from pinot_airflow.access import ClusterAddress, PinotAccess
from pinot_airflow.airflow_api import BaseHook, mask_secret

__all__ = ["DEFAULT_CONN_ID", "PinotHook"]

DEFAULT_CONN_ID = "pinot_default"


class PinotHook(BaseHook):
    """Creates clients of the cluster in a connection of type ``pinot_plugins``.

    ::

        with PinotHook("pinot_default").access() as pinot:
            pinot.client.tables.list()
            pinot.broker.query("select count(*) from flights").scalar()

    Args:
        pinot_conn_id: The connection.
    """

    conn_name_attr = "pinot_conn_id"
    default_conn_name = DEFAULT_CONN_ID
    conn_type = "pinot_plugins"
    hook_name = "Pinot (pinot-plugins)"

    def __init__(self, pinot_conn_id: str = DEFAULT_CONN_ID, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pinot_conn_id = pinot_conn_id

    def access(self, by: str = "airflow") -> PinotAccess:
        """Return clients of the cluster, to be used in a ``with`` block, which closes them.

        From now on, Airflow masks the values of references in the logs of this process.

        Args:
            by: Name recorded for changes.

        Raises:
            ConfigError: The connection is not a valid connection to a cluster.
        """
        observe_values(mask_secret)
        return PinotAccess(ClusterAddress.of(self.get_connection(self.pinot_conn_id)), by)

    def get_conn(self) -> ControllerClient:
        """Return a client of the controller, which the caller must close."""
        return self.access().client

    def get_broker(self) -> BrokerClient:
        """Return a client of the brokers, which the caller must close."""
        return self.access().broker

    def test_connection(self) -> tuple[bool, str]:
        """Read the controller's version, for Airflow's user interface."""
        try:
            with self.access() as access:
                return True, f"Pinot {access.client.cluster.version()} at {access.address.controller.url}"
        except PinotPluginError as error:
            return False, str(error)
