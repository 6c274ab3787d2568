"""The end of a hosted role that is still starting, with Pinot's starter replaced."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from controller_client.monitoring import Monitoring, catalogue
from jvm_bridge.role_host import host
from jvm_bridge.role_host.host import HostedRole
from jvm_bridge.role_host.kinds import SERVER
from tests.unit.fake_clock import FakeClock

_LONG_S = 60.0


class LostConnectionError(Exception):
    """What Pinot's start raises when its connection is closed."""


class Starter:
    """Starts until its connection is closed and the test lets it fail."""

    def __init__(self) -> None:
        self.started, self.closed, self.may_fail = (threading.Event() for _ in range(3))
        self.ends: list[str] = []

    def start(self) -> None:
        self.started.set()
        assert self.closed.wait(_LONG_S)
        assert self.may_fail.wait(_LONG_S)
        self.ends.append("start")
        raise LostConnectionError


@pytest.fixture
def starter() -> Starter:
    return Starter()


@pytest.fixture
def role(monkeypatch: pytest.MonkeyPatch, starter: Starter) -> HostedRole:
    role = HostedRole(SERVER, (), (), {}, Monitoring(catalogue.SERVER, FakeClock()))
    monkeypatch.setattr(role, "_starter", starter)
    monkeypatch.setattr(role, "_leave_half_way", starter.closed.set)
    return role


def _in_thread(action: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        with suppress(LostConnectionError):
            action()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_stop_waits_until_the_start_has_failed(role: HostedRole, starter: Starter) -> None:
    starting = _in_thread(role._start_pinot)
    assert starter.started.wait(_LONG_S)

    def stop() -> None:
        role._stop()
        starter.ends.append("stop")

    stopping = _in_thread(stop)
    assert starter.closed.wait(_LONG_S)
    starter.may_fail.set()
    for thread in (starting, stopping):
        thread.join(_LONG_S)
    assert starter.ends == ["start", "stop"]


def test_a_start_that_connects_after_the_stop_began_leaves_too(
    role: HostedRole, starter: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def leave() -> None:
        tries.append(len(tries))
        if len(tries) == 3:  # it was not connected before
            starter.closed.set()
            starter.may_fail.set()

    monkeypatch.setattr(role, "_leave_half_way", leave)
    starting = _in_thread(role._start_pinot)
    assert starter.started.wait(_LONG_S)
    role._stop()
    starting.join(_LONG_S)
    assert (len(tries) >= 3, starter.ends) == (True, ["start"])


def test_a_stop_does_not_wait_for_ever(
    role: HostedRole, starter: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_LEAVES", 2)
    starting = _in_thread(role._start_pinot)
    assert starter.started.wait(_LONG_S)
    role._stop()
    assert not starter.ends
    starter.may_fail.set()
    starting.join(_LONG_S)


def test_a_role_that_has_not_begun_to_start_stops_at_once(
    role: HostedRole, starter: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_LEAVE_AGAIN_S", threading.TIMEOUT_MAX)
    role._stop()
    assert starter.closed.is_set()
