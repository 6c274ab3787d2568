"""Pauses by Pinot itself, and pauses of single topics; this project ends neither.

Since 1.3, Pinot's check of realtime tables (hourly by default, and at each resume) pauses a table that
exceeds its storage quota or whose servers' disks are too full, and resumes it once that has changed. It does
not touch what a user has paused. Since 1.5, a topic can be paused separately from its table.
"""

from __future__ import annotations

from collections.abc import Collection

from controller_client.common.names import TableName
from controller_client.errors import RejectedError
from controller_client.helix.ideal_state import IdealState, PinotPause
from controller_client.stream.topics import topic_index

__all__ = ["is_topic_paused", "pinots_remedy", "refuse_pinots_pause", "topic_remedy", "topic_resume_path"]

_REMEDIES = {
    "STORAGE_QUOTA_EXCEEDED": "delete segments, or raise quota.storage in the table's config",
    "RESOURCE_UTILIZATION_LIMIT_EXCEEDED": "make room on the disks of the table's servers",
}


def pinots_remedy(pause: PinotPause) -> str:
    """Return what ends a pause by Pinot itself."""
    do = _REMEDIES.get(pause.reason_code or "", "see the controller's log")
    return f"{do}; Pinot then resumes the table in its next check (hourly by default)"


def refuse_pinots_pause(table: TableName, ideal: IdealState) -> None:
    """Refuse a table that Pinot itself has paused; accept one that a user has paused, or nobody.

    Raises:
        RejectedError: Pinot itself has paused it, and would do so again.
    """
    pause = ideal.pinot_pause
    if pause is None or not pause.is_pinots_own:
        return
    comment = f" ({pause.comment})" if pause.comment else ""
    raise RejectedError(
        f"Pinot itself has paused {table}: {pause.reason_code}{comment}; it would undo a resume",
        expected="a pause by a user",
        where=table,
        remedy=pinots_remedy(pause),
    )


def is_topic_paused(ideal: IdealState, partition: int) -> bool:
    """Return whether the topic of a partition is paused separately."""
    return topic_index(partition) in ideal.paused_topics


def topic_remedy(table: TableName, topics: Collection[int]) -> str:
    """Return how to resume topics that are paused separately."""
    return f"POST {topic_resume_path(table, topics)} to the controller"


def topic_resume_path(table: TableName, topics: Collection[int]) -> str:
    """Return the path and query of the POST request that resumes topics of a table."""
    indexes = ",".join(map(str, sorted(topics)))
    return f"/tables/{table}/resumeTopicConsumption?topicIndices={indexes}"
