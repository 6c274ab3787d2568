"""The hook ``upsert`` of a Python-hosted broker."""

from __future__ import annotations

import threading
from collections.abc import Collection
from functools import partial

from controller_client.zookeeper import PropertyStore
from jvm_bridge.role_host import HostedBrokerView
from server_hooks.upsert_query.broker_0_11 import install, routed_segments
from server_hooks.upsert_query.queries import check_multistage, version_of_query
from server_hooks.upsert_query.routing_state import Knowledge

__all__ = ["NAME", "UpsertQueryHook"]

NAME = "upsert"
_TICK_S = 1.0
_ZOOKEEPER_TIMEOUT_S = 3.0
"""While ZooKeeper is away, the first query of a table waits so long before it is refused."""


class UpsertQueryHook:
    """One a broker; see :class:`~jvm_bridge.role_host.BrokerHook`."""

    def __init__(self) -> None:
        self._broker: HostedBrokerView | None = None
        self._knowledge: Knowledge | None = None
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upsert-marks", daemon=True)

    def before_start(self, broker: HostedBrokerView) -> None:
        """Stand in the way of queries before there is one."""
        self._broker = broker
        store = PropertyStore(broker.zookeeper_address, broker.cluster_name, timeout_s=_ZOOKEEPER_TIMEOUT_S)
        self._knowledge = knowledge = Knowledge(store, self._routed, self._wake.set)
        install(partial(version_of_query, knowledge), partial(check_multistage, knowledge))
        self._thread.start()

    def started(self, broker: HostedBrokerView) -> None:
        """Nothing: queries are rewritten since before the start."""

    def stopping(self, broker: HostedBrokerView) -> None:
        """Stop following the marks: queries that still run go on with the last ones."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(timeout=2 * _TICK_S)

    def _run(self) -> None:
        broker, knowledge = self._prepared()
        while not self._stopping.is_set():
            self._wake.clear()
            with broker.errors.guard(NAME, "in its thread"):
                knowledge.refresh()
            self._wake.wait(_TICK_S)
        knowledge.close()

    def _routed(self, table: str) -> Collection[str]:
        broker, _ = self._prepared()
        manager = broker.routing_manager()
        return set() if manager is None else routed_segments(manager, table)

    def _prepared(self) -> tuple[HostedBrokerView, Knowledge]:
        if self._broker is None or self._knowledge is None:
            raise RuntimeError("before_start() comes first")
        return self._broker, self._knowledge
