"""One run of FileIngestionTask for one table, triggered manually or by the scheduler.

The run holds the table's lock from before it reads the last session to the end, so a table has one session at
a time. Every state is durable before the next step begins: if a run is killed at any point, the next one
resumes or discards its session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import NotAppliedError, UnreachableError
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

__all__ = ["FilesFailedError", "RunOutcome", "RunReport", "RunTools", "locked", "run_scheduled", "run_task"]

_R = TypeVar("_R", bound=LockedRun)


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
    with locked(LockedRun, tools, table_name, load_params_to_run, lock_wait_s) as run:
        return run.trigger()


@contextmanager
def locked(
    kind: Callable[..., _R],
    tools: RunTools,
    table_name: str,
    load: Callable[[ControllerClient, TableName], FileIngestionParams],
    lock_wait_s: float,
) -> Iterator[_R]:
    """Yield a run of a table, with the table's lock held.

    Args:
        kind: :class:`LockedRun`, or a class derived from it.
        tools: The tools of the run.
        table_name: With or without ``_OFFLINE``.
        load: Reads the parameters of the table's task.
        lock_wait_s: How long to wait for another run of the same table.

    Raises:
        ConfigError: The table has no task, or its parameters are invalid.
        LockHeldError: Another run of this table did not end in time.
    """
    table = offline_table(tools.client, table_name)
    params = load(tools.client, table)
    with tools.lock(table) as lock:
        lock.acquire(lock_wait_s)
        yield kind(tools, table, params, SessionStore(tools.store, table), lock)


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
        return LockedRun(tools, table, params, SessionStore(tools.store, table), lock).trigger()


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
