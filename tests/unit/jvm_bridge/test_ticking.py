from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from jvm_bridge.role_host import HostedServerView, TickingHook, TickingThread
from jvm_bridge.role_host.hooks import HookErrors

_LONG_S = 60.0


class Waits:
    """Waits until the test ends the pause, and records the requested lengths."""

    def __init__(self) -> None:
        self.requested: list[float] = []
        self.turn = threading.Semaphore(0)
        self.reached = threading.Semaphore(0)

    def __call__(self, wake: threading.Event, seconds: float) -> bool:
        self.requested.append(seconds)
        self.reached.release()
        if seconds == 0:
            return False
        # The test ends the pause.
        while not (wake.is_set() or self.turn.acquire(timeout=0.01)):
            pass
        return wake.is_set()

    def next(self) -> None:
        """End the pause and wait for the next one."""
        self.turn.release()
        self.await_pause()

    def await_pause(self) -> None:
        """Wait until the thread pauses."""
        assert self.reached.acquire(timeout=_LONG_S)


@contextmanager
def _swallowing(seen: list[Exception]) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        seen.append(error)


def _thread(tick: Callable[[], float | None], waits: Waits, ends: list[str]) -> TickingThread:
    return TickingThread(
        "t", tick, lambda: _swallowing([]), pause_s=7.0, at_end=lambda: ends.append("end"), wait=waits
    )


def test_it_ticks_at_once_then_after_each_pause_and_when_it_is_woken() -> None:
    waits, ends, ticks = Waits(), list[str](), list[str]()
    thread = _thread(lambda: ticks.append(threading.current_thread().name), waits, ends)
    thread.start()
    waits.await_pause()
    assert ticks == ["t"]
    waits.next()
    assert len(ticks) == 2
    thread.wake()
    waits.await_pause()
    assert (len(ticks), waits.requested, ends) == (3, [7.0] * 3, [])
    thread.stop(_LONG_S)
    assert (len(ticks), ends) == (3, ["end"])


def test_a_tick_sets_the_next_pause_and_a_failed_tick_gets_the_default() -> None:
    waits, ends = Waits(), list[str]()
    steps: list[float | None] = [0.0, 3.0, None]

    def tick() -> float | None:
        if not steps:
            raise ValueError("no more")
        return steps.pop(0)

    thread = _thread(tick, waits, ends)
    thread.start()
    for _ in range(2):
        waits.await_pause()
    for _ in range(3):
        waits.next()
    assert waits.requested == [0.0, 3.0, 7.0, 7.0, 7.0]
    thread.stop(_LONG_S)
    assert ends == ["end"]


def test_a_wake_during_a_tick_causes_one_more_tick() -> None:
    waits, ticks = Waits(), list[int]()

    def tick() -> None:
        ticks.append(len(ticks))
        if len(ticks) == 1:
            thread.wake()

    thread = _thread(tick, waits, [])
    thread.start()
    for _ in range(2):
        waits.await_pause()
    assert ticks == [0, 1]
    thread.stop(_LONG_S)


class Counts(TickingHook[HostedServerView]):
    """A hook that fails in each tick, and optionally in its preparation."""

    def __init__(self, waits: Waits, error: Exception | None = None) -> None:
        super().__init__("counts", pause_s=5.0, thread_name="of-counts", wait=waits)
        self.threads: list[str] = []
        self.error = error

    def prepare(self, role: HostedServerView) -> None:
        if self.error:
            raise self.error

    def tick(self) -> None:
        self.threads.append(threading.current_thread().name)
        raise OSError(self.role.instance_id)

    def ended(self) -> None:
        self.threads.append("ended")


def _view() -> HostedServerView:
    return HostedServerView("Server_a_1", "c", "localhost:2181", None, {}, HookErrors())


def test_a_hook_ticks_from_before_the_start_until_the_stop_and_its_exceptions_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    waits, role = Waits(), _view()
    hook = Counts(waits)
    assert not hook.has_begun
    hook.before_start(role)
    assert hook.has_begun
    waits.await_pause()
    hook.started(role)
    hook.wake()
    waits.await_pause()
    assert role.errors.count("counts") == 2
    assert 'pinot_plugins_process_rounds_total{loop="counts"} 2.0\n' in role.monitoring.text()
    assert 'pinot_plugins_process_failed_rounds_total{loop="counts"} 2.0\n' in role.monitoring.text()
    hook.stopping(role)
    assert 'last_round_timestamp_seconds{loop="counts"}' not in role.monitoring.text()
    assert hook.threads == ["of-counts", "of-counts", "ended"]
    assert "hook counts failed in its thread; the server continues" in caplog.messages
    assert "OSError: Server_a_1" in caplog.text


def test_a_hook_that_could_not_be_prepared_never_ticks() -> None:
    role = _view()
    hook = Counts(Waits(), ValueError("not here"))
    with pytest.raises(ValueError, match="not here"):
        hook.before_start(role)
    assert not hook.has_begun
    with pytest.raises(RuntimeError, match="before_start"):
        _ = hook.role
    hook.stopping(role)
    assert hook.threads == []
