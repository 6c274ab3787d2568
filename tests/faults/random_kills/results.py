"""What came of the kills, for the last lines of a test session."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Results:
    """Counts of a session.

    Attributes:
        roles: How often each role was killed.
        pairs: How many of the kills were of two roles at once.
        ended: How the disturbed runs ended.
        triggers: How many triggers a kill took until the table was as its source.
    """

    roles: Counter[str] = field(default_factory=Counter)
    pairs: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    triggers: Counter[int] = field(default_factory=Counter)

    def line(self) -> str:
        """Say it in one line; empty, where none was made."""
        count = sum(self.triggers.values())
        if not count:
            return ""
        needed = ", ".join(f"{self.triggers[number]} after {number}" for number in sorted(self.triggers))
        return (
            f"random kills: {count}, {self.pairs} of them of two roles at once ({_text(self.roles)});"
            f" the runs: {_text(self.ended)}; whole by itself after so many triggers: {needed}"
        )


def _text(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


RESULTS = Results()
