"""The thread of a hook: it does the same again and again, until the role stops."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from controller_client.monitoring import Loop
from jvm_bridge.role_host.hooks import HostedRoleView

__all__ = ["ROUND_BOUND_S", "TickingHook", "TickingThread", "Wait"]

Wait = Callable[[threading.Event, float], object]
"""Waits for an event, so many seconds at most; what all waiting goes through."""

_View = TypeVar("_View", bound=HostedRoleView)

_JOIN_TICKS = 2
ROUND_BOUND_S = 120.0
"""A tick takes moments; only ZooKeeper may keep it waiting, until its time is over."""


class TickingThread:
    """Calls a function at once, and then each time when it is woken or its pause is over.

    Args:
        name: Of the thread.
        tick: Called in the thread; returns how long to wait for the next time, seconds, or None for the usual
            pause.
        guard: Entered around each call; a call that ends by what it swallows is followed by the usual pause.
        pause_s: The usual pause.
        at_end: Called in the thread when it is about to end.
        on_round: Called in the thread after each call, also after one that the guard has ended; with whether
            it came to its own end.
        wait: How it waits.
    """

    def __init__(
        self,
        name: str,
        tick: Callable[[], float | None],
        guard: Callable[[], AbstractContextManager[None]],
        *,
        pause_s: float,
        at_end: Callable[[], None] = lambda: None,
        on_round: Callable[[bool], None] = lambda _well: None,
        wait: Wait = threading.Event.wait,
    ) -> None:
        self._tick = tick
        self._guard = guard
        self._pause_s = pause_s
        self._at_end = at_end
        self._on_round = on_round
        self._wait = wait
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Have it called soon; from any thread, also while it is called: then it is called once more."""
        self._wake.set()

    def stop(self, timeout_s: float) -> None:
        """End the thread after what it does now, and wait for that so many seconds at most."""
        self._stopping.set()
        self._wake.set()
        if self._thread.ident is not None:  # else it was never started
            self._thread.join(timeout=timeout_s)

    def _run(self) -> None:
        while True:
            # In this order: who stops it sets both, so none of the two is missed.
            self._wake.clear()
            if self._stopping.is_set():
                break
            pause_s: float | None = None
            well = False
            with self._guard():
                pause_s = self._tick()
                well = True
            self._on_round(well)
            self._wait(self._wake, self._pause_s if pause_s is None else pause_s)
        self._at_end()


class TickingHook(ABC, Generic[_View]):
    """A hook with a thread that follows something; see :class:`~jvm_bridge.role_host.RoleHook`.

    Args:
        name: Under which what it raises is counted.
        pause_s: How long it waits between two ticks, where nothing wakes it.
        thread_name: Of its thread; its own name by default.
        wait: How it waits.
    """

    def __init__(
        self, name: str, *, pause_s: float, thread_name: str | None = None, wait: Wait = threading.Event.wait
    ) -> None:
        self._name = name
        self._role: _View | None = None
        self._loop: Loop | None = None
        self._pause_s = pause_s
        self._thread = TickingThread(
            thread_name or name,
            self.tick,
            lambda: self.role.errors.guard(name, "in its thread"),
            pause_s=pause_s,
            at_end=self._ended,
            on_round=self._round_ended,
            wait=wait,
        )

    @property
    def role(self) -> _View:
        """The role that it is in."""
        if self._role is None:
            raise RuntimeError("before_start() comes first")
        return self._role

    @property
    def has_begun(self) -> bool:
        """Whether it is prepared: Pinot may call one that could not be."""
        return self._role is not None

    def before_start(self, role: _View) -> None:
        """Prepare, and start the thread."""
        self.prepare(role)
        self._role = role
        self._loop = role.monitoring.loop(self._name, ROUND_BOUND_S)
        self._thread.start()

    def started(self, role: _View) -> None:
        """Nothing: the thread runs since before the start."""

    def stopping(self, role: _View) -> None:
        """End the thread."""
        self._thread.stop(_JOIN_TICKS * self._pause_s)

    def wake(self) -> None:
        """Have a tick soon; from any thread."""
        self._thread.wake()

    @abstractmethod
    def prepare(self, role: _View) -> None:
        """Do what must be done before the role starts; in the main thread. What it raises is of the start."""

    @abstractmethod
    def tick(self) -> None:
        """Look what has changed; in the hook's thread, guarded."""

    def ended(self) -> None:
        """The thread is about to end; called in it."""

    def _round_ended(self, well: bool) -> None:
        if self._loop:
            self._loop.round_ended(well=well)

    def _ended(self) -> None:
        if self._loop:
            self._loop.ended()
        self.ended()
