"""The controller's REST API, one attribute per resource group."""

from __future__ import annotations

import random

import requests

from controller_client.clock import Clock, SystemClock
from controller_client.common.closing import Closing
from controller_client.config import ControllerConfig
from controller_client.rest.brokers import BrokersApi
from controller_client.rest.cluster import ClusterApi
from controller_client.rest.configs import ConfigsApi
from controller_client.rest.consumption import ConsumptionApi
from controller_client.rest.instances import InstancesApi
from controller_client.rest.lineage import LineageApi
from controller_client.rest.rebalance import RebalanceApi
from controller_client.rest.schemas import SchemasApi
from controller_client.rest.segments import SegmentsApi
from controller_client.rest.table_configs import TableConfigs
from controller_client.rest.tables import TablesApi
from controller_client.rest.tasks import TasksApi
from controller_client.rest.tenants import TenantsApi
from controller_client.rest.transport import Transport
from controller_client.rest.users import UsersApi

__all__ = ["RestClient"]


class RestClient(Closing):
    """Client of a controller; a context manager that closes its connections.

    Threads may share it: calls change no state except the connection pool.

    Attributes:
        config: How the controller is reached.
        clock: Time and sleep of retries and waits.
        cluster: The cluster, its version and capabilities.
        schemas: Schemas.
        tables: Tables, their configs, states and sizes.
        configs: Configs and schemas as plain JSON, each field as it is.
        instances: Instances and their tags.
        tenants: Tenants of servers and brokers.
        segments: Segments: list, upload, download, delete, reload, reset.
        lineage: Segment lineage: which segments replace which.
        tasks: Minion tasks and their queues.
        consumption: Pause, resume and state of consumption.
        rebalance: Moves of segments to other servers.
        brokers: Queries that brokers run now.
        users: Users of the basic access control.

    Args:
        config: How to reach the controllers; or only their base addresses, separated by commas.
        session: HTTP session to use; it is not closed. Default: a new session.
        clock: Time and sleep of retries and waits.
        rng: Random source for the retries' jitter.
    """

    def __init__(
        self,
        config: ControllerConfig | str,
        *,
        session: requests.Session | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.config = config = ControllerConfig.at(config)
        self.clock: Clock = clock or SystemClock()
        self._transport = Transport(config, session=session, clock=self.clock, rng=rng)
        self.cluster = ClusterApi(self._transport)
        self.schemas = SchemasApi(self._transport, self.cluster.capabilities)
        table_configs = TableConfigs(self._transport, self.cluster)
        self.tables = TablesApi(self._transport, table_configs, self.cluster.capabilities)
        self.configs = ConfigsApi(self._transport, table_configs, self.cluster.capabilities)
        self.instances = InstancesApi(self._transport, self.cluster, self.tables)
        self.tenants = TenantsApi(self._transport, self.instances)
        self.segments = SegmentsApi(self._transport, self.tables, self.cluster.capabilities)
        self.lineage = LineageApi(self._transport, self.segments, self.cluster.capabilities)
        self.tasks = TasksApi(self._transport, self.cluster)
        self.consumption = ConsumptionApi(self._transport, self.cluster.capabilities)
        self.rebalance = RebalanceApi(self._transport, self.tables, self.cluster.capabilities)
        self.brokers = BrokersApi(config, self.cluster, self.clock)
        self.users = UsersApi(self._transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config.url!r})"

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()
