from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from controller_client.cli.signals import end_at_once_on_interrupt, stop_on_signals


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    numbers = (signal.SIGHUP, signal.SIGUSR1, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_first_signal_stops_and_a_second_changes_nothing() -> None:
    stop = stop_on_signals(signal.SIGHUP, signal.SIGUSR1)
    assert not stop.event.is_set()
    signal.raise_signal(signal.SIGUSR1)
    assert stop.event.is_set()
    signal.raise_signal(signal.SIGHUP)
    assert stop.event.is_set()


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = stop_on_signals(signal.SIGHUP)
    signal.raise_signal(signal.SIGHUP)
    assert not stop.event.is_set()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_an_interrupt_ends_the_process_at_once_unless_it_is_ignored() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end_at_once_on_interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_at_once_on_interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
