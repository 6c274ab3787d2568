"""The hook ``upsert`` of a Python-hosted broker."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from controller_client.errors import PinotPluginError
from controller_client.monitoring import catalogue, replace_values
from controller_client.zookeeper import PropertyStore
from jvm_bridge.role_host import Dependents, HostedBrokerView, HostedRoleView, TickingHook
from server_hooks.dependents import upsert_tables
from server_hooks.table_managers import has_extension_point
from server_hooks.upsert_query import broker_0_11, broker_1_5
from server_hooks.upsert_query.queries import check_multistage, version_of_query, versions_of_query
from server_hooks.upsert_query.routed import BrokerRouting
from server_hooks.upsert_query.routing_state import RoutingState

__all__ = ["NAME", "UpsertQueryHook"]

NAME = "upsert"
_TICK_S = 1.0
_ZOOKEEPER_TIMEOUT_S = 3.0
"""While ZooKeeper is unreachable, the first query of a table waits this long before it is rejected."""


class UpsertQueryHook(TickingHook[HostedBrokerView]):
    """The hook of one broker; see :class:`~jvm_bridge.role_host.BrokerHook`. Its thread follows the marks.

    Creating it patches Pinot 0.11's routing: this has to precede the starter, which loads the class.
    """

    def __init__(self) -> None:
        super().__init__(NAME, pause_s=_TICK_S, thread_name="upsert-marks")
        self._routing_state: RoutingState | None = None
        self._has_extension_point = has_extension_point()
        self._refusal: PinotPluginError | None = None
        if not self._has_extension_point:
            try:
                broker_0_11.change_routing()
            except PinotPluginError as error:
                self._refusal = error  # raised before the start, when the dependents can be found

    def starter(self) -> str | None:
        """Return the starter that it needs; see :class:`~jvm_bridge.role_host.NeedsStarter`."""
        if not self._has_extension_point:
            return None
        broker_1_5.install(self._versions_option)
        return broker_1_5.STARTER

    def prepare(self, role: HostedBrokerView) -> None:
        """Install the hook before the first query."""
        if self._refusal:
            raise self._refusal
        store = PropertyStore(role.zookeeper_address, role.cluster_name, timeout_s=_ZOOKEEPER_TIMEOUT_S)
        extension = broker_1_5 if self._has_extension_point else broker_0_11
        routing = BrokerRouting(self._routing_manager, extension.unrouted)
        self._routing_state = state = RoutingState(
            store, routing, self.wake, by_option=self._has_extension_point
        )
        if not self._has_extension_point:
            broker_0_11.install(partial(version_of_query, state), partial(check_multistage, state))

    def dependents(self, role: HostedRoleView) -> Dependents:
        """Return all upsert tables; see :class:`~jvm_bridge.role_host.KnowsDependents`."""
        store = PropertyStore(role.zookeeper_address, role.cluster_name)
        with store:
            found = upsert_tables(store)
        return Dependents(
            found,
            way_out="query upsert tables through the Python client, and run a stock broker for other tables",
            later="`pinotctl upsert create` is rejected while this broker is running.",
        )

    def tick(self) -> None:
        """Refresh what has changed."""
        if self._routing_state:
            self._routing_state.refresh()
            marks = self._routing_state.marks()
            replace_values(
                self.role.monitoring.gauge(catalogue.QUERY_MARK),
                {(table,): version for table, version in marks.items()},
            )

    def ended(self) -> None:
        """Release resources; queries that are still running use the last marks."""
        if self._routing_state:
            self._routing_state.close()

    def _routing_manager(self) -> Any | None:
        return self.role.routing_manager()

    def _versions_option(self, sql: str, options: Mapping[str, str]) -> str | None:
        if self._routing_state is None:
            raise RuntimeError("before_start() was not called")
        return versions_of_query(self._routing_state, sql, options)
