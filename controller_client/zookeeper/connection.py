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
from typing import Any

from kazoo.exceptions import (
    BadVersionError,
    ConnectionLoss,
    KazooException,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
)
from kazoo.handlers.threading import KazooTimeoutError

from controller_client.errors import (
    AuthError,
    ConflictError,
    NotFoundError,
    OutcomeUnknownError,
    UnreachableError,
)
from controller_client.zookeeper.address import check_path
from controller_client.zookeeper.faults import (
    changed_meanwhile,
    lost_transaction,
    missing,
    refused_transaction,
)
from controller_client.zookeeper.reads import LOST_REPLY, ZooKeeperReads
from controller_client.zookeeper.transaction import Write, raise_refused
from controller_client.zookeeper.znode import Children, Znode

__all__ = ["Children", "Znode", "ZooKeeperConnection"]


class ZooKeeperConnection(ZooKeeperReads):
    """Reads and writes znodes by absolute path (below the address' chroot), made as `ZooKeeperReads` is."""

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
            except LOST_REPLY as error:
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
            except LOST_REPLY as error:
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
            OutcomeUnknownError: The reply was lost, and ZooKeeper cannot be asked what became of it.
        """
        version = -1 if expected_version is None else expected_version
        if recursive:
            self._delete_below(path)
        deadline = self._session.deadline()
        while True:
            try:
                self._write(path, deadline, lambda kazoo: kazoo.delete_async(path, version=version))
                return
            except BadVersionError:
                raise changed_meanwhile(self._where(path), version) from None
            except NoNodeError:
                raise missing(self._where(path)) from None
            except NotEmptyError:
                raise ConflictError(
                    "the znode has children", where=self._where(path), remedy="delete it with recursive=True"
                ) from None
            except LOST_REPLY as error:
                if self._settle(path, error) is None:
                    return
                self._session.check_deadline(path, deadline, error)

    def commit(self, writes: Sequence[Write]) -> None:
        """Apply writes in one transaction: all of them, or none.

        Raises:
            ConflictError: A znode is not as its write expects it; nothing was applied.
            AuthError: An ACL does not allow one of the writes; nothing was applied.
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
        except LOST_REPLY as error:
            raise lost_transaction(self._where(paths)) from error
        except KazooException as error:
            raise self.refusal(paths, error) from error

    def _delete_below(self, path: str) -> None:
        for name in self.children(path) or ():
            child = f"{path}/{name}"
            self._delete_below(child)
            try:
                self.delete(child)
            except NotFoundError:
                continue  # somebody else deleted it first

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
        except (NodeExistsError, NoNodeError, NotEmptyError, BadVersionError, *LOST_REPLY):
            raise
        except KazooException as error:
            raise self.refusal(path, error) from error

    def _settle(self, path: str, lost: Exception | None = None) -> tuple[bytes, int] | None:
        """What is at the path, as seen after everything that this client sent before."""
        try:
            # A read may be served by a server that is behind; sync makes it catch up with the leader.
            self._read(path, lambda kazoo: kazoo.sync_async(path))
            return self.get(path)
        except (UnreachableError, AuthError) as error:
            raise OutcomeUnknownError(
                "the reply to a write was lost, and ZooKeeper could not be asked what became of it",
                where=self._where(path),
                remedy="read the znode when ZooKeeper is back",
            ) from (lost or error)
