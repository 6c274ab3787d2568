"""What a rebalance would move: compares the target of a dry run with the ideal state. No IO."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller_client.rest.segment_states import SegmentStates

__all__ = ["Move", "PreCheck", "RebalancePlan", "ServerChange", "plan_of"]


@dataclass(frozen=True)
class Move:
    """A segment whose servers change.

    Attributes:
        segment: Its name.
        added: Servers that fetch it.
        removed: Servers that drop it.
        size_bytes: Its size on a server's disk; None if no server reports it.
    """

    segment: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    size_bytes: int | None = None


@dataclass(frozen=True)
class ServerChange:
    """The effects of a rebalance on a server.

    Attributes:
        server: Its name.
        before: Number of the table's segments that it has, by the ideal state.
        after: Number that it will have.
        added: Number that it fetches.
        removed: Number that it drops.
        added_bytes: The size of the segments that it fetches, as far as known.
    """

    server: str
    before: int
    after: int
    added: int
    removed: int
    added_bytes: int


@dataclass(frozen=True)
class PreCheck:
    """One of Pinot's own checks (1.4 and later).

    Attributes:
        name: E.g. ``needsReloadStatus``.
        status: ``PASS``, ``WARN`` or ``ERROR``.
        message: The finding.
    """

    name: str
    status: str
    message: str


@dataclass(frozen=True)
class RebalancePlan:
    """The effects of a rebalance.

    Attributes:
        table: The table, with its type.
        status: Pinot's status of the dry run: ``DONE``, or ``NO_OP`` if there is nothing to do.
        description: Pinot's description.
        target: Segment -> server -> state after the rebalance.
        moves: The segments whose servers change.
        servers: All servers with a segment before or after, sorted by name.
        replicas_before: The maximum number of replicas of a segment now.
        replicas_after: The maximum after the rebalance.
        checks: Pinot's own checks.
    """

    table: str
    status: str
    description: str
    target: SegmentStates = field(repr=False)
    moves: tuple[Move, ...] = ()
    servers: tuple[ServerChange, ...] = ()
    replicas_before: int = 0
    replicas_after: int = 0
    checks: tuple[PreCheck, ...] = ()

    @property
    def is_noop(self) -> bool:
        """Whether there is nothing to do: neither segments nor the assignment of servers would change."""
        return self.status == "NO_OP"

    @property
    def added(self) -> int:
        """Number of replicas that servers fetch."""
        return sum(len(move.added) for move in self.moves)

    @property
    def removed(self) -> int:
        """Number of replicas that servers drop."""
        return sum(len(move.removed) for move in self.moves)

    @property
    def added_bytes(self) -> int:
        """The size of the replicas that servers fetch, as far as known."""
        return sum(server.added_bytes for server in self.servers)

    @property
    def sizes_unknown(self) -> int:
        """Number of moved segments whose size no server reports, e.g. consuming ones."""
        return sum(bool(move.added) and move.size_bytes is None for move in self.moves)


def plan_of(
    table: str, answer: Mapping[str, Any], ideal: SegmentStates, sizes_bytes: Mapping[str, int]
) -> RebalancePlan:
    """Parse the response to a dry run.

    Args:
        table: The table, with its type.
        answer: Pinot's response; without a target, everything stays where it is.
        ideal: The table's ideal state.
        sizes_bytes: Segment -> its size on a server's disk, if known.
    """
    target: SegmentStates = answer.get("segmentAssignment") or ideal
    moves = []
    for segment in sorted(target):
        before, after = set(ideal.get(segment) or ()), set(target[segment])
        if before != after:
            added, removed = tuple(sorted(after - before)), tuple(sorted(before - after))
            moves.append(Move(segment, added, removed, sizes_bytes.get(segment)))
    return RebalancePlan(
        table=table,
        status=str(answer.get("status") or ""),
        description=str(answer.get("description") or ""),
        target=target,
        moves=tuple(moves),
        servers=_servers(ideal, target, moves),
        replicas_before=max(map(len, ideal.values()), default=0),
        replicas_after=max(map(len, target.values()), default=0),
        checks=tuple(
            PreCheck(name, str(check.get("preCheckStatus", "")), str(check.get("message", "")))
            for name, check in sorted((answer.get("preChecksResult") or {}).items())
        ),
    )


def _servers(ideal: SegmentStates, target: SegmentStates, moves: list[Move]) -> tuple[ServerChange, ...]:
    before, after = _counts(ideal.values()), _counts(target.values())
    added, removed = _counts(move.added for move in moves), _counts(move.removed for move in moves)
    added_bytes: Counter[str] = Counter()
    for move in moves:
        added_bytes.update(dict.fromkeys(move.added, move.size_bytes or 0))
    return tuple(
        ServerChange(
            server=server,
            before=before[server],
            after=after[server],
            added=added[server],
            removed=removed[server],
            added_bytes=added_bytes[server],
        )
        for server in sorted(before.keys() | after.keys())
    )


def _counts(replicas: Iterable[Iterable[str]]) -> Counter[str]:
    return Counter(server for servers in replicas for server in servers)
