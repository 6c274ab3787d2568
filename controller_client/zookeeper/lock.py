"""Locks shared by all processes of a cluster: for a task type of a table, or with another name."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from kazoo.exceptions import KazooException, LockTimeout
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry

from controller_client.clock import Clock, SystemClock
from controller_client.common.names import TableName
from controller_client.errors import (
    AuthError,
    ConflictError,
    DataError,
    FormatVersionError,
    LockHeldError,
    NotFoundError,
    OutcomeUnknownError,
    UnreachableError,
)
from controller_client.zookeeper.holder import LockHolder
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.reads import LOST_REPLY

__all__ = ["ClusterLock", "TableLock", "locks_path"]

# The client notices a dead connection after at most two thirds of the session timeout without a reply; the
# last third remains until ZooKeeper gives the lock to another process.
_SAFE_SUSPENSION = 1 / 3

_logger = logging.getLogger(__name__)


class ClusterLock:
    """Exclusive lock in a cluster, based on kazoo's Lock recipe.

    ::

        with ClusterLock(store, "as_code", "the cluster's configuration", owner="apply") as lock:
            lock.acquire(wait_s=30)
            while work and not lock.lost:
                ...

    The lock is an ephemeral znode. When its holder is killed, ZooKeeper removes it after the store's session
    timeout (10 s by default) and the next process gets it. A lock released while ZooKeeper is unreachable is
    free once it is back. A holder that is disconnected or paused for longer than the timeout has lost the
    lock without noticing: :attr:`lost` shows it as early as possible, but anything that must never happen
    twice needs a compare-and-set as well.

    Args:
        store: The cluster's property store; its session holds the lock.
        name: The lock's path below this project's locks.
        what: What it locks, for messages: "FileIngestionTask of flights_OFFLINE".
        owner: A name for the holder, shown to waiting processes.
        clock: Time; default: the machine's.
    """

    def __init__(
        self, store: PropertyStore, name: str, what: str, owner: str, *, clock: Clock | None = None
    ) -> None:
        self.path = f"{locks_path(store)}/{name}"
        self._what = what
        self._connection = store.connection
        self._clock = clock or SystemClock()
        self._holder = LockHolder.of_this_process(owner, self._clock)
        self._lock: Any = None
        self._suspended_since: float | None = None
        self._session_lost = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    @property
    def lost(self) -> bool:
        """Whether the acquired lock may be lost: if so, stop working.

        True permanently once the session is lost or the connection has been down for so long that ZooKeeper
        may have given the lock to another process.
        """
        since = self._suspended_since
        safe_s = self._connection.session_timeout_s * _SAFE_SUSPENSION
        if since is not None and self._clock.monotonic() - since >= safe_s:
            self._session_lost = True
        return self._session_lost

    def acquire(self, wait_s: float) -> None:
        """Acquire the lock, waiting for at most ``wait_s`` seconds while another process holds it.

        Raises:
            LockHeldError: Another process still holds it; the error names it.
            ConflictError: This object already holds it.
            UnreachableError: ZooKeeper is unreachable.
            AuthError: ZooKeeper's ACLs forbid it.
        """
        if self._lock is not None:
            raise ConflictError(f"this object already holds the lock of {self._what}", where=self.path)
        if wait_s <= 0 and self._connection.children(self.path):
            raise self._held()  # writes nothing, so a standby may check often
        client = self._connection.kazoo()
        lock = client.Lock(self.path, identifier=self._holder.to_json())
        self._session_lost, self._suspended_since = False, None
        client.add_listener(self._on_state)
        attempt = _Attempt(lock, wait_s)
        try:
            acquired = attempt.run(limit_s=wait_s + self._connection.timeout_s)
        except LOST_REPLY as error:
            client.remove_listener(self._on_state)
            raise UnreachableError(
                f"the lock of {self._what} cannot be requested ({type(error).__name__})", where=self.path
            ) from error
        except KazooException as error:
            client.remove_listener(self._on_state)
            raise self._connection.refusal(self.path, error) from error
        if acquired:
            self._lock = lock
            # A session lost while waiting does not matter, because the znode belongs to the current one; if
            # the current one has been lost since, the znode is missing.
            self._session_lost = False
            self._session_lost = not self._connection.exists(f"{self.path}/{lock.node}")
            _logger.info("acquired the lock %s", self.path)
            return
        client.remove_listener(self._on_state)
        if acquired is None and client.state != KazooState.CONNECTED:
            raise UnreachableError(
                f"the connection to ZooKeeper was lost while waiting for the lock of {self._what}",
                where=self._connection.address,
            )
        raise self._held()

    def release(self) -> None:
        """Release the lock; does nothing if it is not held."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        lock.client.remove_listener(self._on_state)
        try:
            # Not kazoo's release, which may wait indefinitely for a connection.
            self._connection.delete(f"{self.path}/{lock.node}")
        except NotFoundError:
            _logger.warning("the lock %s had been lost before it was released", self.path)
        except (UnreachableError, AuthError, OutcomeUnknownError) as error:
            _logger.warning(
                "the lock %s will be released once ZooKeeper is reachable: %s", self.path, error.message
            )
            threading.Thread(
                target=_delete_nodes, args=(lock,), name="table-lock-release", daemon=True
            ).start()

    def holder(self) -> LockHolder | None:
        """Return the current holder of the lock, if any.

        Raises:
            FormatVersionError: The holder is a process of a later release.
            DataError: The lock's entry does not name a holder.
            UnreachableError: ZooKeeper does not answer.
        """
        # Sorted by kazoo's sequence number at the end of the name: the first holds the lock, the rest wait.
        names = sorted(self._connection.children(self.path) or (), key=lambda name: name[-10:])
        for found in self._connection.get_many([f"{self.path}/{name}" for name in names]):
            if found is not None:
                return LockHolder.from_json(found[0], self.path)
        return None

    def _held(self) -> LockHeldError:
        return LockHeldError(
            f"the lock of {self._what} is held by {self._holder_now()}",
            where=self.path,
            remedy="wait until it is done; if its process is dead, the lock is free when its session ends "
            "(after 10 s by default)",
        )

    def _holder_now(self) -> str:
        try:
            return str(self.holder() or "a process that has just released it")
        except FormatVersionError:
            return "a process of a later release"
        except DataError:
            return "an unnamed process"

    def _on_state(self, state: str) -> None:
        """Kazoo's listener; runs in kazoo's thread, so it only records the event."""
        if state == KazooState.LOST:
            self._session_lost = True
        elif state == KazooState.SUSPENDED:
            self._suspended_since = self._clock.monotonic()
        elif not self.lost:
            # Reconnected before ZooKeeper could expire the session: the ephemeral znode still exists.
            self._suspended_since = None


class TableLock(ClusterLock):
    """Exclusive lock for a table and a task type.

    Args:
        store: The cluster's property store; its session holds the lock.
        table: E.g. ``flights_OFFLINE``.
        task_type: E.g. ``FileIngestionTask``.
        owner: A name for the holder, shown to waiting processes.
        clock: Time; default: the machine's.
    """

    def __init__(
        self,
        store: PropertyStore,
        table: TableName,
        task_type: str,
        owner: str,
        *,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(store, f"{table}/{task_type}", f"{task_type} of {table}", owner, clock=clock)


def locks_path(store: PropertyStore) -> str:
    """Return the path of a cluster's locks."""
    # Outside Helix's own folders, so that no clean-up by Helix or Pinot affects them.
    return f"/{store.cluster_name}/PINOT_PLUGINS/locks"


def _delete_nodes(lock: Any) -> None:
    """Delete the znodes of a kazoo lock, however long ZooKeeper is unreachable.

    Otherwise, a session that survives the outage would hold the lock for the lifetime of its process, even
    against that process.
    """

    def delete() -> None:
        for name in lock.client.get_children(lock.path):
            if name.startswith(lock.prefix):
                lock.client.delete(f"{lock.path}/{name}")

    # Closing the client ends this: its znodes are deleted with its session.
    with suppress(KazooException):
        KazooRetry(max_tries=-1, max_delay=1.0)(delete)


class _Attempt:
    """An attempt to acquire kazoo's lock that ends even if ZooKeeper becomes unreachable.

    kazoo's acquire blocks indefinitely while disconnected, so it runs in a thread that can be abandoned. An
    abandoned or failed attempt deletes its znodes itself.
    """

    def __init__(self, lock: Any, wait_s: float) -> None:
        self._lock, self._wait_s = lock, wait_s
        self._mutex = threading.Lock()
        self._abandoned = False
        self._acquired = False
        self._error: Exception | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._acquire, name="table-lock", daemon=True)

    def run(self, limit_s: float) -> bool | None:
        """Return True if acquired, False if another process holds it, None without a reply in ``limit_s``."""
        self._thread.start()
        self._ended.wait(limit_s)
        with self._mutex:
            if self._ended.is_set():
                if self._error:
                    raise self._error
                return self._acquired
            self._abandoned = True
        self._lock.cancel()
        return None

    def _acquire(self) -> None:
        """Runs in a thread of its own."""
        acquired, failure = False, None
        try:
            acquired = bool(self._lock.acquire(blocking=self._wait_s > 0, timeout=self._wait_s or None))
        except LockTimeout:
            pass
        except KazooException as error:
            failure = error
        with self._mutex:
            self._acquired, self._error = acquired, failure
            self._ended.set()
            is_wanted = acquired and not self._abandoned
        if not is_wanted:
            # kazoo's own clean-up gives up if the connection breaks.
            _delete_nodes(self._lock)
