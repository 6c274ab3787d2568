"""Segments whose states differ from the ideal state, and the progress of reloads. No IO."""

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
    """A segment whose state on a server differs from the ideal state.

    Attributes:
        segment: Its name.
        server: The server's name in Helix; None if the ideal state names no server for the segment.
        wanted: The state in the ideal state; None likewise.
        seen: The state in the external view; None if it is not in there.
    """

    segment: str
    server: str | None = None
    wanted: str | None = None
    seen: str | None = None

    @property
    def in_error(self) -> bool:
        """Whether the server tried and failed; it does not retry by itself."""
        return self.seen == "ERROR"

    def __str__(self) -> str:
        if self.server is None:
            return f"{self.segment} is not in the ideal state"
        return f"{self.segment} {self.seen or 'absent'} on {self.server} (should be {self.wanted})"


@dataclass(frozen=True)
class LoadState:
    """The progress of servers in loading some segments.

    Attributes:
        faults: Differences from the ideal state; empty if all is well.
        servers: Segment -> the servers that should serve it.
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
        segments = list(names)
        server_sets: dict[frozenset[str], frozenset[str]] = {}
        servers = {}
        for name in segments:
            states = ideal.get(name) or {}
            hosts = frozenset(server for server, state in states.items() if state in _SERVED)
            servers[name] = server_sets.setdefault(hosts, hosts)
        return cls(tuple(find_unloaded(segments, ideal, seen)), servers)

    @property
    def behind(self) -> dict[str, int]:
        """The number of missing segments by server."""
        lacking = Counter(fault.server for fault in self.faults if fault.server is not None)
        return {server: lacking[server] for server in sorted(lacking)}

    def is_served(self, replicas: int) -> bool:
        """Whether a number of replicas of each segment, or all that it has, can serve queries.

        A server counts for the segments of a set of servers only if it has all of them, as brokers require
        that route to whole replica groups (``strictReplicaGroup``). So two groups that lack different
        segments do not count, even though each segment is available somewhere. At least one replica must
        serve.
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
    """The progress of a reload, counted in replicas of segments.

    Attributes:
        total: All replicas of the table, or of the job's segment, including consuming ones.
        reloaded: Replicas reloaded since the request.
        servers_failed: Servers that did not answer.
        table: The table, with its type.
        segment: The segment, if the job is for one.
        submitted_ms: Time of the request, epoch milliseconds.
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
    """Return differences from the ideal state, in the order of the names; empty if all is well.

    Args:
        names: Segments.
        ideal: The table's ideal state.
        seen: Its external view.
    """
    faults: list[Unloaded] = []
    for name in names:
        expected = ideal.get(name)
        if not expected:
            faults.append(Unloaded(name))
            continue
        states = seen.get(name) or {}
        faults.extend(
            Unloaded(name, server, state, states.get(server))
            for server, state in sorted(expected.items())
            if states.get(server) != state
        )
    return faults


def first_few(texts: Iterable[object]) -> str:
    """Join up to ten texts for a message."""
    everything = [str(text) for text in texts]
    text = "; ".join(everything[:_FEW])
    left = len(everything) - _FEW
    return f"{text}; and {left} more" if left > 0 else text
