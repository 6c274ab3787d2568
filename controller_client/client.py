"""The client for users: the controller's REST API, and operations that take more than one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from controller_client.common.names import TableName
from controller_client.errors import NotFoundError
from controller_client.rest.client import RestClient

if TYPE_CHECKING:
    # kazoo is slow to import, and most clients never need it.
    from controller_client.consumption.table_control import TableControl
    from controller_client.zookeeper import PropertyStore

__all__ = ["ControllerClient"]


class ControllerClient(RestClient):
    """Client of a controller; a context manager that closes its connections.

    Threads may share it: calls change no state except the connection pool. The resource groups (``tables``,
    ``segments``, ``lineage``, ...) are those of :class:`RestClient`.
    """

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
            reason: Why, in one word.
            comment: A longer explanation.
            timeout_s: Seconds allowed for the pause, and again for the resume.
            resume_on_error: Also resume after an exception.
            store: The cluster's property store; default: the ZooKeeper whose address the controller reports.

        Raises:
            WaitTimeoutError: The pause did not finish in time, and the table was resumed; or the resume did
                not finish in time.
            ConflictError: Someone else resumed the table during the block.
            NotFoundError: The table does not exist; or the controller does not report its ZooKeeper's
                address.
        """
        from controller_client.consumption.pauses.context import paused
        from controller_client.consumption.table_control import TableControl
        from controller_client.zookeeper import PropertyStore

        with ExitStack() as opened:
            if store is None:
                address = self.cluster.zookeeper_for()
                if not address:
                    raise NotFoundError(
                        "the controller does not report the address of its ZooKeeper", remedy="pass a store"
                    )
                store = opened.enter_context(PropertyStore(address, self.cluster.name()))
            control = TableControl(self, store, TableName(table))
            yield opened.enter_context(
                paused(
                    control,
                    reason=reason,
                    comment=comment,
                    timeout_s=timeout_s,
                    resume_on_error=resume_on_error,
                )
            )
