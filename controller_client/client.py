"""The controller's REST API, one attribute per resource group."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

import requests

from controller_client.clock import Clock, SystemClock
from controller_client.cluster import ClusterApi
from controller_client.config import ControllerConfig
from controller_client.consumption.rest import ConsumptionApi
from controller_client.errors import NotFoundError
from controller_client.instances import InstancesApi, TenantsApi
from controller_client.lineage import LineageApi
from controller_client.schemas import SchemasApi
from controller_client.segments import SegmentsApi
from controller_client.tables import TablesApi
from controller_client.tasks import TasksApi
from controller_client.transport import Transport

if TYPE_CHECKING:
    # kazoo takes its time to be imported, and most clients never need it.
    from controller_client.consumption.control import TableControl
    from controller_client.zookeeper import PropertyStore

__all__ = ["ControllerClient"]


class ControllerClient:
    """Client of one controller; a context manager that closes its connections.

    Threads may share it for calls; nothing of it changes between them but the pool of connections.

    Args:
        config: How to reach the controller.
        session: HTTP session to use instead of an own one; stays open.
        clock: Time and sleep of retries and waits.
        rng: Source of the retries' jitter.
    """

    def __init__(
        self,
        config: ControllerConfig,
        *,
        session: requests.Session | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.config = config
        self.clock: Clock = clock or SystemClock()
        self._transport = Transport(config, session=session, clock=self.clock, rng=rng)
        self.cluster = ClusterApi(self._transport)
        self.schemas = SchemasApi(self._transport)
        self.tables = TablesApi(self._transport, self.cluster.capabilities)
        self.instances = InstancesApi(self._transport, self.cluster.capabilities)
        self.tenants = TenantsApi(self._transport)
        self.segments = SegmentsApi(self._transport, self.tables, self.cluster.capabilities)
        self.lineage = LineageApi(self._transport, self.segments, self.cluster.capabilities)
        self.tasks = TasksApi(self._transport, self.cluster)
        self.consumption = ConsumptionApi(self._transport, self.cluster.capabilities)

    @contextmanager
    def paused(
        self,
        table: str,
        *,
        reason: str | None = None,
        comment: str | None = None,
        timeout_s: float = 300.0,
        resume_on_error: bool = True,
        store: PropertyStore | None = None,
    ) -> Iterator[TableControl]:
        """Pause a realtime table for the length of a block; see :func:`controller_client.consumption.paused`.

        Args:
            table: Name with type.
            reason: Why, in a word.
            comment: More words.
            timeout_s: Seconds for the pause, and for the resume.
            resume_on_error: Resume after an exception too.
            store: The cluster's property store; without it the controller tells where ZooKeeper is.

        Raises:
            WaitTimeoutError: The pause was not finished in time, and the table is resumed; or the resume was
                not.
            ConflictError: Somebody resumed the table within the block.
            NotFoundError: There is no such table; or the controller does not tell its ZooKeeper's address.
        """
        from controller_client.consumption.context import paused
        from controller_client.consumption.control import TableControl
        from controller_client.zookeeper import PropertyStore

        with ExitStack() as opened:
            if store is None:
                address = self.cluster.zookeeper_address()
                if not address:
                    raise NotFoundError(
                        "the controller does not tell the address of its ZooKeeper", remedy="pass a store"
                    )
                store = opened.enter_context(PropertyStore(address, self.cluster.name()))
            control = TableControl(self, store, table)
            yield opened.enter_context(
                paused(
                    control,
                    reason=reason,
                    comment=comment,
                    timeout_s=timeout_s,
                    resume_on_error=resume_on_error,
                )
            )

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> ControllerClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
