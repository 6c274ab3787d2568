"""Retries a coordinator after failures of ZooKeeper, Kafka or its engine."""

from __future__ import annotations

import threading
from collections.abc import Callable

from controller_client.errors import AuthError, OutcomeUnknownError, SourceError, UnreachableError

__all__ = ["Retries"]

_MAX_FAILURES = 10
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0


class Retries:
    """Counts the failures since the last version.

    Args:
        note: Called with log lines.
        on_failure: Called with the reason of a failure.
    """

    def __init__(
        self, note: Callable[[str], None], on_failure: Callable[[str], None] = lambda _reason: None
    ) -> None:
        self._note = note
        self._on_failure = on_failure
        self._failures = 0

    def succeeded(self) -> None:
        """Reset the count: a version was made."""
        self._failures = 0

    def run(self, attempt: Callable[[], bool], stop: threading.Event) -> None:
        """Call repeatedly, with increasing pauses after failures.

        Args:
            attempt: Returns whether all work is done.
            stop: Ends the loop; a failure after it is set counts as part of the shutdown.

        Raises:
            SourceError: It failed ten times without making a version.
            UnreachableError: The same, because ZooKeeper did not answer.
            AuthError: The same, because ZooKeeper rejected this process: its ticket may have to be renewed.
            OutcomeUnknownError: The same, because ZooKeeper's replies were lost.
        """
        while not stop.is_set():
            try:
                if attempt():
                    return
            except (SourceError, UnreachableError, AuthError, OutcomeUnknownError) as error:
                if stop.is_set():
                    return  # the signal may also have stopped the service that was called
                self._failures += 1
                self._on_failure(error.message)
                if self._failures == _MAX_FAILURES:
                    raise
                pause_s = min(_FIRST_PAUSE_S * 2.0 ** (self._failures - 1), _LONGEST_PAUSE_S)
                self._note(f"{error.message}; trying again in {pause_s:g} s")
                stop.wait(pause_s)
