"""The thread of a hook: it calls the same function repeatedly until the role stops."""

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
"""Waits for an event, with a timeout in seconds; used for all waits."""

_View = TypeVar("_View", bound=HostedRoleView)

_JOIN_TICKS = 2
ROUND_BOUND_S = 120.0
"""Maximum duration of a tick, which is short unless it waits for ZooKeeper until the timeout."""


class TickingThread:
    """Calls a function at once, and again whenever it is woken or its pause has passed.

    Args:
        name: Name of the thread.
        tick: Called in the thread; returns the pause until the next call in seconds, or None for the default.
        guard: Context of each call; after a call with an exception that it suppresses, the default pause
            follows.
        pause_s: The default pause.
        at_end: Called in the thread when it is about to end.
        on_round: Called in the thread after each call, with whether the call returned without an exception.
        wait: Function that waits.
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
        """Trigger a call soon, from any thread; during a call, this triggers one more call."""
        self._wake.set()

    def stop(self, timeout_s: float) -> None:
        """End the thread after the current call, and wait for that up to a timeout."""
        self._stopping.set()
        self._wake.set()
        if self._thread.ident is not None:  # if it was started
            self._thread.join(timeout=timeout_s)

    def _run(self) -> None:
        while True:
            # In this order: stop() sets both, so neither is missed.
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
    """A hook with a thread that calls :meth:`tick`; see :class:`~jvm_bridge.role_host.RoleHook`.

    Args:
        name: Name of the hook, under which its exceptions are counted.
        pause_s: Time between two ticks unless it is woken.
        thread_name: Name of its thread; default: that of the hook.
        wait: Function that waits.
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
        """The role that it runs in."""
        if self._role is None:
            raise RuntimeError("before_start() was not called")
        return self._role

    @property
    def has_begun(self) -> bool:
        """Whether it was prepared; Pinot may call a hook that was not."""
        return self._role is not None

    def before_start(self, role: _View) -> None:
        """Prepare, and start the thread."""
        self.prepare(role)
        self._role = role
        self._loop = role.monitoring.loop(self._name, ROUND_BOUND_S)
        self._thread.start()

    def started(self, role: _View) -> None:
        """Do nothing: the thread is already running."""

    def stopping(self, role: _View) -> None:
        """End the thread."""
        self._thread.stop(_JOIN_TICKS * self._pause_s)

    def wake(self) -> None:
        """Trigger a tick soon, from any thread."""
        self._thread.wake()

    @abstractmethod
    def prepare(self, role: _View) -> None:
        """Prepare the hook in the main thread, before the role starts; an exception is a failed start."""

    @abstractmethod
    def tick(self) -> None:
        """Handle changes; called in the hook's thread, which handles exceptions."""

    def ended(self) -> None:
        """Release resources; called in the thread when it is about to end."""

    def _round_ended(self, well: bool) -> None:
        if self._loop:
            self._loop.round_ended(well=well)

    def _ended(self) -> None:
        if self._loop:
            self._loop.ended()
        self.ended()
