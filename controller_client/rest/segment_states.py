"""Which segments servers do not hold as they should, and how far a reload of them is. No IO."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["LoadState", "ReloadStatus", "SegmentStates", "Unloaded", "find_unloaded", "first_few"]

SegmentStates = dict[str, dict[str, str]]
"""Segment -> instance -> state."""

_FEW = 10
_SERVED = frozenset({"ONLINE", "CONSUMING"})


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
class LoadState:
    """How far servers have loaded some segments.

    Attributes:
        faults: What differs from the ideal state; none when all is well.
        servers: Segment -> the servers that are to serve it.
    """

    faults: tuple[Unloaded, ...]
    servers: Mapping[str, frozenset[str]]

    @classmethod
    def of(
        cls,
        names: Iterable[str],
        ideal: Mapping[str, Mapping[str, str]],
        seen: Mapping[str, Mapping[str, str]],
    ) -> LoadState:
        """Compare segments with the table's ideal state, by its external view."""
        wanted = list(names)
        known: dict[frozenset[str], frozenset[str]] = {}
        servers = {}
        for name in wanted:
            states = ideal.get(name) or {}
            found = frozenset(server for server, state in states.items() if state in _SERVED)
            servers[name] = known.setdefault(found, found)
        return cls(tuple(find_unloaded(wanted, ideal, seen)), servers)

    @property
    def behind(self) -> dict[str, int]:
        """The servers that lack segments, and how many."""
        lacking = Counter(fault.server for fault in self.faults if fault.server is not None)
        return {server: lacking[server] for server in sorted(lacking)}

    def is_served(self, replicas: int) -> bool:
        """Whether queries can be answered from so many replicas of each segment, or all that it has.

        A server counts for the segments of a set of servers only if it has all of these: that is what brokers
        want that route to whole replica groups (``strictReplicaGroup``). So two groups that lack different
        segments are none, though each segment is somewhere. One replica at least has to serve.
        """
        late: dict[frozenset[str], set[str]] = {}
        for fault in self.faults:
            if fault.server is None:
                return False
            late.setdefault(self.servers[fault.segment], set()).add(fault.server)
        return all(
            len(servers - late.get(servers, set())) >= max(1, min(replicas, len(servers)))
            for servers in set(self.servers.values())
        )


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
