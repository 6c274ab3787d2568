"""Finds the leftovers of interrupted replacements in a table's lineage, and advises on them. No IO.

::

    finding        what it is                                         repair
    STUCK          IN_PROGRESS for longer than a given time: blocks   force the revert, delete segmentsTo
                   others, and its segments are hidden
    NOT_LOADED     IN_PROGRESS, but servers do not load segments of   reset them, wake Helix; push those not
                   segmentsTo, so it cannot be completed              in the ideal state again
    LOST_SOURCES   IN_PROGRESS, but segments of segmentsFrom were     manually: let its writer finish, after
                   deleted                                            which it can never be reverted
    LEFTOVERS      REVERTED, but segments of segmentsTo exist         delete them
    OVERLAP        two live entries contain the same segment, which   revert the younger one if it is in
                   the protocol forbids (two writers at once)         progress and shares no new segment
    BEHIND         COMPLETED, but servers lack segments of            start the servers: the replacement has
                   segmentsTo                                         not waited for them, or they lost some
    LOST_SEGMENTS  COMPLETED, but some of segmentsTo are gone, and    manually: push them again
                   no later entry replaced them
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from controller_client.rest.lineage_entry import LineageEntry, LineageState
from controller_client.rest.segment_states import Unloaded, first_few

__all__ = ["Diagnosis", "LineageFinding", "Repair", "diagnose"]


class LineageFinding(StrEnum):
    """What is wrong with an entry; see the module's table."""

    STUCK = "STUCK"
    NOT_LOADED = "NOT_LOADED"
    LOST_SOURCES = "LOST_SOURCES"
    LEFTOVERS = "LEFTOVERS"
    OVERLAP = "OVERLAP"
    BEHIND = "BEHIND"
    LOST_SEGMENTS = "LOST_SEGMENTS"


@dataclass(frozen=True)
class Repair:
    """The actions of :func:`controller_client.publishing.lineage_repair.repair`.

    Attributes:
        revert: Whether to force the revert of the entry first.
        delete: Segments to delete.
        load: Segments to make servers load.
    """

    revert: bool = False
    delete: tuple[str, ...] = ()
    load: tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    """A fault of a table's lineage.

    Attributes:
        finding: The kind of fault.
        entry: The faulty entry.
        age_s: Seconds since the entry's state was entered.
        explanation: What is wrong, in a sentence.
        advice: What to do, in a sentence.
        repair: The repair; None if it requires a decision.
    """

    finding: LineageFinding
    entry: LineageEntry
    age_s: float
    explanation: str
    advice: str
    repair: Repair | None


def diagnose(
    entries: Sequence[LineageEntry],
    segments: Collection[str],
    *,
    now_ms: int,
    older_than_s: float,
    unloaded: Sequence[Unloaded] = (),
    reasons: Mapping[tuple[str, str], str] | None = None,
) -> list[Diagnosis]:
    """Compare a table's lineage with its segments.

    Args:
        entries: All entries.
        segments: All segments of the table, including replaced ones.
        now_ms: Epoch milliseconds.
        older_than_s: An entry in progress is stuck from this age on: longer than any replacement takes.
        unloaded: Pushed segments that servers should have loaded by now.
        reasons: (segment, server) -> why it was not loaded there, if known.

    Returns:
        Faults, oldest entry first; empty if all is well.
    """
    diagnoses: list[Diagnosis | None] = []
    table = _Table.of(entries, segments, unloaded)
    for entry in entries:
        age_s = max(0.0, (now_ms - entry.timestamp_ms) / 1000)
        diagnoses += [
            _stuck(entry, table, age_s, older_than_s) or _not_loaded(entry, table, age_s, reasons or {}),
            _lost_sources(entry, table, age_s),
            _leftovers(entry, table, age_s),
            _overlap(entry, table, age_s),
            _lost(entry, table, age_s),
            _behind(entry, table, age_s, reasons or {}),
        ]
    return [diagnosis for diagnosis in diagnoses if diagnosis is not None]


@dataclass
class _Table:
    """A table indexed by segment, so that each entry is compared only with those sharing a segment with it.

    Attributes:
        present: All segments of the table.
        replacing: Segment -> live entries that replace it.
        bringing: Segment -> live entries that add it.
        faults: Segment -> servers that should have loaded it by now.
    """

    present: frozenset[str]
    replacing: dict[str, list[LineageEntry]] = field(default_factory=dict)
    bringing: dict[str, list[LineageEntry]] = field(default_factory=dict)
    faults: dict[str, list[Unloaded]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, entries: Iterable[LineageEntry], segments: Collection[str], unloaded: Iterable[Unloaded]
    ) -> _Table:
        table = cls(frozenset(segments))
        for entry in entries:
            if entry.live:
                for name in entry.segments_from:
                    table.replacing.setdefault(name, []).append(entry)
                for name in entry.segments_to:
                    table.bringing.setdefault(name, []).append(entry)
        for fault in unloaded:
            table.faults.setdefault(fault.segment, []).append(fault)
        return table

    def left_of(self, entry: LineageEntry) -> set[str]:
        """Return the new segments of an entry that exist."""
        return set(self.present.intersection(entry.segments_to))

    def claimed_by_others(self, entry: LineageEntry) -> set[str]:
        """Return its new segments that another live entry still needs: these are never deleted."""
        return {
            name
            for name in entry.segments_to
            for holders in (self.replacing.get(name, ()), self.bringing.get(name, ()))
            if any(other.entry_id != entry.entry_id for other in holders)
        }

    def oldest_rival(self, entry: LineageEntry) -> LineageEntry | None:
        """Return the oldest live entry, older than this one, that replaces or adds the same segments."""
        rivals = [
            other
            for names, holders in ((entry.segments_from, self.replacing), (entry.segments_to, self.bringing))
            for name in names
            for other in holders.get(name, ())
            if _age_key(other) < _age_key(entry)
        ]
        return min(rivals, key=_age_key, default=None)


def _age_key(entry: LineageEntry) -> tuple[int, str]:
    return entry.timestamp_ms, entry.entry_id


def _stuck(entry: LineageEntry, table: _Table, age_s: float, older_than_s: float) -> Diagnosis | None:
    if entry.state is not LineageState.IN_PROGRESS or age_s < older_than_s:
        return None
    blocked = table.claimed_by_others(entry)
    left = tuple(sorted(table.left_of(entry)))
    return Diagnosis(
        LineageFinding.STUCK,
        entry,
        age_s,
        f"in progress for {age_s:.0f} s; {len(left)} of {len(entry.segments_to)} new segments were pushed",
        "another live entry needs the same segments: decide which of them to revert"
        if blocked
        else "make sure that its writer has ended, then revert it and delete its new segments",
        # A revert deletes segmentsTo, so an entry with shared segments must not be reverted.
        None if blocked else Repair(revert=True, delete=left),
    )


def _not_loaded(
    entry: LineageEntry, table: _Table, age_s: float, reasons: Mapping[tuple[str, str], str]
) -> Diagnosis | None:
    faults = [fault for name in entry.segments_to for fault in table.faults.get(name, ())]
    if entry.state is not LineageState.IN_PROGRESS or not faults:
        return None

    load = tuple(sorted({fault.segment for fault in faults if fault.server is not None}))
    advice = "run its writer again: it resets segments in ERROR and pushes missing ones again"
    if load:
        advice += "; or let the doctor make servers load them"
    count = len({fault.segment for fault in faults})
    return Diagnosis(
        LineageFinding.NOT_LOADED,
        entry,
        age_s,
        f"{count} of {len(entry.segments_to)} new segments do not load: {_texts(faults, reasons)}",
        advice,
        Repair(load=load) if load else None,
    )


def _lost_sources(entry: LineageEntry, table: _Table, age_s: float) -> Diagnosis | None:
    lost = sorted(name for name in entry.segments_from if name not in table.present)
    if entry.state is not LineageState.IN_PROGRESS or not lost:
        return None
    return Diagnosis(
        LineageFinding.LOST_SOURCES,
        entry,
        age_s,
        f"in progress, but {len(lost)} of {len(entry.segments_from)} segments to be replaced were deleted:"
        f" {first_few(lost)}",
        "let its writer finish, after which it can never be reverted; if reverted before that, the rows of"
        " these segments are missing",
        None,
    )


def _leftovers(entry: LineageEntry, table: _Table, age_s: float) -> Diagnosis | None:
    if entry.live:
        return None
    left = tuple(sorted(table.left_of(entry) - table.claimed_by_others(entry)))
    if not left:
        return None
    return Diagnosis(
        LineageFinding.LEFTOVERS,
        entry,
        age_s,
        f"reverted, but {len(left)} of {len(entry.segments_to)} new segments still exist",
        "delete them: they are hidden and block their names",
        Repair(delete=left),
    )


def _overlap(entry: LineageEntry, table: _Table, age_s: float) -> Diagnosis | None:
    # Reported once, for the younger of the two.
    other = table.oldest_rival(entry) if entry.live else None
    if other is None:
        return None
    shares_new = bool(table.claimed_by_others(entry))
    revertible = entry.state is LineageState.IN_PROGRESS and not shares_new
    left = tuple(sorted(table.left_of(entry)))
    return Diagnosis(
        LineageFinding.OVERLAP,
        entry,
        age_s,
        f"replaces or adds the same segments as entry {other.entry_id} ({other.state})",
        "revert this one, then run its writer again"
        if revertible
        else "decide which of the two is right, and revert the other",
        Repair(revert=True, delete=left) if revertible else None,
    )


def _lost(entry: LineageEntry, table: _Table, age_s: float) -> Diagnosis | None:
    if entry.state is not LineageState.COMPLETED:
        return None
    lost = sorted(
        name for name in entry.segments_to if name not in table.present and name not in table.replacing
    )
    # If all are gone, the table's old segments were deleted; if only some are, there is a hole in the data.
    if not lost or len(lost) == len(entry.segments_to):
        return None
    return Diagnosis(
        LineageFinding.LOST_SEGMENTS,
        entry,
        age_s,
        f"completed, but {len(lost)} of {len(entry.segments_to)} new segments are gone: {lost[:10]}",
        "unless they were deleted on purpose, push them again",
        None,
    )


def _behind(
    entry: LineageEntry, table: _Table, age_s: float, reasons: Mapping[tuple[str, str], str]
) -> Diagnosis | None:
    if entry.state is not LineageState.COMPLETED:
        return None
    current = (name for name in entry.segments_to if name not in table.replacing)
    faults = [fault for name in current for fault in table.faults.get(name, ()) if fault.server is not None]
    if not faults:
        return None
    servers = sorted({fault.server for fault in faults if fault.server is not None})
    count = len({fault.segment for fault in faults})
    return Diagnosis(
        LineageFinding.BEHIND,
        entry,
        age_s,
        f"completed, but {', '.join(servers)} {'lacks' if len(servers) == 1 else 'lack'} {count} of "
        f"{len(entry.segments_to)} new segments: {_texts(faults, reasons)}",
        "start these servers, or check their logs: they load the segments by themselves; those in ERROR need "
        "`pinotctl segment reset`",
        None,
    )


def _texts(faults: Iterable[Unloaded], reasons: Mapping[tuple[str, str], str]) -> str:
    def text(fault: Unloaded) -> str:
        reason = reasons.get((fault.segment, fault.server or ""))
        return f"{fault}: {reason}" if reason else str(fault)

    return first_few(map(text, faults))
