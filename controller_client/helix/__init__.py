"""Helix's state of a Pinot cluster in ZooKeeper: ideal states, task queues, table configs."""

from controller_client.helix.current_state import SegmentResets, wake_helix
from controller_client.helix.instance_config import live_session
from controller_client.helix.record_at import read_record_at, read_records_at, write_own_record
from controller_client.helix.task_queue import TaskQueues

__all__ = [
    "SegmentResets",
    "TaskQueues",
    "live_session",
    "read_record_at",
    "read_records_at",
    "wake_helix",
    "write_own_record",
]
