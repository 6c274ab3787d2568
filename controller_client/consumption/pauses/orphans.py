"""Segments that Pinot started and forgot: IN_PROGRESS in the property store, but not in the ideal state.

Pinot 0.11 leaves one behind if a table is paused while a segment commits: the controller has written the next
segment's record, then sees the flag, and does not add that segment to the ideal state. It also leaves one if
its repair loses the compare-and-set on the ideal state against a commit. Afterwards it treats every such
record as a commit in progress: for five minutes, or until the next hourly check, a resume starts nothing for
the partition.
"""

from __future__ import annotations

import logging

from controller_client.consumption.table_control import TableControl
from controller_client.helix.ideal_state import IdealState
from controller_client.helix.stream_segments import newest_by_partition, read_partitions

__all__ = ["delete_orphans", "find_orphans"]

logger = logging.getLogger(__name__)

_GONE_TIMEOUT_S = 60.0
_SETTLED_MS = 20_000
_PINOT_REPAIRS_MS = 290_000


def find_orphans(control: TableControl, ideal: IdealState) -> list[str]:
    """Return the forgotten segments that nobody will use any more, so that they can be deleted.

    While the flag is set, every write to the ideal state that would add such a segment fails, because it is
    based on an older version. Without the flag, a record must be old enough for its writer to have finished,
    and too young for Pinot to repair it.

    Args:
        control: The table.
        ideal: Its ideal state, read before.
    """
    consuming = newest_by_partition(ideal.consuming)
    candidates = []
    for partition, segments in read_partitions(control.store, control.table).items():
        newest = segments.newest
        if newest.ended or newest.segment.name in ideal.segments or partition in consuming:
            continue
        age_ms = control.now_ms() - (newest.created_ms or 0)
        if ideal.flags.table_paused or _SETTLED_MS <= age_ms < _PINOT_REPAIRS_MS:
            candidates.append(newest.segment.name)
    # The segment may have been added to the ideal state between the two reads.
    there = control.ideal().segments if candidates else {}
    return [name for name in candidates if name not in there]


def delete_orphans(control: TableControl, names: list[str]) -> None:
    """Delete forgotten segments with Pinot's own API, which checks once more that nobody has them.

    Raises:
        WaitTimeoutError: They still exist.
    """
    if not names:
        return
    logger.info("%s: deleting segments that Pinot started and forgot: %s", control.table, ", ".join(names))
    control.client.segments.delete(control.table, names)
    control.client.segments.wait_gone(control.table, names, _GONE_TIMEOUT_S)
