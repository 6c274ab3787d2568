"""The signals that end a hosted minion."""

from __future__ import annotations

import signal
import threading
from types import FrameType

__all__ = ["StopSignal", "stop_on_signals"]


class StopSignal:
    """Set by the first signal; later ones change nothing.

    Attributes:
        event: Set when the role shall end.
    """

    def __init__(self) -> None:
        self.event = threading.Event()

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        """Python's signal handler; runs in the main thread."""
        self.event.set()


def stop_on_signals(*numbers: signal.Signals) -> StopSignal:
    """Take these signals over from whoever handles them now; one that is ignored (``nohup``) stays so."""
    stop = StopSignal()
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop.handle)
    return stop
