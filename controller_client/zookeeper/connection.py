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

from collections.abc import Callable, Sequence
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

from controller_client.clock import Clock, SystemClock
from controller_client.common.closing import Closing
from controller_client.errors import (
    ConflictError,
    NotFoundError,
    OutcomeUnknownError,
    RejectedError,
    UnreachableError,
)
from controller_client.zookeeper.address import check_path, parse_hosts
from controller_client.zookeeper.faults import (
    changed_meanwhile,
    lost_transaction,
    missing,
    refused,
    refused_transaction,
)
from controller_client.zookeeper.kazoo_log import hide_contents
from controller_client.zookeeper.session import KazooSession
from controller_client.zookeeper.transaction import Write, raise_refused
from controller_client.zookeeper.znode import Children, Znode
from controller_client.zookeeper_access import ZooKeeperAccess

__all__ = ["Children", "Znode", "ZooKeeperConnection"]

_LOST_REPLY = (ConnectionLoss, OperationTimeoutError, SessionExpiredError, ConnectionClosedError)
_PIPELINE = 500


class ZooKeeperConnection(Closing):
    """Reads and writes znodes by absolute path (below the address' chroot).

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

    def create(self, path: str, data: bytes) -> None:
        """Create a znode and, as empty ones, its missing parents.

        If the reply is lost, the node is looked up: one with exactly this content and never changed is taken
        as the one created here. Where two clients may create the same path, let the content tell them apart.

        Raises:
            ConflictError: It is there already.
            OutcomeUnknownError: The reply was lost, and so was the connection for looking it up.
        """
        lost = False
        deadline = self._session.deadline()
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
            except NoNodeError:
                # Missing parents are made; but not the chroot.
                raise missing(f"the chroot of {self.address}") from None
            except _LOST_REPLY as error:
                lost = True
                found = self._settle(path, error)
                if found == (data, 0):
                    return
                # Not there (or another's, which the next attempt says): not applied, so it may be sent again.
                self._session.check_deadline(path, deadline, error)

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
        deadline = self._session.deadline()
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
                self._session.check_deadline(path, deadline, error)

    def delete(self, path: str, *, recursive: bool = False, expected_version: int | None = None) -> None:
        """Delete a znode, with ``recursive`` everything below it first (others see it shrink).

        Raises:
            NotFoundError: It is not there.
            ConflictError: It has children, or another version than the expected one.
        """
        version = -1 if expected_version is None else expected_version
        if recursive:
            self._delete_below(path)
        deadline = self._session.deadline()
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
                self._session.check_deadline(path, deadline, error)

    def commit(self, writes: Sequence[Write]) -> None:
        """Apply writes in one transaction: all of them, or none.

        Raises:
            ConflictError: A znode is not as its write expects it; nothing was applied.
            OutcomeUnknownError: The reply was lost; what is there is for the caller to read.
        """
        paths = ", ".join(write.path for write in writes)
        for write in writes:
            check_path(write.path)

        def send(kazoo: Any) -> Any:
            transaction = kazoo.transaction()
            for write in writes:
                write.add_to(transaction)
            return transaction.commit_async()

        try:
            results = self._write(writes[0].path, self._session.deadline(), send)
            raise_refused(results)
        except (BadVersionError, NodeExistsError, NoNodeError):
            raise refused_transaction(self._where(paths)) from None
        except _LOST_REPLY as error:
            raise lost_transaction(self._where(paths)) from error

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
        deadline = self._session.deadline()
        while True:
            kazoo = self._session.connected_by(deadline)
            try:
                return self._wait(path, call(kazoo), deadline)
            except NoNodeError:
                return None
            except _LOST_REPLY as error:
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
            except _LOST_REPLY as error:
                self._session.check_deadline(paths[0], deadline, error)

    def _content(self, path: str, result: Any, deadline: float) -> tuple[bytes, int] | None:
        try:
            content, stat = self._wait(path, result, deadline)
        except NoNodeError:
            return None
        return content or b"", int(stat.version)

    def _write(self, path: str, deadline: float, call: Callable[[Any], Any]) -> Any:
        """One write, sent at most once; its lost reply is the caller's to settle."""
        check_path(path)
        kazoo = self._session.connected_by(deadline)
        try:
            return call(kazoo).get(timeout=self._session.left_s(deadline))
        except KazooTimeoutError as error:
            # It may lie in kazoo's queue and be sent later; only with the session's end it is sure not to be.
            self._session.abandon()
            raise ConnectionLoss(f"no answer within {self.timeout_s} s") from error
        except NoAuthError as error:
            raise refused(self._where(path)) from error
        except AuthFailedError as error:
            raise self._session.not_accepted() from error
        except (NodeExistsError, NoNodeError, NotEmptyError, BadVersionError, *_LOST_REPLY):
            raise
        except KazooException as error:
            raise RejectedError(
                f"ZooKeeper refuses the write ({type(error).__name__})", where=self._where(path)
            ) from error

    def _wait(self, path: str, result: Any, deadline: float) -> Any:
        try:
            return result.get(timeout=self._session.left_s(deadline))
        except KazooTimeoutError as error:
            raise self._session.unreachable("did not answer") from error
        except NoAuthError as error:
            raise refused(self._where(path)) from error
        except AuthFailedError as error:
            raise self._session.not_accepted() from error

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

    def _where(self, path: str) -> str:
        return f"{path} in ZooKeeper {self.address}"
