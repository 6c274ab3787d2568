"""The signals that end a long-running command."""

from __future__ import annotations

import signal
import threading
from types import FrameType

__all__ = ["StopSignal", "end_at_once_on_interrupt", "stop_on_signals"]


class StopSignal:
    """Set by the first signal; later signals change nothing.

    Attributes:
        event: Set when the process should stop.
    """

    def __init__(self) -> None:
        self.event = threading.Event()

    def take_over(self, *numbers: signal.Signals) -> None:
        """Handle these signals from now on; a signal that is ignored (``nohup``) stays ignored."""
        for number in numbers:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self.handle)

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal; Python calls this in the main thread."""
        self.event.set()


def stop_on_signals(*numbers: signal.Signals) -> StopSignal:
    """Return a StopSignal that handles these signals; see :meth:`StopSignal.take_over`."""
    stop = StopSignal()
    stop.take_over(*numbers)
    return stop


def end_at_once_on_interrupt() -> None:
    """Let Ctrl-C end the process as SIGTERM does, even while it runs Java code.

    Python's own handler would wait until the Java code returns.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
