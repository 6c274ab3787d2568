"""Parts of a status as people read them: in the command's table, and on its page."""

from __future__ import annotations

from datetime import UTC, datetime

from controller_client.consumption.status import PartitionStatus

__all__ = ["note", "time_text"]


def note(each: PartitionStatus) -> str:
    """Return what a partition is in the stream, and what is wrong with it; empty where there is neither."""
    return "; ".join(filter(None, (str(each.topic_partition or ""), _finding(each))))


def _finding(each: PartitionStatus) -> str:
    if each.lost:
        first, behind = each.lost
        return f"the stream has dropped the {behind - first:,} offsets {first} to {behind - 1} unread"
    if each.ahead:
        return f"the stream ends at {each.latest_offset}, before this offset"
    if each.building:
        return f"not built yet: {', '.join(each.building)}"
    return ""


def time_text(epoch_ms: int | None) -> str:
    """Write a time: UTC, to the second; ``-`` where it is not known."""
    if epoch_ms is None:
        return "-"
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
