"""The client that users hold: the controller's REST API, and what takes more than single calls of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from controller_client.common.names import TableName
from controller_client.errors import NotFoundError
from controller_client.rest.client import RestClient

if TYPE_CHECKING:
    # kazoo takes its time to be imported, and most clients never need it.
    from controller_client.consumption.table_control import TableControl
    from controller_client.zookeeper import PropertyStore

__all__ = ["ControllerClient"]


class ControllerClient(RestClient):
    """Client of one controller; a context manager that closes its connections.

    Threads may share it for calls; nothing of it changes between them but the pool of connections. The
    resource groups (``tables``, ``segments``, ``lineage``, ...) are those of :class:`RestClient`.
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
            reason: Why, in a word.
            comment: More words.
            timeout_s: Seconds for the pause, and for the resume.
            resume_on_error: Resume after an exception too.
            store: The cluster's property store; without it the controller is asked where ZooKeeper is.

        Raises:
            WaitTimeoutError: The pause was not finished in time, and the table is resumed; or the resume was
                not.
            ConflictError: Somebody resumed the table within the block.
            NotFoundError: There is no such table; or the controller does not report its ZooKeeper's address.
        """
        from controller_client.consumption.context import paused
        from controller_client.consumption.table_control import TableControl
        from controller_client.zookeeper import PropertyStore

        with ExitStack() as opened:
            if store is None:
                address = self.cluster.zookeeper_address()
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
