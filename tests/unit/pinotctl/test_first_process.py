from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pinotctl.container import end_at_once_as_init
from pinotctl.signals import stop_on_signals


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    numbers = (signal.SIGUSR1,)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_of_a_containers_first_process_are_not_dropped() -> None:
    program = (
        "import signal\n"
        "from pinotctl.container import end_at_once_as_init\n"
        "end_at_once_as_init(signal.SIGTERM, pid=1)\n"
        "signal.raise_signal(signal.SIGTERM)\n"
    )
    # Not -15: the kernel's default action for signals does not apply to pid 1.
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 143


def test_any_other_process_keeps_its_handlers() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    end_at_once_as_init(signal.SIGUSR1)
    assert signal.getsignal(signal.SIGUSR1) is before


def test_an_early_stop_ends_the_process() -> None:
    end_at_once_as_init(signal.SIGUSR1, pid=1)
    stop = stop_on_signals(signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1)
    assert stop.event.is_set()
