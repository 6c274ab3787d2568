"""What follows if segments are deleted now, beyond the loss of their rows. No IO.

::

    risk                    what the deletion breaks
    OPEN_REPLACEMENT        a replacement in progress: one that adds the segment cannot be completed, one that
                            replaces it can never be reverted
    REVERT                  the revert of a completed replacement: Pinot refuses it without the replaced
                            segments
    HIDDEN_ROWS             a revert of a completed replacement would bring back the rows of older segments
    CONSUMING               rows that are only in the memory of servers are gone, and the partition stops
    START_OFFSET            a partition that does not consume has lost the segment after which it continues
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller_client.common.names import SegmentName, TableName, TableType
from controller_client.common.text import counted_text
from controller_client.rest.lineage_entry import LineageEntry, LineageState
from controller_client.rest.segment_states import SegmentStates, first_few

__all__ = ["OF_REPLACED", "DeleteConsequence", "DeleteRisk", "consequences_of_delete"]

_CONSUMING = "CONSUMING"


class DeleteRisk(StrEnum):
    """What the deletion of a segment breaks; see the module's table."""

    OPEN_REPLACEMENT = "OPEN_REPLACEMENT"
    REVERT = "REVERT"
    HIDDEN_ROWS = "HIDDEN_ROWS"
    CONSUMING = "CONSUMING"
    START_OFFSET = "START_OFFSET"


OF_REPLACED = frozenset({DeleteRisk.REVERT, DeleteRisk.HIDDEN_ROWS})
"""What a writer accepts that deletes the segments which it has replaced: it will not revert anything."""


@dataclass(frozen=True)
class DeleteConsequence:
    """What follows if some segments are deleted.

    Attributes:
        risk: The kind of consequence.
        segments: The segments.
        text: What follows, as a sentence.
    """

    risk: DeleteRisk
    segments: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"risk": self.risk.value, "segments": list(self.segments), "text": self.text}


def consequences_of_delete(
    table: TableName,
    names: Collection[str],
    entries: Sequence[LineageEntry],
    ideal: SegmentStates,
    end_offset: Callable[[str], str | None],
) -> list[DeleteConsequence]:
    """Return what follows if segments are deleted; empty if only their rows are gone.

    Args:
        table: Table.
        names: The segments.
        entries: The table's lineage.
        ideal: Its ideal state.
        end_offset: Returns the offset after the last row of a stream segment; called only if the answer
            contains it.
    """
    deleted = frozenset(names)
    found = list(_of_lineage(entries, ideal.keys(), deleted))
    if table.type is TableType.REALTIME:
        found += _of_partitions(table, ideal, deleted, end_offset)
    return found


def _of_lineage(
    entries: Sequence[LineageEntry], present: Set[str], deleted: Set[str]
) -> Iterator[DeleteConsequence]:
    for entry in entries:
        replaced = tuple(name for name in entry.segments_from if name in deleted)
        added = tuple(name for name in entry.segments_to if name in deleted)
        entry_text = f"lineage entry {entry.entry_id} ({entry.state})"
        if entry.state is LineageState.IN_PROGRESS and added:
            yield DeleteConsequence(
                DeleteRisk.OPEN_REPLACEMENT,
                added,
                f"{entry_text} adds {first_few(added)}: it cannot be completed without; Pinot waits ten"
                " minutes for them, and its writer fails or pushes them again",
            )
        if entry.state is LineageState.IN_PROGRESS and replaced:
            yield DeleteConsequence(
                DeleteRisk.OPEN_REPLACEMENT,
                replaced,
                f"{entry_text} replaces {first_few(replaced)}: once completed, it can never be reverted; if"
                " reverted before, these rows are missing",
            )
        if entry.state is not LineageState.COMPLETED:
            continue
        hidden = present & set(entry.segments_from)
        if replaced:
            yield DeleteConsequence(
                DeleteRisk.REVERT,
                replaced,
                f"{entry_text} has replaced {first_few(replaced)}: queries do not see these rows, but without"
                " them the replacement can never be reverted",
            )
        if added and hidden - deleted:
            count = counted_text(len(hidden), "segment")
            yield DeleteConsequence(
                DeleteRisk.HIDDEN_ROWS,
                added,
                f"{entry_text} has added {first_few(added)} in place of {count}, which queries do not see: a"
                " revert of the entry would bring back the rows of those",
            )


def _of_partitions(
    table: TableName,
    ideal: SegmentStates,
    deleted: Set[str],
    end_offset: Callable[[str], str | None],
) -> Iterator[DeleteConsequence]:
    for partition, segments in sorted(_by_partition(table, ideal).items()):
        newest = segments[-1]
        if newest.name not in deleted:
            continue  # consumption continues after it, whatever is deleted before
        gone = tuple(each.name for each in segments if each.name in deleted)
        left = next((each.name for each in reversed(segments) if each.name not in deleted), None)
        start = _start(left, left and end_offset(left))
        if _CONSUMING in ideal[newest.name].values():
            yield DeleteConsequence(
                DeleteRisk.CONSUMING,
                gone,
                f"partition {partition} consumes {newest.name}: its rows are not stored yet and are gone from"
                f" queries. The partition stops until Pinot's hourly check or `pinotctl consumption recreate"
                f" {table.raw}`, and then starts {start}",
            )
        else:
            yield DeleteConsequence(
                DeleteRisk.START_OFFSET,
                gone,
                f"{newest.name} is the newest segment of partition {partition}, which does not consume: the"
                f" next one starts {start}",
            )


def _by_partition(table: TableName, ideal: Mapping[str, object]) -> dict[int, list[SegmentName]]:
    by_partition: dict[int, list[SegmentName]] = {}
    for segment in filter(None, map(SegmentName.parse, ideal)):
        if segment.name.startswith(f"{table.raw}__"):
            by_partition.setdefault(segment.partition, []).append(segment)
    return {partition: sorted(segments) for partition, segments in by_partition.items()}


def _start(left: str | None, offset: str | None) -> str:
    if left is None:
        return "at the stream's first row, because none of its segments is left"
    if offset is None:
        return f"after {left}"
    return f"at offset {offset}, after {left}: what it had read from there on, it reads again"
