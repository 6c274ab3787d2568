"""All metrics of this project.

The label ``table`` takes only tables that a process works on; when a table goes, so do its values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Metric", "MetricKind", "all_metrics"]

_PREFIX = "pinot_plugins"

SCHEDULER, MINION, SERVER, BROKER = "scheduler", "minion", "server", "broker"
COORDINATOR, WATCH, QUEUE = "coordinator", "watch", "queue"
_ALL = (SCHEDULER, MINION, SERVER, BROKER, COORDINATOR, WATCH, QUEUE)
_LOOPS = (SCHEDULER, MINION, SERVER, BROKER, COORDINATOR, WATCH)
_HOSTED = (SERVER, BROKER)


class MetricKind(StrEnum):
    """Type of a metric, as Prometheus calls it."""

    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        name: Name under which it is scraped.
        kind: Its type.
        labels: Names of its labels.
        unit: Unit of its values.
        meaning: Its meaning, for people.
        processes: The kinds of process that export it.
    """

    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    unit: str
    meaning: str
    processes: tuple[str, ...]


def _gauge(name: str, unit: str, meaning: str, processes: tuple[str, ...], *labels: str) -> Metric:
    return Metric(f"{_PREFIX}_{name}", MetricKind.GAUGE, labels, unit, meaning, processes)


def _counter(name: str, unit: str, meaning: str, processes: tuple[str, ...], *labels: str) -> Metric:
    return Metric(f"{_PREFIX}_{name}_total", MetricKind.COUNTER, labels, unit, meaning, processes)


_EPOCH = "seconds since the epoch"
_YES = "1: yes, 0: no"

PROCESS_INFO = _gauge("process_info", "always 1", "Which process this is.", _ALL, "process", "version")
PROCESS_READY = _gauge(
    "process_ready_ratio", _YES, "Whether the process is ready, as /ready reports it.", _ALL
)
ROUNDS = _counter(
    "process_rounds", "rounds", "Rounds that a loop has completed, successfully or not.", _LOOPS, "loop"
)
FAILED_ROUNDS = _counter(
    "process_failed_rounds", "rounds", "Rounds that were aborted or incomplete.", _LOOPS, "loop"
)
FAILED_ROUNDS_IN_A_ROW = _gauge(
    "process_consecutive_failed_rounds",
    "rounds",
    "Rounds that were aborted or incomplete since the last successful one.",
    _LOOPS,
    "loop",
)
LAST_ROUND = _gauge(
    "process_last_round_timestamp_seconds", _EPOCH, "Time of a loop's last heartbeat.", _LOOPS, "loop"
)
LAST_GOOD_ROUND = _gauge(
    "process_last_good_round_timestamp_seconds",
    _EPOCH,
    "End of the last successful round.",
    _LOOPS,
    "loop",
)
ROUND_BOUND = _gauge(
    "process_round_bound_seconds",
    "seconds",
    "Longest time without a heartbeat before a loop counts as stuck.",
    _LOOPS,
    "loop",
)
LEASE_HELD = _gauge(
    "lease_held_ratio",
    _YES,
    "Whether this process holds the lease that only one of several can hold; absent once it stops.",
    (SCHEDULER, WATCH),
    "lease",
)

SCHEDULED_TABLES = _gauge("ingestion_scheduled_tables", "tables", "Tables with a schedule.", (SCHEDULER,))
UNSCHEDULABLE_TABLES = _gauge(
    "ingestion_unschedulable_tables", "tables", "Tables whose cron expression is invalid.", (SCHEDULER,)
)
RUNS = _counter(
    "ingestion_runs",
    "runs",
    "Finished runs: switched, switch_finished, nothing_new, rejected (by the checks), held (the table was"
    " rolled back), or failed.",
    (SCHEDULER,),
    "table",
    "outcome",
)
FAILED_IN_A_ROW = _gauge(
    "ingestion_consecutive_failed_runs",
    "runs",
    "Failed runs since the last successful one.",
    (SCHEDULER,),
    "table",
)
LAST_GOOD_RUN = _gauge(
    "ingestion_last_good_run_timestamp_seconds",
    _EPOCH,
    "End of the last successful run.",
    (SCHEDULER,),
    "table",
)
RUN_STARTED = _gauge(
    "ingestion_run_started_timestamp_seconds",
    _EPOCH,
    "Start of the run in progress; absent if there is none.",
    (SCHEDULER,),
    "table",
)
RUN_TIME = _counter("ingestion_run_seconds", "seconds", "Total time spent in runs.", (SCHEDULER,), "table")
RETRIES = _counter(
    "ingestion_retries", "runs", "Runs that resumed the session of an earlier one.", (SCHEDULER,), "table"
)
FILES = _counter(
    "ingestion_files", "files", "Files of sessions whose segments were switched in.", (SCHEDULER,), "table"
)
READ_BYTES = _counter("ingestion_read_bytes", "bytes", "Size of these files.", (SCHEDULER,), "table")
ROWS = _counter("ingestion_rows", "rows", "Rows of these sessions.", (SCHEDULER,), "table")
SEGMENTS = _counter("ingestion_segments", "segments", "Segments of these sessions.", (SCHEDULER,), "table")
SESSION_STARTED = _gauge(
    "ingestion_open_session_started_timestamp_seconds",
    _EPOCH,
    "When the open session was started; absent if there is none.",
    (SCHEDULER,),
    "table",
)

SUBTASKS = _counter(
    "minion_subtasks",
    "subtasks",
    "Finished subtasks: done, failed, or cancelled.",
    (MINION,),
    "task_type",
    "outcome",
)
RUNNING_SUBTASKS = _gauge(
    "minion_running_subtasks", "subtasks", "Subtasks in progress.", (MINION,), "task_type"
)
SUBTASK_SLOTS = _gauge(
    "minion_subtask_slots", "subtasks", "Subtasks that the minion can run at once.", (MINION,)
)
SUBTASK_TIME = _counter(
    "minion_subtask_seconds", "seconds", "Total time spent in subtasks.", (MINION,), "task_type"
)
MINION_FILES = _counter(
    "minion_files", "files", "Files of FileIngestionTask, staged or failed.", (MINION,), "outcome"
)
MINION_READ_BYTES = _counter("minion_read_bytes", "bytes", "Size of the staged files.", (MINION,))
MINION_ROWS = _counter("minion_staged_rows", "rows", "Rows of the staged segments.", (MINION,))
MINION_SEGMENT_BYTES = _counter(
    "minion_staged_segment_bytes", "bytes", "Unpacked size of these segments.", (MINION,)
)

QUEUE_SUBTASKS = _gauge(
    "queue_subtasks",
    "subtasks",
    "Subtasks in the queues, waiting or running, by the tag of the minions that can run them.",
    (QUEUE,),
    "tag",
    "state",
)

HOOK_ERRORS = _counter("hook_errors", "errors", "Errors raised by hooks.", _HOSTED, "hook")
HOOK_RUNS = _gauge(
    "hook_running_ratio",
    _YES,
    "Whether the role runs with the hook; 0: it started without the hook.",
    _HOSTED,
    "hook",
)

PAUSED_PARTITIONS = _gauge(
    "paused_partitions", "partitions", "Partitions that are paused on this server.", (SERVER,), "table"
)
PAUSED_SINCE = _gauge(
    "pause_since_timestamp_seconds",
    _EPOCH,
    "When the longest current pause of a partition on this server began.",
    (SERVER,),
    "table",
)
WAITING_ROWS = _gauge(
    "pause_waiting_rows", "rows", "Rows of the stream that wait in paused partitions.", (SERVER,), "table"
)
EXPIRING_ROWS = _gauge(
    "pause_expiring_rows",
    "rows",
    "Waiting rows that are older than 80 % of the topic's retention time.",
    (SERVER,),
    "table",
)
LOST_ROWS = _gauge(
    "pause_lost_rows", "rows", "Rows that the stream deleted before they were read.", (SERVER,), "table"
)

UPLOADS = _counter(
    "upload_uploads",
    "uploads",
    "Uploads of commits: ok, timed_out (the commit continued), late, failed (each attempt), or discarded"
    " (left to the repair).",
    (SERVER,),
    "outcome",
)
BACKLOG_SEGMENTS = _gauge(
    "upload_backlog_segments",
    "segments",
    "Segments that were committed, but whose tars still wait for the store.",
    (SERVER,),
)
BACKLOG_BYTES = _gauge("upload_backlog_bytes", "bytes", "Size of these tars on the server's disk.", (SERVER,))
BACKLOG_MAX_BYTES = _gauge(
    "upload_backlog_max_bytes",
    "bytes",
    "Limit of the backlog; beyond it the oldest tars are discarded.",
    (SERVER,),
)
BACKLOG_OLDEST = _gauge(
    "upload_backlog_oldest_timestamp_seconds",
    _EPOCH,
    "When the oldest of these tars was built; absent if there is none.",
    (SERVER,),
)
BACKLOG_LEVEL = _gauge(
    "upload_backlog_level_ratio",
    _YES,
    "The level of the backlog: empty, behind, or overflowing (some tars were discarded).",
    (SERVER,),
    "level",
)

UPSERT_MARK = _gauge(
    "upsert_mark_version",
    "versions",
    "The version up to which this server is complete; -1: none yet.",
    (SERVER,),
    "table",
)
UPSERT_MARK_AT = _gauge(
    "upsert_mark_timestamp_seconds",
    _EPOCH,
    "When that version was created; absent before the first one.",
    (SERVER,),
    "table",
)
UPSERT_PENDING = _gauge(
    "upsert_pending_events", "events", "Events that still wait for their rows.", (SERVER,), "table"
)
UPSERT_LOST = _gauge(
    "upsert_lost_partitions",
    "partitions",
    "Partitions of the updates topic whose messages were deleted before this server read them, although rows"
    " need them: its mark does not advance.",
    (SERVER,),
    "table",
)
QUERY_MARK = _gauge(
    "upsert_query_mark_version",
    "versions",
    "The version that queries see at this broker.",
    (BROKER,),
    "table",
)

COORDINATOR_VERSION = _gauge(
    "coordinator_version",
    "versions",
    "The newest version that the coordinator has sent.",
    (COORDINATOR,),
    "table",
)
COORDINATOR_VERSION_AT = _gauge(
    "coordinator_last_version_timestamp_seconds",
    _EPOCH,
    "When that version was sent.",
    (COORDINATOR,),
    "table",
)
COORDINATOR_LAG = _gauge(
    "coordinator_lag_rows",
    "rows",
    "Rows of the input that are in no version yet; absent if unknown, e.g. for one that stands by.",
    (COORDINATOR,),
    "table",
)
COORDINATOR_KEYS = _gauge(
    "coordinator_keys", "keys", "Keys in the coordinator's state.", (COORDINATOR,), "table"
)
COORDINATOR_VERSIONS = _counter("coordinator_versions", "versions", "Versions sent.", (COORDINATOR,), "table")
COORDINATOR_ROWS = _counter("coordinator_rows", "rows", "Rows read.", (COORDINATOR,), "table")
COORDINATOR_KEYLESS = _counter(
    "coordinator_keyless_rows", "rows", "Rows without a readable key.", (COORDINATOR,), "table"
)
COORDINATOR_EVENTS = _counter(
    "coordinator_events", "events", "Inserts and deletes sent.", (COORDINATOR,), "table"
)
COORDINATOR_FAILURES = _counter(
    "coordinator_failures",
    "failures",
    "Failures after which the coordinator restarted its work.",
    (COORDINATOR,),
    "table",
)

COMMITTED_SEGMENTS = _gauge(
    "deepstore_segments", "segments", "Committed segments of a table.", (WATCH,), "table"
)
FAULTY_SEGMENTS = _gauge(
    "deepstore_faulty_segments",
    "segments",
    "Segments whose copies have a fault, before the round's repairs.",
    (WATCH,),
    "table",
    "fault",
)
UNCOPIED_SEGMENTS = _gauge(
    "deepstore_uncopied_segments",
    "segments",
    "Segments without a good copy, neither in the store nor on a server.",
    (WATCH,),
    "table",
)
UNSTORED_SEGMENTS = _gauge(
    "deepstore_unstored_segments",
    "segments",
    "Segments without a good copy in the store; 0 for a table whose policy is servers.",
    (WATCH,),
    "table",
)
SILENT_SERVERS = _gauge(
    "deepstore_silent_servers",
    "servers",
    "Servers of a table that did not report the checksums of their copies.",
    (WATCH,),
    "table",
)
FAILED_TABLES = _gauge(
    "deepstore_failed_tables",
    _YES,
    "Whether the last round could not inspect the table.",
    (WATCH,),
    "table",
)
REPAIRS = _counter("deepstore_repairs", "repairs", "Attempted repairs.", (WATCH,), "outcome")
SWEPT_OBJECTS = _counter("deepstore_swept_objects", "objects", "Leftovers quarantined or deleted.", (WATCH,))
LAST_AUDIT_TIME = _gauge("deepstore_last_round_seconds", "seconds", "Duration of the last round.", (WATCH,))


def all_metrics() -> Iterator[Metric]:
    """Yield all metrics, in the order of this module."""
    return (value for value in globals().values() if isinstance(value, Metric))
