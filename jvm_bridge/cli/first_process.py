"""The signals of a container's first process; imports next to nothing, so that it can be called at once."""

from __future__ import annotations

import os
import signal
from types import FrameType

__all__ = ["end_at_once_as_init", "hand_over_signals"]

_OF_SIGNALS = 128
"""Exit code of a process that a signal has ended, less the signal's number."""


def end_at_once_as_init(*numbers: signal.Signals, pid: int | None = None) -> None:
    """Let signals end a container's first process as they end any other, until somebody takes them over.

    The kernel drops those that this process, pid 1, does not handle: a SIGTERM during the start would be
    lost, and the container killed when its time is over.

    Args:
        numbers: The signals.
        pid: This process; for tests.
    """
    if (pid or os.getpid()) != 1:
        return
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end_at_once)


def hand_over_signals() -> None:
    """Give the program that takes this one's place the signals back that Python ignores."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _end_at_once(number: int, _frame: FrameType | None) -> None:
    """Python's signal handler; runs in the main thread, once it is not in Java."""
    os._exit(_OF_SIGNALS + number)
