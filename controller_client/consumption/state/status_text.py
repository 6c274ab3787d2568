"""Texts of a status that the command's table and its page share."""

from __future__ import annotations

from controller_client.common.counted_text import counted_text
from controller_client.common.utc_text import utc_text
from controller_client.consumption.state.status import PartitionStatus

__all__ = ["note", "time_text"]


def note(each: PartitionStatus) -> str:
    """Return the partition's topic, if its table has several, and its problem; empty if there is neither."""
    return "; ".join(filter(None, (str(each.topic_partition or ""), _finding(each))))


def _finding(each: PartitionStatus) -> str:
    if each.lost_end:
        return each.lost_end
    if each.lost:
        first, end = each.lost
        lost = counted_text(end - first, "unread offset")
        return f"the stream has dropped {lost}: {first} to {end - 1}"
    if each.ahead:
        return f"the stream ends at {each.latest_offset}, before this offset"
    if each.building:
        return f"not yet built: {', '.join(each.building)}"
    return ""


def time_text(epoch_ms: int | None) -> str:
    """Format a time in UTC, to the second; ``-`` if unknown."""
    if epoch_ms is None:
        return "-"
    return utc_text(epoch_ms, "T")
