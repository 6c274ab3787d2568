"""Which segments servers do not hold as they should, and how far a reload of them is. No IO."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["ReloadStatus", "SegmentStates", "Unloaded", "find_unloaded", "first_few"]

SegmentStates = dict[str, dict[str, str]]
"""Segment -> instance -> state."""

_FEW = 10


@dataclass(frozen=True)
class Unloaded:
    """A segment that a server does not hold as it should.

    Attributes:
        segment: Its name.
        server: The server's name in Helix; None where the ideal state names no server for the segment.
        wanted: The state by the ideal state; None as above.
        seen: The state by the external view; None where it has none.
    """

    segment: str
    server: str | None = None
    wanted: str | None = None
    seen: str | None = None

    @property
    def in_error(self) -> bool:
        """Whether the server tried and failed; it does not try again by itself."""
        return self.seen == "ERROR"

    def __str__(self) -> str:
        if self.server is None:
            return f"{self.segment} is not in the ideal state"
        return f"{self.segment} {self.seen or 'absent'} on {self.server} (should be {self.wanted})"


@dataclass(frozen=True)
class ReloadStatus:
    """How far a reload is, counted in replicas of segments.

    Attributes:
        total: All replicas of the table, or of the job's one segment, consuming ones included.
        reloaded: Those that servers have loaded since the reload was asked for.
        servers_failed: Servers that did not answer.
        table: The table, with its type.
        segment: The segment, where the job is of one.
        submitted_ms: When it was asked for, epoch milliseconds.
    """

    total: int
    reloaded: int
    servers_failed: int
    table: str | None = None
    segment: str | None = None
    submitted_ms: int | None = None


def find_unloaded(
    names: Iterable[str],
    ideal: Mapping[str, Mapping[str, str]],
    seen: Mapping[str, Mapping[str, str]],
) -> list[Unloaded]:
    """Return what differs from the ideal state, in the order of the names; none when all is well.

    Args:
        names: Segments.
        ideal: The table's ideal state.
        seen: Its external view.
    """
    found: list[Unloaded] = []
    for name in names:
        wanted = ideal.get(name)
        if not wanted:
            found.append(Unloaded(name))
            continue
        states = seen.get(name) or {}
        found.extend(
            Unloaded(name, server, state, states.get(server))
            for server, state in sorted(wanted.items())
            if states.get(server) != state
        )
    return found


def first_few(texts: Iterable[object]) -> str:
    """Join texts for a message, ten at most."""
    everything = [str(text) for text in texts]
    text = "; ".join(everything[:_FEW])
    left = len(everything) - _FEW
    return f"{text}; and {left} more" if left > 0 else text
