"""What is read over a connection to ZooKeeper; repeated where a reply was lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    NoNodeError,
    OperationTimeoutError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError

from controller_client.clock import Clock, SystemClock
from controller_client.common.closing import Closing
from controller_client.errors import AuthError, RejectedError
from controller_client.zookeeper.address import check_path, parse_hosts
from controller_client.zookeeper.faults import refused
from controller_client.zookeeper.kazoo_log import hide_contents
from controller_client.zookeeper.session import KazooSession
from controller_client.zookeeper.znode import Children, Znode
from controller_client.zookeeper_access import ZooKeeperAccess

__all__ = ["LOST_REPLY", "ZooKeeperReads"]

LOST_REPLY = (
    *(ConnectionLoss, OperationTimeoutError, SessionExpiredError, ConnectionClosedError),
    # Of a connection that was made again. Where it is refused once more, that is reported.
    AuthFailedError,
)
"""What kazoo raises where a call was sent, or may have been, and its reply did not come."""
_PIPELINE = 500


class ZooKeeperReads(Closing):
    """Reads znodes by absolute path (below the address' chroot).

    Connects at the first call. Safe to be used from several threads.

    Args:
        address: ``host:port,host:port/chroot`` as Pinot's ``controller.zk.str``.
        client: An unstarted or started KazooClient to use instead of an own one; it is stopped by
            :meth:`close`.
        timeout_s: How long one call may take, connecting included.
        clock: Time and sleep.
        access: How to come in; default: as the environment says.
        session_timeout_s: After so long without a sign of life ZooKeeper ends the session.

    Raises:
        ConfigError: The address is none, or the access cannot be had.
    """

    def __init__(
        self,
        address: str,
        *,
        client: KazooClient | None = None,
        timeout_s: float = 10.0,
        clock: Clock | None = None,
        access: ZooKeeperAccess | None = None,
        session_timeout_s: float | None = None,
    ) -> None:
        parse_hosts(address)
        hide_contents()
        self.address = address
        self.timeout_s = timeout_s
        self._session = KazooSession(
            address, client, timeout_s, clock or SystemClock(), access, session_timeout_s
        )

    def __enter__(self) -> Self:
        self.kazoo()
        return self

    def close(self) -> None:
        """End the session; locks that it holds are free at once."""
        self._session.close()

    @property
    def session_timeout_s(self) -> float:
        """After so long without a sign of life ZooKeeper ends the session, and what is ephemeral is gone."""
        return self._session.session_timeout_s

    @property
    def incarnation(self) -> int:
        """How many clients were given up before the present one; the watches of those are gone."""
        return self._session.incarnation

    def kazoo(self) -> Any:
        """The connected kazoo client, for this package's recipes.

        Raises:
            UnreachableError: No connection within ``timeout_s``.
        """
        return self._session.connected_by(self._session.deadline())

    def refusal(self, path: str, error: KazooException) -> AuthError | RejectedError:
        """Make the error for a call that ZooKeeper has refused, for this package's recipes too."""
        if isinstance(error, NoAuthError):
            return refused(self._where(path))
        return RejectedError(f"ZooKeeper refuses the call ({type(error).__name__})", where=self._where(path))

    def get(self, path: str) -> tuple[bytes, int] | None:
        """Content and version of a znode, or None where there is none."""
        return self.get_many([path])[0]

    def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, int] | None]:
        """Content and version of many znodes, asked for together: one round trip, not one for each."""
        found: list[tuple[bytes, int] | None] = []
        for start in range(0, len(paths), _PIPELINE):
            found += self._read_page(paths[start : start + _PIPELINE])
        return found

    def read(self, path: str, changed: Callable[[Any], None] | None = None) -> Znode | None:
        """A znode, or None where there is none; and one call, as of :meth:`watch`, when that changes."""
        while True:
            found = self._read(path, lambda kazoo: kazoo.get_async(path, watch=changed))
            if found is not None:
                content, stat = found
                return Znode(content or b"", int(stat.version), int(stat.mzxid))
            # ZooKeeper sets no watch where it finds nothing.
            if changed is None or self.watch(path, changed) is None:
                return None

    def children(self, path: str) -> list[str] | None:
        """Names of the children, sorted, or None where the znode is not there."""
        names = self._read(path, lambda kazoo: kazoo.get_children_async(path))
        return None if names is None else sorted(names)

    def exists(self, path: str) -> bool:
        """Whether the znode is there."""
        return self._read(path, lambda kazoo: kazoo.exists_async(path)) is not None

    def watch(self, path: str, changed: Callable[[Any], None]) -> int | None:
        """The version of a znode, or None where there is none; and one call when that changes.

        Args:
            path: The znode.
            changed: Called once, with kazoo's event, in kazoo's thread: at the next change, creation or
                deletion of the znode, or when the session is lost. The same function given again while it
                waits is called once all the same.
        """
        stat = self._read(path, lambda kazoo: kazoo.exists_async(path, watch=changed))
        return None if stat is None else int(stat.version)

    def read_children(self, path: str, changed: Callable[[Any], None] | None = None) -> Children:
        """The children; and one call, as of :meth:`watch`, when one comes or goes, not when one changes."""
        while True:
            found = self._read(
                path, lambda kazoo: kazoo.get_children_async(path, watch=changed, include_data=True)
            )
            if found is not None:
                names, stat = found
                return Children(tuple(sorted(names)), int(stat.pzxid))
            if changed is None or self.watch(path, changed) is None:
                return Children((), 0)

    def creation_order(self, path: str) -> int | None:
        """ZooKeeper's number of the transaction that made the znode, or None where there is none."""
        stat = self._read(path, lambda kazoo: kazoo.exists_async(path))
        return None if stat is None else int(stat.czxid)

    def current_zxid(self) -> int:
        """ZooKeeper's number of a transaction before which all were that were complete at this call."""
        self._read("/", lambda kazoo: kazoo.sync_async("/"))
        # Each reply bears the number of the last transaction that the server had applied by then.
        return int(self.kazoo().last_zxid)

    def _read(self, path: str, call: Callable[[Any], Any]) -> Any:
        """One read, repeated while replies are lost; None where the znode is not there."""
        check_path(path)
        deadline = self._session.deadline()
        while True:
            kazoo = self._session.connected_by(deadline)
            try:
                return self._wait(path, call(kazoo), deadline)
            except NoNodeError:
                return None
            except LOST_REPLY as error:
                self._session.check_deadline(path, deadline, error)

    def _read_page(self, paths: Sequence[str]) -> list[tuple[bytes, int] | None]:
        for path in paths:
            check_path(path)
        deadline = self._session.deadline()
        while True:
            kazoo = self._session.connected_by(deadline)
            pending = [(path, kazoo.get_async(path)) for path in paths]
            # Replies come in the order of the questions: with the last one all are there, and this thread is
            # woken once instead of for each.
            pending[-1][1].wait(self._session.left_s(deadline))
            try:
                return [self._content(path, result, deadline) for path, result in pending]
            except LOST_REPLY as error:
                self._session.check_deadline(paths[0], deadline, error)

    def _content(self, path: str, result: Any, deadline: float) -> tuple[bytes, int] | None:
        try:
            content, stat = self._wait(path, result, deadline)
        except NoNodeError:
            return None
        return content or b"", int(stat.version)

    def _wait(self, path: str, result: Any, deadline: float) -> Any:
        try:
            return result.get(timeout=self._session.left_s(deadline))
        except KazooTimeoutError as error:
            raise self._session.unreachable("did not answer") from error
        except (NoNodeError, *LOST_REPLY):
            raise
        except KazooException as error:
            raise self.refusal(path, error) from error

    def _where(self, path: str) -> str:
        return f"{path} in ZooKeeper {self.address}"
