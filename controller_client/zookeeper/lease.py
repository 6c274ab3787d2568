"""A lease: of several processes that do the same, one holds it and works, and the others stand by.

::

    /<cluster>/PINOT_PLUGINS/leases/<name>/<token>-<sequence>      ephemeral; who it is (`LockHolder`)

The process whose znode is first in the line holds the lease. Each of the others watches the one before it, so
the end of one wakes one. ZooKeeper removes the znode of a process that died when its session ends. The holder
proves again and again that its session lives, and goes without the lease when two thirds of the session's
time have passed since the last proof began: before ZooKeeper can have given it to the next.
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

_PROOF_HOLDS = 2 / 3
"""For this part of the session's time; the rest is for what a server of ZooKeeper tells its leader late."""
_PROOFS = 6
"""In the session's time."""
_RETRY_S = 1.0

_logger = logging.getLogger(__name__)


class Turn(Protocol):
    """Whether this process is the one of several that works."""

    @property
    def held(self) -> bool:
        """Whether it is now; to be asked before each piece of work, in any thread."""
        ...

    def release(self) -> None:
        """Let the next one work; this one begins nothing more."""
        ...


class Alone:
    """The turn of a process that is the only one."""

    held = True

    def release(self) -> None:
        """Do nothing: there is no other."""


class LeaseState(StrEnum):
    """What a process has of a lease."""

    WAITING = "waiting"
    HOLDING = "holding"
    LOST = "lost"
    RELEASED = "released"


class _Event(StrEnum):
    FIRST = "it is the first in line, and its session lives"
    SILENT = "its session was not proven in time"
    GONE = "its znode is gone"
    ENTERED = "it stands in line again"
    STOPPED = "it is to end"


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
    """This process' part in a lease. Entering the context stands in line; a thread of its own does the rest.

    ::

        with Lease(store, "scheduler", process_name(), note=print) as lease:
            while not stop.wait(1):
                if lease.held:
                    ...

    A lease that was lost is lost for good: the process ends that session and stands at the end of the line,
    with a greater number where it gets the lease again.

    Args:
        store: The cluster's, with a session that is this lease's alone.
        name: Of the lease, as part of a path.
        owner: A name for this process, for people.
        what: What the process is, for people: "scheduler".
        note: Called with lines for people, in the lease's thread.
        clock: Time.

    Attributes:
        name: Of the lease.
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
        self._told = ""  # the znode of the holder that people were told of
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"lease-{name}", daemon=True)

    def __enter__(self) -> Self:
        # In this thread: that ZooKeeper is away, or refuses it, ends a command that has just begun.
        self.step()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    @property
    def state(self) -> LeaseState:
        """What this process has of the lease now."""
        self._check_proof()
        return self._state

    @property
    def held(self) -> bool:
        """Whether this process holds the lease, and no other can; in any thread."""
        return self.state is LeaseState.HOLDING

    @property
    def number(self) -> int:
        """ZooKeeper's number of this holder: greater than that of each holder before it.

        Raises:
            LeaseLostError: The lease is not held.
        """
        return self._term()[1]

    def guard(self) -> CheckVersion:
        """Make the part of a transaction that fails once this process does not hold the lease any more.

        Raises:
            LeaseLostError: The lease is not held.
        """
        return CheckVersion(self._term()[0], 0)

    def release(self) -> None:
        """Leave the line for good; the next one has the lease at once, or when ZooKeeper ends the session."""
        if not self._move(_Event.STOPPED):
            return
        self._wake.set()
        self._line.leave()

    def step(self) -> float:
        """Do what is to be done now; called again and again by one thread.

        Returns:
            After how many seconds it is to be called again, unless something changes before.

        Raises:
            PinotPluginError: ZooKeeper does not answer, or refuses it; to be called again all the same.
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
        return self._session_s / _PROOFS if self._state is LeaseState.HOLDING else self._session_s

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
                # A thread that ended would keep its place in line without ever working.
                _logger.exception("the lease %s: an unexpected failure; trying again", self._line.path)
                pause_s = _RETRY_S
        # Again: it may have been entering the line when it was released.
        self._line.leave()

    def _wait(self) -> None:
        asked_s = self._clock.monotonic()
        place = self._line.look()
        if place.own is None:
            self._line.enter()
            asked_s = self._clock.monotonic()
            place = self._line.look()
        if place.own is None:
            self._wake.set()  # its session has just ended: there is a new one by now
        elif place.ahead:
            if not self._line.is_there(place.ahead[-1], self._woken):
                self._wake.set()
            self._tell_who_holds(place.ahead[0])
        else:
            self._take(place.own, asked_s)

    def _take(self, own: str, asked_s: float) -> None:
        on_own = partial(self._own_changed, own)
        number = self._line.number(own)
        with self._mutex:
            self._own, self._on_own = own, on_own
        if number is None or not self._line.is_there(own, on_own):
            self._wake.set()
            return
        with self._mutex:
            self._number = number
            self._proven_until_s = asked_s + self._session_s * _PROOF_HOLDS
        if self._move(_Event.FIRST) and self.held:
            _logger.info("holds the lease %s, number %d", self._line.path, number)
            if self._told:
                self._note(f"this {self._what} takes over")
            self._told = ""

    def _prove(self) -> None:
        own, asked_s = self._own, self._clock.monotonic()
        if own is None or not self._line.is_there(own, self._on_own):
            self._move(_Event.GONE)
            self._wake.set()
            return
        self._check_proof()
        with self._mutex:
            self._proven_until_s = asked_s + self._session_s * _PROOF_HOLDS
        if self._clock.monotonic() - asked_s > self._session_s / _PROOFS:
            self._wake.set()  # little is left of a proof whose answer was slow

    def _enter_again(self) -> None:
        self._note(f"this {self._what} has lost its lease, and begins nothing until it has it again")
        self._line.leave()
        self._told = "lost"
        self._move(_Event.ENTERED)
        self._wake.set()

    @property
    def _session_s(self) -> float:
        """As ZooKeeper has granted it, which may be shorter than was asked for."""
        return self._connection.session_timeout_s

    def _check_proof(self) -> None:
        """Lose the lease where its znode is gone, or the last proof too old: a cut, or a stopped process."""
        if self._state is not LeaseState.HOLDING:
            return
        is_silent = self._clock.monotonic() >= self._proven_until_s
        if self._own is None or is_silent:
            self._move(_Event.SILENT if is_silent else _Event.GONE)
            self._wake.set()

    def _move(self, event: _Event) -> bool:
        """Make the one transition that the table has; whether it has one."""
        with self._mutex:
            found = _MOVES.get((self._state, event))
            if found is None:
                return False
            _logger.debug("lease %s: %s -> %s: %s", self._line.path, self._state, found, event)
            self._state = found
            return True

    def _term(self) -> tuple[str, int]:
        held = self.held
        with self._mutex:
            own, number = self._own, self._number
        if not held or own is None:
            raise LeaseLostError(f"this {self._what} does not hold its lease", where=self._line.path)
        return own, number

    def _own_changed(self, own: str, event: Any) -> None:
        """Of the own znode; runs in kazoo's thread."""
        if event.type == EventType.DELETED or event.state in CLOSED_STATES:
            with self._mutex:
                if self._own == own:
                    self._own = None
            self._check_proof()
        self._wake.set()

    def _woken(self, _event: Any) -> None:
        """Of the znode before the own one; runs in kazoo's thread."""
        self._wake.set()

    def _tell_who_holds(self, first: str) -> None:
        if first == self._told:
            return
        content = self._line.content(first)
        if content is None:
            return
        try:
            holder = str(LockHolder.from_json(content, first))
        except FormatVersionError:
            holder = "a process of a later release"
        except DataError:
            holder = "a process that does not say who it is"
        self._note(f"this {self._what} stands by: {holder} holds the lease")
        self._told = first


def leases_path(store: PropertyStore) -> str:
    """Return the path below which the leases of a cluster are."""
    # Outside Helix' own folders, as locks are.
    return f"/{store.cluster_name}/PINOT_PLUGINS/leases"
