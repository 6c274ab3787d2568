"""One connection to ZooKeeper, typed, with time limits, and with this project's errors.

kazoo itself waits for ever: a call made while the connection is away is queued and sent when it is back, be
it an hour later. Here a call is made only while connected, and each call ends within ``timeout_s``:

==========================  ===========================================================================
state of the connection     what a call does
==========================  ===========================================================================
CONNECTED                   it is sent
SUSPENDED (cut, may return)  it waits for CONNECTED, then :class:`UnreachableError`: nothing was sent
LOST (session expired)      the same; kazoo opens a new session, and ephemeral nodes and locks are gone
==========================  ===========================================================================

A reply that was lost on the way (the cut came after the call was sent): a read is repeated; a write is
settled by reading back what is there, and where that does not tell, it is an :class:`OutcomeUnknownError`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    OperationTimeoutError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState

from controller_client.errors import (
    AuthError,
    ConflictError,
    NotFoundError,
    OutcomeUnknownError,
    RejectedError,
    UnreachableError,
)
from controller_client.zookeeper.address import check_path, parse_hosts
from controller_client.zookeeper.faults import changed_meanwhile, missing, unreachable
from controller_client.zookeeper.kazoo_log import hide_contents

__all__ = ["SESSION_TIMEOUT_S", "ZooKeeperConnection"]

SESSION_TIMEOUT_S = 10.0
"""After this time without a sign of life ZooKeeper drops a client's locks."""

_LOST_REPLY = (ConnectionLoss, OperationTimeoutError, SessionExpiredError, ConnectionClosedError)
_PIPELINE = 500
_CLOSE_LIMIT_S = 2.0
_LONGEST_PAUSE_S = 2.0
"""Between two attempts to connect."""

_logger = logging.getLogger(__name__)


class ZooKeeperConnection:
    """Reads and writes znodes by absolute path (below the address' chroot).

    Connects at the first call. Safe to be used from several threads.

    Args:
        address: ``host:port,host:port/chroot`` as Pinot's ``controller.zk.str``.
        client: An unstarted or started KazooClient to use instead of an own one; it is stopped by
            :meth:`close`.
        timeout_s: How long one call may take, connecting included.
        monotonic: Seconds of a clock that never goes back.

    Raises:
        ConfigError: The address is none.
    """

    def __init__(
        self,
        address: str,
        *,
        client: KazooClient | None = None,
        timeout_s: float = 10.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        parse_hosts(address)
        hide_contents()
        self.address = address
        self.timeout_s = timeout_s
        self._monotonic = monotonic
        self._given = client is not None
        self._kazoo: Any = client or self._make_client()
        self._started = False
        self._start_mutex = threading.Lock()

    def __enter__(self) -> Self:
        self._connected_by(self._deadline())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the session; locks that it holds are free at once.

        Where ZooKeeper hangs, kazoo would wait for it; that goes on in the background then.
        """
        with self._start_mutex:
            ending = self._end_session()
        ending.join(_CLOSE_LIMIT_S)

    def kazoo(self) -> Any:
        """The connected kazoo client, for this package's recipes.

        Raises:
            UnreachableError: No connection within ``timeout_s``.
        """
        self._connected_by(self._deadline())
        return self._kazoo

    def get(self, path: str) -> tuple[bytes, int] | None:
        """Content and version of a znode, or None where there is none."""
        return self.get_many([path])[0]

    def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, int] | None]:
        """Content and version of many znodes, asked for together: one round trip, not one for each."""
        found: list[tuple[bytes, int] | None] = []
        for start in range(0, len(paths), _PIPELINE):
            found += self._read_page(paths[start : start + _PIPELINE])
        return found

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

    def watch_children(self, path: str, changed: Callable[[Any], None]) -> list[str]:
        """Names of the children, sorted, none where the znode is not there; and one call when they change.

        Args:
            path: The znode.
            changed: As of :meth:`watch`; called for a child that comes or goes, not for one that changes.
        """
        while True:
            names = self._read(path, lambda kazoo: kazoo.get_children_async(path, watch=changed))
            if names is not None:
                return sorted(names)
            if self.watch(path, changed) is None:
                return []

    def creation_order(self, path: str) -> int | None:
        """ZooKeeper's number of the transaction that made the znode, or None where there is none."""
        stat = self._read(path, lambda kazoo: kazoo.exists_async(path))
        return None if stat is None else int(stat.czxid)

    def create(self, path: str, data: bytes) -> None:
        """Create a znode and, as empty ones, its missing parents.

        If the reply is lost, the node is looked up: one with exactly this content and never changed is taken
        as the one created here. Where two clients may create the same path, let the content tell them apart.

        Raises:
            ConflictError: It is there already.
            OutcomeUnknownError: The reply was lost, and so was the connection for looking it up.
        """
        lost = False
        deadline = self._deadline()
        while True:
            try:
                self._write(path, deadline, lambda kazoo: kazoo.create_async(path, data, makepath=True))
                return
            except NodeExistsError:
                if lost and self._settle(path) == (data, 0):
                    return
                raise ConflictError(
                    "the znode is there already", where=self._where(path), remedy="read it, then decide"
                ) from None
            except _LOST_REPLY as error:
                lost = True
                found = self._settle(path, error)
                if found == (data, 0):
                    return
                # Not there (or another's, which the next attempt says): not applied, so it may be sent again.
                self._check_deadline(path, deadline, error)

    def set(self, path: str, data: bytes, expected_version: int) -> int:
        """Replace the content if the version is still the expected one.

        Returns:
            The new version.

        Raises:
            ConflictError: The version has moved on.
            NotFoundError: The znode is not there.
            OutcomeUnknownError: The reply was lost, and what is there now does not tell whether it was
                applied.
        """
        deadline = self._deadline()
        while True:
            try:
                stat = self._write(
                    path, deadline, lambda kazoo: kazoo.set_async(path, data, version=expected_version)
                )
                return int(stat.version)
            except BadVersionError:
                raise changed_meanwhile(self._where(path), expected_version) from None
            except NoNodeError:
                raise missing(self._where(path)) from None
            except _LOST_REPLY as error:
                found = self._settle(path, error)
                if found is None:
                    raise OutcomeUnknownError(
                        "the reply to a write was lost, and the znode is gone now", where=self._where(path)
                    ) from error
                content, version = found
                if version == expected_version + 1:
                    if content == data:
                        return version
                    raise changed_meanwhile(self._where(path), expected_version) from error
                if version != expected_version:
                    raise OutcomeUnknownError(
                        "the reply to a write was lost, and others have written since",
                        where=self._where(path),
                        remedy="read the record and decide whether the change is in it",
                    ) from error
                self._check_deadline(path, deadline, error)

    def delete(self, path: str, *, recursive: bool = False, expected_version: int | None = None) -> None:
        """Delete a znode, with ``recursive`` everything below it first (others see it shrink).

        Raises:
            NotFoundError: It is not there.
            ConflictError: It has children, or another version than the expected one.
        """
        version = -1 if expected_version is None else expected_version
        if recursive:
            self._delete_below(path)
        deadline = self._deadline()
        lost = False
        while True:
            try:
                self._write(path, deadline, lambda kazoo: kazoo.delete_async(path, version=version))
                return
            except BadVersionError:
                raise changed_meanwhile(self._where(path), version) from None
            except NoNodeError:
                if lost:
                    return
                raise missing(self._where(path)) from None
            except NotEmptyError:
                raise ConflictError(
                    "the znode has children", where=self._where(path), remedy="delete it with recursive=True"
                ) from None
            except _LOST_REPLY as error:
                lost = True
                self._check_deadline(path, deadline, error)

    def _delete_below(self, path: str) -> None:
        for name in self.children(path) or ():
            child = f"{path}/{name}"
            self._delete_below(child)
            try:
                self.delete(child)
            except NotFoundError:
                continue  # somebody else deleted it first

    def _read(self, path: str, call: Callable[[Any], Any]) -> Any:
        """One read, repeated while replies are lost; None where the znode is not there."""
        check_path(path)
        deadline = self._deadline()
        while True:
            self._connected_by(deadline)
            try:
                return self._wait(path, call(self._kazoo), deadline)
            except NoNodeError:
                return None
            except _LOST_REPLY as error:
                self._check_deadline(path, deadline, error)

    def _read_page(self, paths: Sequence[str]) -> list[tuple[bytes, int] | None]:
        for path in paths:
            check_path(path)
        deadline = self._deadline()
        while True:
            self._connected_by(deadline)
            pending = [(path, self._kazoo.get_async(path)) for path in paths]
            # Replies come in the order of the questions: with the last one all are there, and this thread is
            # woken once instead of for each.
            pending[-1][1].wait(max(0.0, deadline - self._monotonic()))
            try:
                return [self._content(path, result, deadline) for path, result in pending]
            except _LOST_REPLY as error:
                self._check_deadline(paths[0], deadline, error)

    def _content(self, path: str, result: Any, deadline: float) -> tuple[bytes, int] | None:
        try:
            content, stat = self._wait(path, result, deadline)
        except NoNodeError:
            return None
        return content or b"", int(stat.version)

    def _write(self, path: str, deadline: float, call: Callable[[Any], Any]) -> Any:
        """One write, sent at most once; its lost reply is the caller's to settle."""
        check_path(path)
        self._connected_by(deadline)
        try:
            return call(self._kazoo).get(timeout=max(0.0, deadline - self._monotonic()))
        except KazooTimeoutError as error:
            # It may lie in kazoo's queue and be sent later; only with the session's end it is sure not to be.
            with self._start_mutex:
                self._end_session()
            raise ConnectionLoss(f"no answer within {self.timeout_s} s") from error
        except (NoAuthError, AuthFailedError) as error:
            raise AuthError("ZooKeeper refuses the access", where=self._where(path)) from error
        except (NodeExistsError, NoNodeError, NotEmptyError, BadVersionError, *_LOST_REPLY):
            raise
        except KazooException as error:
            raise RejectedError(
                f"ZooKeeper refuses the write ({type(error).__name__})", where=self._where(path)
            ) from error

    def _wait(self, path: str, result: Any, deadline: float) -> Any:
        try:
            return result.get(timeout=max(0.0, deadline - self._monotonic()))
        except KazooTimeoutError as error:
            raise self._unreachable("did not answer") from error
        except (NoAuthError, AuthFailedError) as error:
            raise AuthError("ZooKeeper refuses the access", where=self._where(path)) from error

    def _settle(self, path: str, lost: Exception | None = None) -> tuple[bytes, int] | None:
        """What is at the path, as seen after everything that this client sent before."""
        try:
            # A read may be served by a server that is behind; sync makes it catch up with the leader.
            self._read(path, lambda kazoo: kazoo.sync_async(path))
            return self.get(path)
        except UnreachableError as error:
            raise OutcomeUnknownError(
                "the reply to a write was lost, and ZooKeeper could not be asked what became of it",
                where=self._where(path),
                remedy="read the znode when ZooKeeper is back",
            ) from (lost or error)

    def _connected_by(self, deadline: float) -> None:
        with self._start_mutex:
            if not self._started:
                self._start(deadline)
        while self._kazoo.state != KazooState.CONNECTED:
            if self._monotonic() >= deadline:
                raise self._unreachable(f"is away (connection {self._kazoo.state})")
            self._kazoo.handler.sleep_func(0.05)

    def _start(self, deadline: float) -> None:
        # Not kazoo's start, which stops again in the end and then waits for a hanging server.
        connected = self._kazoo.start_async()
        if not connected.wait(max(0.1, deadline - self._monotonic())):
            self._end_session()
            raise self._unreachable("cannot be reached")
        self._started = True
        _logger.debug("connected to ZooKeeper %s", self.address)

    def _make_client(self) -> KazooClient:
        # By itself kazoo tries again after a minute when ZooKeeper was away for one.
        retry = {"max_tries": -1, "max_delay": _LONGEST_PAUSE_S}
        return KazooClient(hosts=self.address, timeout=SESSION_TIMEOUT_S, connection_retry=retry)

    def _end_session(self) -> threading.Thread:
        """Give the present client up and let a new one begin at the next call; the caller has the mutex."""
        old, self._started = self._kazoo, False
        ending = threading.Thread(target=_stop, args=(old,), name="zookeeper-close", daemon=True)
        ending.start()
        if self._given:
            ending.join()
        else:
            self._kazoo = self._make_client()
        return ending

    def _deadline(self) -> float:
        return self._monotonic() + self.timeout_s

    def _check_deadline(self, path: str, deadline: float, error: Exception) -> None:
        if self._monotonic() >= deadline:
            raise self._unreachable(f"did not answer for {path} ({type(error).__name__})") from error

    def _unreachable(self, what: str) -> UnreachableError:
        return unreachable(self.address, what, self.timeout_s)

    def _where(self, path: str) -> str:
        return f"{path} in ZooKeeper {self.address}"


def _stop(kazoo: Any) -> None:
    """Runs in a thread of its own: kazoo waits for a hanging server here."""
    kazoo.stop()
    kazoo.close()
