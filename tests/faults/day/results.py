"""What came of the day, for the last lines of a test session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["RESULT", "Result"]


@dataclass
class Result:
    """Numbers of a day that went well.

    Attributes:
        tables: How many there were.
        real_s: Seconds that it took.
        clients: How many read ZooKeeper.
        requests: What these asked of it, by kind.
        asked_s: In how many seconds.
        alerts: Those that fired.
        polls: Answers that readers got.
        scrapes: Answers of all processes.
    """

    tables: int = 0
    real_s: float = 0.0
    clients: int = 0
    requests: Mapping[str, int] = field(default_factory=dict)
    asked_s: float = 1.0
    alerts: tuple[str, ...] = ()
    polls: int = 0
    scrapes: int = 0

    def line(self) -> str:
        """Say it in one line; empty, where there was none."""
        if not self.tables:
            return ""
        kinds = ", ".join(f"{self.requests[kind]:,} {kind}" for kind in sorted(self.requests))
        rate = sum(self.requests.values()) / self.asked_s
        return (
            f"a day of a cluster, in {self.real_s / 60:.0f} minutes: {self.tables} tables;"
            f" {self.clients} clients asked ZooKeeper {rate:.1f} times a second ({kinds});"
            f" {self.polls:,} polls of readers, {self.scrapes:,} scrapes;"
            f" alerts: {', '.join(self.alerts)}, and no other"
        )


RESULT = Result()
