"""A lease: of several processes with the same task, one holds the lease and works; the others stand by.

::

    /<cluster>/PINOT_PLUGINS/leases/<name>/<token>-<sequence>      ephemeral; names the process (`LockHolder`)

The process whose znode is first in line holds the lease. Each of the others watches the one before it, so the
end of one process wakes only one. When a process dies, ZooKeeper removes its znode at the end of its session.
The holder regularly verifies that its session is alive, and gives up the lease once two thirds of the session
timeout have passed since the last verification began, before ZooKeeper can give it to the next process. On
Linux, the time during which the machine was suspended counts too.

A check of the lease and what follows it are two steps: a process that is suspended in between still does the
second. In ZooKeeper, :meth:`Lease.guard` makes them one; a write to a store or to Pinot has no such guard.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self

from kazoo.client import CLOSED_STATES
from kazoo.protocol.states import EventType

from controller_client.clock import Clock, SystemClock
from controller_client.errors import DataError, FormatVersionError, LeaseLostError, PinotPluginError
from controller_client.zookeeper.holder import LockHolder
from controller_client.zookeeper.line import Line
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.transaction import CheckVersion

__all__ = ["Alone", "Lease", "LeaseState", "Turn", "leases_path"]

_PROOF_SHARE = 2 / 3
"""A verification is valid for this share of the session timeout; the rest covers delays within ZooKeeper."""
_PROOFS_PER_SESSION = 6
"""Verifications per session timeout."""
_RETRY_S = 1.0

_logger = logging.getLogger(__name__)


class Turn(Protocol):
    """Whether it is this process's turn to work."""

    @property
    def is_holder(self) -> bool:
        """Whether it is now; to be checked before each piece of work, in any thread."""
        ...

    def release(self) -> None:
        """Let the next process work; this one must not start anything more."""
        ...


class Alone:
    """The turn of a single process."""

    is_holder = True

    def release(self) -> None:
        """Do nothing: there is no other process."""


class LeaseState(StrEnum):
    """The state of a process's lease."""

    WAITING = "waiting"
    HOLDING = "holding"
    LOST = "lost"
    RELEASED = "released"


class _Event(StrEnum):
    FIRST = "it is first in line and its session is alive"
    SILENT = "its session was not verified in time"
    GONE = "its znode is gone"
    ENTERED = "it is in line again"
    STOPPED = "it was stopped"


_MOVES: dict[tuple[LeaseState, _Event], LeaseState] = {
    (LeaseState.WAITING, _Event.FIRST): LeaseState.HOLDING,
    (LeaseState.HOLDING, _Event.SILENT): LeaseState.LOST,
    (LeaseState.HOLDING, _Event.GONE): LeaseState.LOST,
    (LeaseState.LOST, _Event.ENTERED): LeaseState.WAITING,
    (LeaseState.WAITING, _Event.STOPPED): LeaseState.RELEASED,
    (LeaseState.HOLDING, _Event.STOPPED): LeaseState.RELEASED,
    (LeaseState.LOST, _Event.STOPPED): LeaseState.RELEASED,
}


class Lease:
    """A process's part in a lease. Entering the context joins the line; a thread of its own does the rest.

    ::

        with Lease(store, "scheduler", process_name(), note=print) as lease:
            while not stop.wait(1):
                if lease.is_holder:
                    ...

    A lost lease is lost for good: the process ends its session and rejoins at the end of the line; if it gets
    the lease again, it has a greater number.

    Args:
        store: The cluster's property store, with a session used only for this lease.
        name: Name of the lease, used in a path.
        owner: Name of this process, for users.
        what: Kind of process, for users: "scheduler".
        note: Called with log lines, in the lease's thread.
        clock: Time.

    Attributes:
        name: Name of the lease.
    """

    def __init__(
        self,
        store: PropertyStore,
        name: str,
        owner: str,
        *,
        what: str,
        note: Callable[[str], None],
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._what, self._note = what, note
        self._connection = store.connection
        self.name = name
        content = LockHolder.of_this_process(owner, self._clock).to_json().encode()
        self._line = Line(store.connection, f"{leases_path(store)}/{name}", content)
        self._mutex = threading.Lock()
        self._state = LeaseState.WAITING
        self._own: str | None = None
        self._number = 0
        self._proven_until_s = 0.0
        self._on_own: Callable[[Any], None] = partial(self._own_changed, "")
        self._noted = ""  # the holder's znode named in the last log line
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"lease-{name}", daemon=True)

    def __enter__(self) -> Self:
        # In this thread: an unreachable or refusing ZooKeeper must end a command that has just started.
        self.step()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    @property
    def state(self) -> LeaseState:
        """The current state of this process's lease."""
        self._check_proof()
        return self._state

    @property
    def is_holder(self) -> bool:
        """Whether this process, and no other, holds the lease; thread-safe."""
        return self.state is LeaseState.HOLDING

    @property
    def number(self) -> int:
        """ZooKeeper's number of this holder: greater than those of all previous holders.

        Raises:
            LeaseLostError: This process does not hold the lease.
        """
        return self._term()[1]

    def guard(self) -> CheckVersion:
        """Return a part of a transaction that fails if this process no longer holds the lease.

        Raises:
            LeaseLostError: This process does not hold the lease.
        """
        return CheckVersion(self._term()[0], 0)

    def release(self) -> None:
        """Leave the line for good; the next process gets the lease at once or at the end of the session."""
        if not self._move(_Event.STOPPED):
            return
        self._wake.set()
        self._line.leave()

    def step(self) -> float:
        """Do what is due now; called repeatedly by one thread.

        Returns:
            Seconds until the next call, unless something changes before.

        Raises:
            PinotPluginError: ZooKeeper does not answer or refuses; call it again nevertheless.
        """
        match self.state:
            case LeaseState.WAITING:
                self._wait()
            case LeaseState.HOLDING:
                self._prove()
            case LeaseState.LOST:
                self._enter_again()
            case LeaseState.RELEASED:
                pass
        return self._session_s / _PROOFS_PER_SESSION if self._state is LeaseState.HOLDING else self._session_s

    def _serve(self) -> None:
        """Runs in the lease's thread."""
        failed = ""
        pause_s = 0.0
        while self._state is not LeaseState.RELEASED:
            self._wake.wait(pause_s)
            self._wake.clear()
            try:
                pause_s = self.step()
                failed = ""
            except PinotPluginError as error:
                if error.message != failed:
                    _logger.warning("the lease %s: %s; trying again", self._line.path, error.message)
                failed, pause_s = error.message, _RETRY_S
            except Exception:
                # If the thread ended, the process would keep its position in line without ever working.
                _logger.exception("the lease %s: an unexpected failure; trying again", self._line.path)
                pause_s = _RETRY_S
        # Again: it may have been joining the line when it was released.
        self._line.leave()

    def _wait(self) -> None:
        asked_s = self._clock.monotonic()
        position = self._line.position()
        if position.own is None:
            self._line.enter()
            asked_s = self._clock.monotonic()
            position = self._line.position()
        if position.own is None:
            self._wake.set()  # its session has just ended; by now there is a new one
        elif position.ahead:
            if not self._line.exists(position.ahead[-1], self._woken):
                self._wake.set()
            self._note_holder(position.ahead[0])
        else:
            self._take(position.own, asked_s)

    def _take(self, own: str, asked_s: float) -> None:
        on_own = partial(self._own_changed, own)
        number = self._line.number(own)
        with self._mutex:
            self._own, self._on_own = own, on_own
        if number is None or not self._line.exists(own, on_own):
            self._wake.set()
            return
        with self._mutex:
            self._number = number
            self._proven_until_s = asked_s + self._session_s * _PROOF_SHARE
        if self._move(_Event.FIRST) and self.is_holder:
            _logger.info("acquired the lease %s, number %d", self._line.path, number)
            if self._noted:
                self._note(f"this {self._what} takes over")
            self._noted = ""

    def _prove(self) -> None:
        own, asked_s = self._own, self._clock.monotonic()
        if own is None or not self._line.exists(own, self._on_own):
            self._move(_Event.GONE)
            self._wake.set()
            return
        self._check_proof()
        with self._mutex:
            self._proven_until_s = asked_s + self._session_s * _PROOF_SHARE
        if self._clock.monotonic() - asked_s > self._session_s / _PROOFS_PER_SESSION:
            self._wake.set()  # a slow reply leaves little of the verification's validity

    def _enter_again(self) -> None:
        self._note(f"this {self._what} has lost its lease and starts nothing until it has it again")
        self._line.leave()
        self._noted = "lost"
        self._move(_Event.ENTERED)
        self._wake.set()

    @property
    def _session_s(self) -> float:
        """The session timeout granted by ZooKeeper, which may be shorter than requested."""
        return self._connection.session_timeout_s

    def _check_proof(self) -> None:
        """Lose the lease if its znode is gone or the last verification is too old, e.g. after a pause."""
        if self._state is not LeaseState.HOLDING:
            return
        is_silent = self._clock.monotonic() >= self._proven_until_s
        if self._own is None or is_silent:
            self._move(_Event.SILENT if is_silent else _Event.GONE)
            self._wake.set()

    def _move(self, event: _Event) -> bool:
        """Make the transition of the table; returns whether there is one."""
        with self._mutex:
            next_state = _MOVES.get((self._state, event))
            if next_state is None:
                return False
            _logger.debug("lease %s: %s -> %s: %s", self._line.path, self._state, next_state, event)
            self._state = next_state
            return True

    def _term(self) -> tuple[str, int]:
        is_holder = self.is_holder
        with self._mutex:
            own, number = self._own, self._number
        if not is_holder or own is None:
            raise LeaseLostError(f"this {self._what} does not hold its lease", where=self._line.path)
        return own, number

    def _own_changed(self, own: str, event: Any) -> None:
        """Watches this process's znode; runs in kazoo's thread."""
        if event.type == EventType.DELETED or event.state in CLOSED_STATES:
            with self._mutex:
                if self._own == own:
                    self._own = None
            self._check_proof()
        self._wake.set()

    def _woken(self, _event: Any) -> None:
        """Watches the znode before this process's; runs in kazoo's thread."""
        self._wake.set()

    def _note_holder(self, first: str) -> None:
        if first == self._noted:
            return
        content = self._line.content(first)
        if content is None:
            return
        try:
            holder = str(LockHolder.from_json(content, first))
        except FormatVersionError:
            holder = "a process of a later release"
        except DataError:
            holder = "an unnamed process"
        self._note(f"this {self._what} stands by: {holder} holds the lease")
        self._noted = first


def leases_path(store: PropertyStore) -> str:
    """Return the path of a cluster's leases."""
    # Outside Helix's own folders, like locks.
    return f"/{store.cluster_name}/PINOT_PLUGINS/leases"
