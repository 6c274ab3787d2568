"""The commit of a write, in a Python process of the driver: one replacement of segments, or nothing.

A commit holds the table's lock. A lineage entry of another write that is still in progress at that time
belongs to a killed write and is reverted.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from controller_client.client import ControllerClient
from controller_client.clock import Clock, SystemClock
from controller_client.common.names import TableName
from controller_client.publishing.named_writes import was_committed
from controller_client.publishing.reverting import LineageTimeouts, delete_leftovers, revert_entry
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.publishing.switch import Switched, switch
from controller_client.publishing.targets import check_quota
from controller_client.rest.lineage import LineageEntry, LineageState, TableView
from spark_connectors.write.checking import check_staged
from spark_connectors.write.plan import WritePlan
from spark_connectors.write.report import WriteOutcome, Written, report_commit
from spark_connectors.write.scope import segments_to_replace
from spark_connectors.write.staged import StagedByTask
from spark_connectors.write.sweeping import delete_folder, sweep
from spark_connectors.zookeeper import locked

__all__ = ["abort", "commit"]

logger = logging.getLogger(__name__)


def commit(plan: WritePlan, messages: Sequence[StagedByTask | None], clock: Clock | None = None) -> None:
    """Publish the staged segments in one step; queries that start afterwards see them.

    Args:
        plan: The write.
        messages: The messages of the tasks; None for a task that ended without one.
        clock: The clock.

    Raises:
        ChecksFailedError: What is staged does not pass the checks; the table is unchanged.
        NotAppliedError: The table is unchanged.
        OutcomeUnknownError: It is unknown whether the write was applied; repeat it with the same ``writeId``.
    """
    clock = clock or SystemClock()
    started = clock.monotonic()
    where = f"the write {plan.write_id} of {plan.table}"
    tasks = [message.checked(where) for message in messages if message is not None]
    segments = [segment for task in tasks for segment in task.segments]
    what, switched = Written.NOTHING, Switched(0)
    if plan.committed_before or segments or plan.overwrite:
        with plan.options.client() as client:
            what, switched = _commit(plan, client, segments)
            delete_folder(plan, plan.staging_uri)
            sweep(plan, client)
    report_commit(plan, tasks, WriteOutcome(what, switched, clock.monotonic() - started))


def abort(plan: WritePlan) -> None:
    """Clean up after a failed job or commit; a commit that was applied stays.

    Spark also calls this after a failed commit, whose last call may have been applied nevertheless.
    """
    # First, since this works even if the controller is unreachable. No later attempt needs the folder.
    delete_folder(plan, plan.staging_uri)
    with plan.options.client() as client, locked(plan.options, client, plan.table):
        for entry in client.lineage.list(plan.table):
            if entry.state is LineageState.IN_PROGRESS and _is_of(plan, entry):
                _revert(client, plan.table, entry)


def _commit(
    plan: WritePlan, client: ControllerClient, segments: Sequence[StagedSegment]
) -> tuple[Written, Switched]:
    if plan.committed_before:
        return Written.BEFORE, Switched(0)
    with locked(plan.options, client, plan.table) as store:
        view = client.lineage.view(plan.table)
        if was_committed(view, plan.names_prefix):
            return Written.BEFORE, Switched(0)
        if _undo_killed_writes(plan, client, view):
            view = client.lineage.view(plan.table)
        replaced = segments_to_replace(view, store, plan.table, plan.scope()) if plan.overwrite else ()
        if not segments and not replaced:
            return Written.NOTHING, Switched(0)
        segments = segments or _empty_segment(plan, client)
        check_quota(client, plan.table, segments)
        check_staged(plan, client, store, view, segments, replaced)
        switched = switch(
            client,
            store,
            plan.table,
            segments,
            replaced,
            plan.staging_store,
            push_mode=plan.options.push_mode,
            min_replicas=plan.options.min_replicas,
            keep_on_error=False,
            view=view,
        )
    return Written.NOW, switched


def _empty_segment(plan: WritePlan, client: ControllerClient) -> Sequence[StagedSegment]:
    # Imported here, since it is rarely needed and would add a third of a second to each commit.
    from spark_connectors.write.staging_task import stage_empty_segment

    return stage_empty_segment(plan, client.clock).segments


def _is_of(plan: WritePlan, entry: LineageEntry) -> bool:
    begin = f"{plan.names_prefix}{plan.nonce}_"
    return any(name.startswith(begin) for name in entry.segments_to)


def _undo_killed_writes(plan: WritePlan, client: ControllerClient, view: TableView) -> bool:
    """Revert what killed writes have left open, and delete their segments; return whether there was any."""
    has_killed_writes = False
    for entry in view.entries:
        if not any(map(plan.nonce_of, entry.segments_to)):
            continue
        if entry.state is LineageState.IN_PROGRESS:
            logger.warning("%s: reverting lineage entry %s of a killed write", plan.table, entry.entry_id)
            _revert(client, plan.table, entry)
            has_killed_writes = True
        elif entry.state is LineageState.REVERTED and not view.existing.isdisjoint(entry.segments_to):
            # The process that reverted it was killed before the end. Queries do not see the segments.
            client.segments.delete(plan.table, view.existing.intersection(entry.segments_to))
            has_killed_writes = True
    return has_killed_writes


def _revert(client: ControllerClient, table: TableName, entry: LineageEntry) -> None:
    timeouts = LineageTimeouts()
    revert_entry(client, table, entry, timeouts)
    delete_leftovers(client, table, entry.segments_to, timeouts)
