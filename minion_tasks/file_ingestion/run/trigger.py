"""One run of FileIngestionTask for one table: what a trigger does, by hand or by the scheduler's cron.

The run holds the table's lock from the first look at the last session to the end, so there is one session
per table. Every state is durable before the next step begins: a run that is killed at any line is resumed,
or cleared away, by the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from controller_client.common.names import TableName
from controller_client.errors import NotAppliedError, UnreachableError
from controller_client.zookeeper import TableLock
from minion_tasks.file_ingestion.params.registration import load_params, offline_table
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
    """Bring a table up to its source, all or nothing.

    Args:
        tools: What the run works with.
        table_name: With or without ``_OFFLINE``.
        lock_wait_s: How long to wait for another run of the same table.

    Raises:
        ConfigError: The task's parameters or the table do not fit.
        SourceError: The source cannot be listed, or no file matches.
        FilesFailedError: Files could not be read or do not fit the schema; the table is as it was.
        LockHeldError: Another run of this table did not end in time.
        OutcomeUnknownError: The switch's last word is not known; the next run finds out and finishes.
    """
    table = offline_table(tools.client, table_name)
    params = load_params(tools.client, table)
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
    """Make a table's scheduled trigger, unless another scheduler has made it: as :func:`run_task`.

    Args:
        tools: What the run works with.
        table: Table name with type.
        scheduled_s: The trigger's time by the table's cron expression, epoch seconds.
        lock_wait_s: How long to wait for another run of the same table.
        guard: Makes what has to be so when the trigger is written down as made. From then on the run goes to
            its end, or to that of the table's lock, whoever is the scheduler meanwhile.

    Returns:
        None where this trigger, or a later one, was made already, whatever came of it.

    Raises:
        LeaseLostError: The guard's, before anything was begun.
        NotBegunError: The cluster does not answer; nothing was begun, and the trigger is not written down.
    """
    fired = FiredTriggers(tools.store, tools.clock, tools.owner)
    with tools.lock(table) as lock:
        with _not_begun_where_the_cluster_is_away():
            if fired.was_made(table, scheduled_s):
                return None
            params = load_params(tools.client, table)
            lock.acquire(lock_wait_s)
            # Only now: a scheduler that is killed while it waits has not used the trigger up.
            if not fired.claim(table, scheduled_s, guard=guard):
                return None
        return _locked_run(tools, table, params, lock)


@contextmanager
def _not_begun_where_the_cluster_is_away() -> Iterator[None]:
    try:
        yield
    except NotAppliedError as error:
        # Those derived from it say why the cluster refuses: what will not pass by itself.
        if type(error) not in (NotAppliedError, UnreachableError):
            raise
        raise NotBegunError(
            error.message, expected=error.expected, where=error.where, remedy=error.remedy
        ) from error


def _locked_run(tools: RunTools, table: TableName, params: FileIngestionParams, lock: TableLock) -> RunReport:
    return LockedRun(tools, table, params, SessionStore(tools.store, table), lock).trigger()
