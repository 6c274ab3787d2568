"""One run of FileIngestionTask for one table, triggered manually or by the scheduler.

The run holds the table's lock from before it reads the last session to the end, so a table has one session at
a time. Every state is durable before the next step begins: if a run is killed at any point, the next one
resumes or discards its session.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from controller_client.common.names import TableName
from controller_client.errors import NotAppliedError, UnreachableError
from controller_client.zookeeper import TableLock
from minion_tasks.file_ingestion.params.registration import load_params_to_run, offline_table
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.run.fired import FiredTriggers, Guard
from minion_tasks.file_ingestion.run.steps import LockedRun
from minion_tasks.file_ingestion.run.types import (
    FilesFailedError,
    NotBegunError,
    RunOutcome,
    RunReport,
    RunTools,
)
from minion_tasks.file_ingestion.session.store import SessionStore

__all__ = ["FilesFailedError", "RunOutcome", "RunReport", "RunTools", "run_scheduled", "run_task"]


def run_task(tools: RunTools, table_name: str, *, lock_wait_s: float = 0.0) -> RunReport:
    """Ingest a source into its table, all or nothing.

    Args:
        tools: The tools of the run.
        table_name: With or without ``_OFFLINE``.
        lock_wait_s: How long to wait for another run of the same table.

    Raises:
        ConfigError: The task's parameters are invalid or do not fit the table, or it cannot fill the table.
        SourceError: The source cannot be listed, or no file matches.
        FilesFailedError: Files could not be read or do not fit the schema; the table is unchanged.
        LockHeldError: Another run of this table did not end in time.
        OutcomeUnknownError: It is unknown whether the switch was applied; the next run finds out and finishes
            it.
    """
    table = offline_table(tools.client, table_name)
    params = load_params_to_run(tools.client, table)
    with tools.lock(table) as lock:
        lock.acquire(lock_wait_s)
        return _locked_run(tools, table, params, lock)


def run_scheduled(
    tools: RunTools,
    table: TableName,
    scheduled_s: float,
    *,
    lock_wait_s: float = 0.0,
    guard: Guard | None = None,
) -> RunReport | None:
    """Fire a table's scheduled trigger unless another scheduler has done so; runs like :func:`run_task`.

    Args:
        tools: The tools of the run.
        table: Table name with type.
        scheduled_s: The trigger's time by the table's cron expression, in epoch seconds.
        lock_wait_s: How long to wait for another run of the same table.
        guard: Creates a condition that must hold when the trigger is recorded as fired. From then on the run
            continues while it has the table's lock, even if another scheduler becomes active.

    Returns:
        The report; None if this trigger or a later one has already been fired, whatever its result.

    Raises:
        LeaseLostError: The guard's condition failed; nothing was started.
        NotBegunError: The cluster does not answer; nothing was started and the trigger was not recorded.
    """
    fired = FiredTriggers(tools.store, tools.clock, tools.owner)
    with tools.lock(table) as lock:
        with _not_begun_if_cluster_is_down():
            if fired.was_made(table, scheduled_s):
                return None
            params = load_params_to_run(tools.client, table)
            lock.acquire(lock_wait_s)
            # Recorded only now, so that a scheduler killed while waiting does not lose the trigger.
            if not fired.claim(table, scheduled_s, guard=guard):
                return None
        return _locked_run(tools, table, params, lock)


@contextmanager
def _not_begun_if_cluster_is_down() -> Iterator[None]:
    try:
        yield
    except NotAppliedError as error:
        # Derived errors are rejections by the cluster, which do not resolve themselves.
        if type(error) not in (NotAppliedError, UnreachableError):
            raise
        raise NotBegunError(
            error.message, expected=error.expected, where=error.where, remedy=error.remedy
        ) from error


def _locked_run(tools: RunTools, table: TableName, params: FileIngestionParams, lock: TableLock) -> RunReport:
    return LockedRun(tools, table, params, SessionStore(tools.store, table), lock).trigger()
