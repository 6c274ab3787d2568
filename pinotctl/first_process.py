"""The signals of a container's first process; imports almost nothing, so that it can be called at once."""

from __future__ import annotations

import os
import signal
from types import FrameType

__all__ = ["end_at_once_as_init", "hand_over_signals"]

_OF_SIGNALS = 128
"""Exit code of a process that a signal ended, minus the signal's number."""


def end_at_once_as_init(*numbers: signal.Signals, pid: int | None = None) -> None:
    """Let signals end a container's first process like any other, until other handlers are installed.

    The kernel drops signals that pid 1 does not handle: a SIGTERM during the start would be lost, and the
    container would be killed after its grace period.

    Args:
        numbers: The signals.
        pid: The id of this process; for tests.
    """
    if (pid or os.getpid()) != 1:
        return
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end_at_once)


def hand_over_signals() -> None:
    """Restore the signals that Python ignores, for the program that replaces this process."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def _end_at_once(number: int, _frame: FrameType | None) -> None:
    """Handle a signal; runs in the main thread, outside of Java."""
    os._exit(_OF_SIGNALS + number)
