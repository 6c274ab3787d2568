"""Reads from ZooKeeper, repeated if a reply was lost; kazoo's log does not show what they return."""

from __future__ import annotations

import logging
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
from kazoo.protocol.serialization import SASL, Auth

from controller_client.clock import Clock, SystemClock
from controller_client.common.closing import Closing
from controller_client.errors import AuthError, RejectedError
from controller_client.zookeeper.address import check_path, parse_hosts
from controller_client.zookeeper.faults import refused
from controller_client.zookeeper.session import KazooSession
from controller_client.zookeeper.znode import Children, Znode
from controller_client.zookeeper_access import ZooKeeperAccess

__all__ = ["LOST_REPLY", "ZooKeeperReads", "hide_contents"]


class _WithoutContents(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the bytes in a log line with their number; called in kazoo's threads."""
        if isinstance(record.args, tuple):
            record.args = tuple(map(_without_contents, record.args))
        return True


def _without_contents(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    if isinstance(value, Auth | SASL):
        return type(value).__name__
    if isinstance(value, tuple):
        parts = map(_without_contents, value)
        # A named tuple (a request, a reply) is constructed from its fields, a plain one from a sequence.
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [_without_contents(part) for part in value]
    return value


_FILTER = _WithoutContents()


def hide_contents() -> None:
    """Make kazoo's clients log sizes instead of contents; may be called repeatedly."""
    # kazoo uses this logger in all parts of a client unless another one is given.
    logging.getLogger("kazoo.client").addFilter(_FILTER)


LOST_REPLY = (
    *(ConnectionLoss, OperationTimeoutError, SessionExpiredError, ConnectionClosedError),
    # After a reconnect. A second refusal is reported.
    AuthFailedError,
)
"""Kazoo's errors for a call that was, or may have been, sent but got no reply."""

_PIPELINE = 500


class ZooKeeperReads(Closing):
    """Reads znodes by absolute path (below the address's chroot).

    Connects at the first call. Thread-safe.

    Args:
        address: ``host:port,host:port/chroot``, like Pinot's ``controller.zk.str``.
        client: A KazooClient to use, started or not; :meth:`close` stops it. Default: a new one.
        timeout_s: Time limit of a call, including connecting.
        clock: Time and sleep.
        access: How to authenticate; default: from the environment.
        session_timeout_s: ZooKeeper ends the session after this time without a heartbeat.

    Raises:
        ConfigError: The address is invalid, or the settings for access are.
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
        """End the session; its locks are free at once."""
        self._session.close()

    @property
    def session_timeout_s(self) -> float:
        """Seconds without a heartbeat after which ZooKeeper ends the session, with its ephemeral znodes."""
        return self._session.session_timeout_s

    @property
    def incarnation(self) -> int:
        """Number of clients abandoned before the current one; their watches are gone."""
        return self._session.incarnation

    def kazoo(self) -> Any:
        """Return the connected kazoo client, for this package's recipes.

        Raises:
            UnreachableError: No connection within ``timeout_s``.
        """
        return self._session.connected_by(self._session.deadline())

    def refusal(self, path: str, error: KazooException) -> AuthError | RejectedError:
        """Return the error for a call refused by ZooKeeper; also for this package's recipes."""
        if isinstance(error, NoAuthError):
            return refused(self._where(path))
        return RejectedError(f"ZooKeeper refused the call ({type(error).__name__})", where=self._where(path))

    def get(self, path: str) -> tuple[bytes, int] | None:
        """Return content and version of a znode; None if it does not exist."""
        return self.get_many([path])[0]

    def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, int] | None]:
        """Return content and version of many znodes, pipelined: one round trip instead of one for each."""
        found: list[tuple[bytes, int] | None] = []
        for start in range(0, len(paths), _PIPELINE):
            found += self._read_page(paths[start : start + _PIPELINE])
        return found

    def read(self, path: str, changed: Callable[[Any], None] | None = None) -> Znode | None:
        """Return a znode, or None if it does not exist; with one call on a change, see :meth:`watch`."""
        while True:
            found = self._read(path, lambda kazoo: kazoo.get_async(path, watch=changed))
            if found is not None:
                content, stat = found
                return Znode(content or b"", int(stat.version), int(stat.mzxid))
            # ZooKeeper sets no watch on a missing znode.
            if changed is None or self.watch(path, changed) is None:
                return None

    def children(self, path: str) -> list[str] | None:
        """Return the names of the children, sorted; None if the znode does not exist."""
        names = self._read(path, lambda kazoo: kazoo.get_children_async(path))
        return None if names is None else sorted(names)

    def exists(self, path: str) -> bool:
        """Return whether the znode exists."""
        return self._read(path, lambda kazoo: kazoo.exists_async(path)) is not None

    def watch(self, path: str, changed: Callable[[Any], None]) -> int | None:
        """Return the version of a znode, or None if it does not exist; with one call on a change.

        Args:
            path: The znode.
            changed: Called once, with kazoo's event, in kazoo's thread: at the next change, creation or
                deletion of the znode, or when the session is lost. A function given again while it is still
                set is also called only once.
        """
        stat = self._read(path, lambda kazoo: kazoo.exists_async(path, watch=changed))
        return None if stat is None else int(stat.version)

    def read_children(self, path: str, changed: Callable[[Any], None] | None = None) -> Children:
        """Return the children; with one call when a child is added or removed, see :meth:`watch`."""
        while True:
            reply = self._read(
                path, lambda kazoo: kazoo.get_children_async(path, watch=changed, include_data=True)
            )
            if reply is not None:
                names, stat = reply
                return Children(tuple(sorted(names)), int(stat.pzxid))
            if changed is None or self.watch(path, changed) is None:
                return Children((), 0)

    def creation_order(self, path: str) -> int | None:
        """Return ZooKeeper's number of the transaction that created the znode; None if it does not exist."""
        stat = self._read(path, lambda kazoo: kazoo.exists_async(path))
        return None if stat is None else int(stat.czxid)

    def current_zxid(self) -> int:
        """Return ZooKeeper's number of a transaction not before any that was complete at this call."""
        self._read("/", lambda kazoo: kazoo.sync_async("/"))
        # Each reply contains the number of the last transaction applied by the server.
        return int(self.kazoo().last_zxid)

    def _read(self, path: str, call: Callable[[Any], Any]) -> Any:
        """Make a read, repeated while replies are lost; None if the znode does not exist."""
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
            # Replies arrive in the order of the requests: after the last one, all have arrived, and this
            # thread is woken once instead of for each.
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
