"""The entries of a table's segment lineage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller_client.common.names import TableName
from controller_client.rest.paths import path_of
from controller_client.rest.replies import has_nothing, parse_value
from controller_client.rest.transport import Transport

__all__ = ["LineageEntry", "LineageState", "parse_lineage", "read_lineage"]


class LineageState(StrEnum):
    """State of an entry (org.apache.pinot.common.lineage.LineageEntryState)."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    REVERTED = "REVERTED"


@dataclass(frozen=True)
class LineageEntry:
    """A started replacement.

    Attributes:
        entry_id: Pinot's id of the entry.
        state: Its state.
        segments_from: The segments it replaces; empty for a plain addition.
        segments_to: The new segments; empty (on 1.0 and later) for a plain removal.
        timestamp_ms: When the state was entered, epoch milliseconds of the controller.
    """

    entry_id: str
    state: LineageState
    segments_from: tuple[str, ...]
    segments_to: tuple[str, ...]
    timestamp_ms: int

    @property
    def live(self) -> bool:
        """Whether Pinot still considers the entry: it ignores reverted ones."""
        return self.state is not LineageState.REVERTED


def read_lineage(transport: Transport, table: str) -> list[LineageEntry]:
    """Return a table's entries, oldest first; empty if it never had one. Errors as for any request."""
    name = TableName(table)
    path = path_of("segments", name.raw, "lineage")
    response = transport.request("GET", path, params={"type": name.type})
    return [] if has_nothing(response) else parse_value(response, dict, parse_lineage, clean=transport.clean)


def parse_lineage(document: Mapping[str, Any]) -> list[LineageEntry]:
    """Parse the response of ``GET /segments/{table}/lineage``, oldest entry first."""
    entries = [
        LineageEntry(
            entry_id=entry_id,
            state=LineageState(entry["state"]),
            segments_from=tuple(entry.get("segmentsFrom") or ()),
            segments_to=tuple(entry.get("segmentsTo") or ()),
            timestamp_ms=int(entry["timestamp"]),
        )
        for entry_id, entry in (document.get("lineageEntries") or {}).items()
    ]
    return sorted(entries, key=lambda entry: (entry.timestamp_ms, entry.entry_id))
