"""A typed connection to ZooKeeper with time limits and this project's errors.

kazoo itself waits forever: a call made while disconnected is queued and sent when the connection is back,
even an hour later. Here a call is made only while connected, and each call ends within ``timeout_s``:

==========================  ===========================================================================
state of the connection     what a call does
==========================  ===========================================================================
CONNECTED                   it is sent
SUSPENDED (may reconnect)   it waits for CONNECTED, then :class:`UnreachableError`: nothing was sent
LOST (session expired)      the same; kazoo opens a new session, and ephemeral nodes and locks are gone
==========================  ===========================================================================

If a reply was lost (the connection broke after the call was sent), a read is repeated; a write is settled by
reading the znode back and, if that is inconclusive, raises an :class:`OutcomeUnknownError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
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

_DELETE_ATTEMPTS = 10
"""Of a recursive deletion while other clients create znodes below it."""


class ZooKeeperConnection(ZooKeeperReads):
    """Reads and writes znodes by absolute path (below the address's chroot); see `ZooKeeperReads`."""

    def create(self, path: str, data: bytes) -> None:
        """Create a znode and, as empty ones, its missing parents.

        If the reply is lost, the znode is read: if it has exactly this content and was never changed, it
        counts as created here. If two clients may create the same path, their contents must differ.

        Raises:
            ConflictError: It already exists.
            OutcomeUnknownError: The reply was lost, and the znode could not be read back.
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
                    "the znode already exists", where=self._where(path), remedy="read it, then decide"
                ) from None
            except NoNodeError:
                # Missing parents are created, but not the chroot.
                raise missing(f"the chroot of {self.address}") from None
            except LOST_REPLY as error:
                lost = True
                found = self._settle(path, error)
                if found == (data, 0):
                    return
                # Missing (or another client's, which the next attempt reports): not applied, so it may be
                # resent.
                self._session.check_deadline(path, deadline, error)

    def set(self, path: str, data: bytes, expected_version: int) -> int:
        """Replace the content if the version is still the expected one.

        Returns:
            The new version.

        Raises:
            ConflictError: The znode has another version.
            NotFoundError: The znode does not exist.
            OutcomeUnknownError: The reply was lost, and the current content does not show whether the write
                was applied.
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
                znode = self._settle(path, error)
                if znode is None:
                    raise OutcomeUnknownError(
                        "the reply to a write was lost, and the znode no longer exists",
                        where=self._where(path),
                    ) from error
                content, version = znode
                if version == expected_version + 1:
                    if content == data:
                        return version
                    raise changed_meanwhile(self._where(path), expected_version) from error
                if version != expected_version:
                    raise OutcomeUnknownError(
                        "the reply to a write was lost, and other clients have written since",
                        where=self._where(path),
                        remedy="read the record and check whether it contains the change",
                    ) from error
                self._session.check_deadline(path, deadline, error)

    def delete(self, path: str, *, recursive: bool = False, expected_version: int | None = None) -> None:
        """Delete a znode; with ``recursive``, everything below it first (not atomically).

        Raises:
            NotFoundError: It does not exist.
            ConflictError: It does not have the expected version. It has children; with ``recursive``, other
                clients kept creating new ones.
            OutcomeUnknownError: The reply was lost, and ZooKeeper cannot be reached to check the outcome.
        """
        version = -1 if expected_version is None else expected_version
        if not recursive:
            if not self._delete_childless(path, version):
                raise ConflictError(
                    "the znode has children", where=self._where(path), remedy="delete it with recursive=True"
                )
            return
        for _ in range(_DELETE_ATTEMPTS):
            for name in self.children(path) or ():
                with suppress(NotFoundError):  # another client deleted it first
                    self.delete(f"{path}/{name}", recursive=True)
            # Another client may have created a child meanwhile, e.g. Helix the context of a running job.
            if self._delete_childless(path, version):
                return
        raise ConflictError(
            f"other clients created znodes below it during each of {_DELETE_ATTEMPTS} attempts to delete it",
            where=self._where(path),
            remedy="stop the process that writes there, then delete it again",
        )

    def commit(self, writes: Sequence[Write]) -> None:
        """Apply writes in one transaction: all or none.

        Raises:
            ConflictError: A znode is not in the state that its write expects; nothing was applied.
            AuthError: An ACL forbids one of the writes; nothing was applied.
            OutcomeUnknownError: The reply was lost; the caller has to read the znodes back.
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

    def _delete_childless(self, path: str, version: int) -> bool:
        """Delete a znode, unless it has children; return whether it was deleted."""
        deadline = self._session.deadline()
        while True:
            try:
                self._write(path, deadline, lambda kazoo: kazoo.delete_async(path, version=version))
                return True
            except BadVersionError:
                raise changed_meanwhile(self._where(path), version) from None
            except NoNodeError:
                raise missing(self._where(path)) from None
            except NotEmptyError:
                return False
            except LOST_REPLY as error:
                if self._settle(path, error) is None:
                    return True
                self._session.check_deadline(path, deadline, error)

    def _write(self, path: str, deadline: float, call: Callable[[Any], Any]) -> Any:
        """Make a write, sent at most once; the caller has to settle a lost reply."""
        check_path(path)
        kazoo = self._session.connected_by(deadline)
        try:
            return call(kazoo).get(timeout=self._session.left_s(deadline))
        except KazooTimeoutError as error:
            # It may still be in kazoo's queue and be sent later; only ending the session prevents that.
            self._session.abandon()
            raise ConnectionLoss(f"no reply within {self.timeout_s} s") from error
        except (NodeExistsError, NoNodeError, NotEmptyError, BadVersionError, *LOST_REPLY):
            raise
        except KazooException as error:
            raise self.refusal(path, error) from error

    def _settle(self, path: str, lost: Exception | None = None) -> tuple[bytes, int] | None:
        """Return the content and version at the path, after everything this client has sent."""
        try:
            # A read may be served by a lagging server; sync makes it catch up with the leader.
            self._read(path, lambda kazoo: kazoo.sync_async(path))
            return self.get(path)
        except (UnreachableError, AuthError) as error:
            raise OutcomeUnknownError(
                "the reply to a write was lost, and ZooKeeper could not be reached to check the outcome",
                where=self._where(path),
                remedy="read the znode once ZooKeeper is reachable",
            ) from (lost or error)
