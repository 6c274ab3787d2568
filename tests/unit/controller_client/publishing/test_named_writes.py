"""What counts as committed when a write is repeated."""

from __future__ import annotations

from controller_client.publishing.named_writes import committed_names
from controller_client.rest.lineage import LineageEntry, LineageState


def test_only_completed_replacements_have_added_their_segments() -> None:
    entries = [
        LineageEntry(str(number), state, ("old",), (f"{state.lower()}_1", f"{state.lower()}_2"), number)
        for number, state in enumerate(LineageState)
    ]
    assert committed_names(entries) == ["completed_1", "completed_2"]
