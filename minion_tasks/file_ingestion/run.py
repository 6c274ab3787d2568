"""One run of FileIngestionTask for one table: what a trigger does, by hand or by the scheduler's cron.

The run holds the table's lock from the first look at the last session to the end, so there is one session
per table. Every state is durable before the next step begins: a run that is killed at any line is taken up,
or cleared away, by the next.
"""

from __future__ import annotations

from controller_client.zookeeper import TableLock
from minion_tasks.file_ingestion.params import TASK_TYPE
from minion_tasks.file_ingestion.registration import load_params, offline_table
from minion_tasks.file_ingestion.run_types import FilesFailedError, RunOutcome, RunReport, RunTools
from minion_tasks.file_ingestion.session_store import SessionStore
from minion_tasks.file_ingestion.steps import LockedRun

__all__ = ["FilesFailedError", "RunOutcome", "RunReport", "RunTools", "run_task"]


def run_task(tools: RunTools, table: str, *, lock_wait_s: float = 0.0) -> RunReport:
    """Bring a table up to its source, all or nothing.

    Args:
        tools: What the run works with.
        table: Table name, with or without ``_OFFLINE``.
        lock_wait_s: How long to wait for another run of the same table.

    Raises:
        ConfigError: The task's parameters or the table do not fit.
        SourceError: The source cannot be listed, or no file matches.
        FilesFailedError: Files could not be read or do not fit the schema; the table is as it was.
        LockHeldError: Another run of this table did not end in time.
        OutcomeUnknownError: The switch's last word is not known; the next run finds out and finishes.
    """
    table = offline_table(tools.client, table)
    params = load_params(tools.client, table)
    with TableLock(tools.store, table, TASK_TYPE, tools.owner) as lock:
        lock.acquire(lock_wait_s)
        return LockedRun(tools, table, params, SessionStore(tools.store, table), lock).trigger()
