"""A coordinator goes on after failures of ZooKeeper, Kafka and its engine, whichever engine it has."""

from __future__ import annotations

import threading
from collections.abc import Callable

from controller_client.errors import AuthError, OutcomeUnknownError, SourceError, UnreachableError

__all__ = ["Retries"]

_MOST_FAILURES = 10
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0


class Retries:
    """Counts the failures since the last version.

    Args:
        note: Called with lines for people.
        on_failure: Called with what went wrong.
    """

    def __init__(
        self, note: Callable[[str], None], on_failure: Callable[[str], None] = lambda _reason: None
    ) -> None:
        self._note = note
        self._on_failure = on_failure
        self._failures = 0

    def succeeded(self) -> None:
        """A version was made: what failed before does not count any more."""
        self._failures = 0

    def run(self, attempt: Callable[[], bool], stop: threading.Event) -> None:
        """Call again and again, after failures with longer and longer pauses.

        Args:
            attempt: Returns whether all is done.
            stop: Ends it; a failure after it was set is taken for a part of the end.

        Raises:
            SourceError: It failed ten times without a version between.
            UnreachableError: Likewise, as ZooKeeper did not answer.
            AuthError: Likewise, as it did not accept this process: a ticket may have to be renewed.
            OutcomeUnknownError: Likewise, as ZooKeeper's answers were lost.
        """
        while not stop.is_set():
            try:
                if attempt():
                    return
            except (SourceError, UnreachableError, AuthError, OutcomeUnknownError) as error:
                if stop.is_set():
                    return  # the signal may have ended what is asked, too
                self._failures += 1
                self._on_failure(error.message)
                if self._failures == _MOST_FAILURES:
                    raise
                pause_s = min(_FIRST_PAUSE_S * 2.0 ** (self._failures - 1), _LONGEST_PAUSE_S)
                self._note(f"{error.message}; trying again in {pause_s:g} s")
                stop.wait(pause_s)
