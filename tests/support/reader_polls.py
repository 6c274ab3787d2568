"""How often readers polled tables while they were changed, for the last lines of a test session."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class Tally:
    """Counts of a session."""

    polls: int = 0
    readers: int = 0
    torn: int = 0

    def add(
        self, polls: int, seen: Sequence[tuple[Any, ...]], whole: Collection[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """Count a reader.

        Args:
            polls: Its answers.
            seen: The distinct ones.
            whole: All correct answers.

        Returns:
            The incorrect answers.
        """
        torn = [answer for answer in seen if answer not in whole]
        self.polls += polls
        self.readers += 1
        self.torn += len(torn)
        return torn

    def line(self) -> str | None:
        """Return the counts in one line; None if there was no reader."""
        if not self.readers:
            return None
        answers = f"{self.torn} states that are not whole" if self.torn else "distinct states only"
        return f"reader polls: {self.polls:,} by {self.readers} readers, {answers}"


TALLY = Tally()
