"""The results of the kills, for the summary of a test session."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Results:
    """Counts of a session.

    Attributes:
        roles: The number of kills of each role.
        pairs: The number of kills of two roles at once.
        ended: The results of the disturbed runs.
        triggers: The number of triggers after a kill until the table matched its source.
    """

    roles: Counter[str] = field(default_factory=Counter)
    pairs: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    triggers: Counter[int] = field(default_factory=Counter)

    def line(self) -> str:
        """Return a summary line; empty if nothing was killed."""
        count = sum(self.triggers.values())
        if not count:
            return ""
        needed = ", ".join(f"{number} for {self.triggers[number]}" for number in sorted(self.triggers))
        return (
            f"random kills: {count}, {self.pairs} of them of two roles at once ({_text(self.roles)});"
            f" results of the runs: {_text(self.ended)}; triggers until the table was complete: {needed}"
        )


def _text(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


RESULTS = Results()
