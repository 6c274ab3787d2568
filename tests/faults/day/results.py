"""The results of the day, for the summary of a test session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["RESULT", "Result"]


@dataclass
class Result:
    """The numbers of a successful day.

    Attributes:
        tables: The number of tables.
        real_s: Its duration in real seconds.
        clients: The number of clients that read ZooKeeper.
        requests: The number of their requests by kind.
        asked_s: The seconds in which they made these.
        alerts: The alerts that fired.
        polls: The number of answers to readers.
        scrapes: The number of scrapes of all processes.
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
        """Return a summary line; empty if there was no such day."""
        if not self.tables:
            return ""
        kinds = ", ".join(f"{self.requests[kind]:,} {kind}" for kind in sorted(self.requests))
        rate = sum(self.requests.values()) / self.asked_s
        return (
            f"a day of a cluster in {self.real_s / 60:.0f} minutes: {self.tables} tables;"
            f" {self.clients} clients made {rate:.1f} requests per second to ZooKeeper ({kinds});"
            f" {self.polls:,} polls by readers, {self.scrapes:,} scrapes;"
            f" alerts: {', '.join(self.alerts)} and no others"
        )


RESULT = Result()
