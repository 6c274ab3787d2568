"""One entry of a table's segment lineage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["LineageEntry", "LineageState", "parse_lineage"]


class LineageState(StrEnum):
    """State of an entry (org.apache.pinot.common.lineage.LineageEntryState)."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    REVERTED = "REVERTED"


@dataclass(frozen=True)
class LineageEntry:
    """A replacement that was started.

    Attributes:
        entry_id: Pinot's id of it.
        state: Where it is.
        segments_from: What it replaces; empty for a plain addition.
        segments_to: What comes instead; empty (on 1.0 and later) for a plain removal.
        timestamp_ms: When the state was entered, epoch milliseconds of the controller.
    """

    entry_id: str
    state: LineageState
    segments_from: tuple[str, ...]
    segments_to: tuple[str, ...]
    timestamp_ms: int

    @property
    def live(self) -> bool:
        """Whether Pinot still takes the entry into account: it ignores reverted ones."""
        return self.state is not LineageState.REVERTED


def parse_lineage(document: Mapping[str, Any] | None) -> list[LineageEntry]:
    """Read the answer of ``GET /segments/{table}/lineage``, oldest entry first; empty when there is none."""
    entries = [
        LineageEntry(
            entry_id=entry_id,
            state=LineageState(entry["state"]),
            segments_from=tuple(entry.get("segmentsFrom") or ()),
            segments_to=tuple(entry.get("segmentsTo") or ()),
            timestamp_ms=int(entry["timestamp"]),
        )
        for entry_id, entry in ((document or {}).get("lineageEntries") or {}).items()
    ]
    return sorted(entries, key=lambda entry: (entry.timestamp_ms, entry.entry_id))
