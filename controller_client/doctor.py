"""Finds what interrupted replacements left in a table's lineage, says what to do, and does it.

::

    finding        what it is                                         repair
    STUCK          IN_PROGRESS for longer than a given time: blocks   revert by force, delete segmentsTo
                   others, and its segments are hidden
    LEFTOVERS      REVERTED, but segments of segmentsTo are there     delete them
    OVERLAP        two live entries hold the same segment, which      revert the younger one if it is in
                   the protocol forbids (two writers at once)         progress and shares no new segment
    LOST_SEGMENTS  COMPLETED, but some of segmentsTo are gone, and    by hand: push them again
                   no later entry replaced them
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from controller_client.errors import ConflictError
from controller_client.lineage_entry import LineageEntry, LineageState
from controller_client.reverting import LineageTimeouts, delete_leftovers, revert_entry

if TYPE_CHECKING:
    from controller_client.client import ControllerClient

__all__ = ["Diagnosis", "Finding", "Repair", "diagnose", "plan_repair", "repair"]


class Finding(StrEnum):
    """What is wrong with an entry; see the module's table."""

    STUCK = "STUCK"
    LEFTOVERS = "LEFTOVERS"
    OVERLAP = "OVERLAP"
    LOST_SEGMENTS = "LOST_SEGMENTS"


@dataclass(frozen=True)
class Repair:
    """What a repair does.

    Attributes:
        revert: Whether the entry is reverted first, by force.
        delete: Segments that are deleted.
    """

    revert: bool
    delete: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """One fault of a table's lineage.

    Attributes:
        finding: What is wrong.
        entry: The entry it is wrong with.
        age_s: Seconds since the entry's state was entered.
        explanation: What is wrong, in a sentence.
        advice: What to do, in a sentence.
        repair: What :func:`repair` does; None when a human must decide.
    """

    finding: Finding
    entry: LineageEntry
    age_s: float
    explanation: str
    advice: str
    repair: Repair | None


def diagnose(
    entries: Sequence[LineageEntry], segments: Collection[str], *, now_ms: int, older_than_s: float
) -> list[Diagnosis]:
    """Compare a table's lineage with its segments.

    Args:
        entries: All entries.
        segments: All segments of the table, replaced ones included.
        now_ms: Epoch milliseconds.
        older_than_s: An entry in progress is stuck from this age on: longer than any replacement takes.

    Returns:
        Faults, oldest entry first; none when all is well.
    """
    found: list[Diagnosis | None] = []
    present = frozenset(segments)
    for entry in entries:
        age_s = max(0.0, (now_ms - entry.timestamp_ms) / 1000)
        found += [
            _stuck(entry, entries, present, age_s, older_than_s),
            _leftovers(entry, entries, present, age_s),
            _overlap(entry, entries, present, age_s),
            _lost(entry, entries, present, age_s),
        ]
    return [diagnosis for diagnosis in found if diagnosis is not None]


def _claimed_by_others(entry: LineageEntry, entries: Sequence[LineageEntry]) -> set[str]:
    """Segments that another live entry still needs: they are never deleted for this one."""
    return {
        name
        for other in entries
        if other.entry_id != entry.entry_id and other.live
        for name in (*other.segments_to, *other.segments_from)
    }


def _stuck(
    entry: LineageEntry,
    entries: Sequence[LineageEntry],
    present: frozenset[str],
    age_s: float,
    older_than_s: float,
) -> Diagnosis | None:
    if entry.state is not LineageState.IN_PROGRESS or age_s < older_than_s:
        return None
    blocked = set(entry.segments_to) & _claimed_by_others(entry, entries)
    left = tuple(sorted(present & set(entry.segments_to)))
    return Diagnosis(
        Finding.STUCK,
        entry,
        age_s,
        f"in progress for {age_s:.0f} s; {len(left)} of {len(entry.segments_to)} new segments were pushed",
        "another live entry needs the same segments: decide by hand which of them goes"
        if blocked
        else "make sure that its writer is gone, then revert it and delete its new segments",
        # Pinot deletes segmentsTo when it reverts, so an entry with shared ones must not be reverted.
        None if blocked else Repair(revert=True, delete=left),
    )


def _leftovers(
    entry: LineageEntry, entries: Sequence[LineageEntry], present: frozenset[str], age_s: float
) -> Diagnosis | None:
    if entry.live:
        return None
    left = tuple(sorted((present & set(entry.segments_to)) - _claimed_by_others(entry, entries)))
    if not left:
        return None
    return Diagnosis(
        Finding.LEFTOVERS,
        entry,
        age_s,
        f"reverted, but {len(left)} of {len(entry.segments_to)} new segments are still there",
        "delete them: they are hidden, and block their names",
        Repair(revert=False, delete=left),
    )


def _overlap(
    entry: LineageEntry, entries: Sequence[LineageEntry], present: frozenset[str], age_s: float
) -> Diagnosis | None:
    # Reported once, with the younger of the two; entries are told apart by time, then by id.
    older = [
        other
        for other in entries
        if other.live
        and (other.timestamp_ms, other.entry_id) < (entry.timestamp_ms, entry.entry_id)
        and (
            set(other.segments_from) & set(entry.segments_from)
            or set(other.segments_to) & set(entry.segments_to)
        )
    ]
    if not entry.live or not older:
        return None
    other = older[0]
    shares_new = bool(set(entry.segments_to) & _claimed_by_others(entry, entries))
    revertible = entry.state is LineageState.IN_PROGRESS and not shares_new
    left = tuple(sorted(present & set(entry.segments_to)))
    return Diagnosis(
        Finding.OVERLAP,
        entry,
        age_s,
        f"replaces or adds the same segments as entry {other.entry_id} ({other.state})",
        "revert this one, then run its writer again"
        if revertible
        else "decide by hand which of the two is right, and revert the other",
        Repair(revert=True, delete=left) if revertible else None,
    )


def _lost(
    entry: LineageEntry, entries: Sequence[LineageEntry], present: frozenset[str], age_s: float
) -> Diagnosis | None:
    if entry.state is not LineageState.COMPLETED:
        return None
    replaced_later = {name for other in entries if other.live for name in other.segments_from}
    lost = sorted(set(entry.segments_to) - present - replaced_later)
    # All gone is what deleting a table's old segments looks like; some gone is a hole in the data.
    if not lost or len(lost) == len(entry.segments_to):
        return None
    return Diagnosis(
        Finding.LOST_SEGMENTS,
        entry,
        age_s,
        f"completed, but {len(lost)} of {len(entry.segments_to)} new segments are gone: {lost[:10]}",
        "if nobody deleted them on purpose, push them again",
        None,
    )


def plan_repair(client: ControllerClient, table_name_with_type: str, diagnosis: Diagnosis) -> Repair:
    """Look again and say what :func:`repair` would do now.

    Raises:
        ConflictError: The fault needs a decision, or it is not there any more.
    """
    for now in client.lineage.doctor(table_name_with_type, 0):
        if now.finding is diagnosis.finding and now.entry == diagnosis.entry:
            if now.repair is None:
                raise ConflictError(
                    f"entry {now.entry.entry_id} cannot be repaired without a decision: {now.explanation}",
                    where=table_name_with_type,
                    remedy=now.advice,
                )
            return now.repair
    raise ConflictError(
        f"entry {diagnosis.entry.entry_id} has changed since it was diagnosed",
        where=table_name_with_type,
        remedy="run the doctor again",
    )


def repair(
    client: ControllerClient,
    table_name_with_type: str,
    diagnosis: Diagnosis,
    *,
    timeouts: LineageTimeouts | None = None,
) -> Repair:
    """Repair a fault: revert the entry if need be, delete its new segments, wait until they are gone.

    Args:
        client: Client of the cluster.
        table_name_with_type: Table.
        diagnosis: What :func:`diagnose` found.
        timeouts: How long to wait for what.

    Returns:
        What was done.

    Raises:
        ConflictError: The fault needs a decision, or it is not there any more; nothing was done.
        NotAppliedError: Pinot refused the revert.
        OutcomeUnknownError: It is unknown whether the entry was reverted.
        AppliedError: The entry is reverted, but segments of it are still there: run the doctor again.
    """
    plan = plan_repair(client, table_name_with_type, diagnosis)
    limits = timeouts or LineageTimeouts()
    if plan.revert:
        revert_entry(client, table_name_with_type, diagnosis.entry, limits)
    delete_leftovers(client, table_name_with_type, plan.delete, limits)
    return plan
