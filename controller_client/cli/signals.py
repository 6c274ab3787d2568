"""The signals that end a command which runs until it is stopped."""

from __future__ import annotations

import signal
import threading
from types import FrameType

__all__ = ["StopSignal", "end_at_once_on_interrupt", "stop_on_signals"]


class StopSignal:
    """Set by the first signal; later ones change nothing.

    Attributes:
        event: Set when the role shall end.
    """

    def __init__(self) -> None:
        self.event = threading.Event()

    def take_over(self, *numbers: signal.Signals) -> None:
        """Take these signals over from whoever handles them now; one that is ignored (``nohup``) stays so."""
        for number in numbers:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self.handle)

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        """Python's signal handler; runs in the main thread."""
        self.event.set()


def stop_on_signals(*numbers: signal.Signals) -> StopSignal:
    """Take signals over at once; see :meth:`StopSignal.take_over`."""
    stop = StopSignal()
    stop.take_over(*numbers)
    return stop


def end_at_once_on_interrupt() -> None:
    """Let Ctrl-C end the process as SIGTERM does, also while it is in Java, where Python's handler waits."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
