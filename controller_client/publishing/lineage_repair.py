"""Repairs the faults of a table's lineage found by :mod:`controller_client.publishing.doctor`."""

from __future__ import annotations

import math

from controller_client.common.names import TableName
from controller_client.errors import ConfigError, ConflictError
from controller_client.publishing.doctor import Diagnosis, LineageFinding, Repair
from controller_client.publishing.examine_lineage import examine_lineage
from controller_client.publishing.loading import SegmentLoading
from controller_client.publishing.reverting import LineageTimeouts, delete_leftovers, revert_entry
from controller_client.rest.client import RestClient
from controller_client.zookeeper import PropertyStore

__all__ = ["plan_repair", "repair"]


def plan_repair(client: RestClient, table: TableName, diagnosis: Diagnosis) -> Repair:
    """Examine the table again and return what :func:`repair` would do now.

    Raises:
        ConflictError: The fault requires a decision, or no longer exists.
    """
    # A stuck entry is not checked for segments that do not load.
    older_than_s = 0.0 if diagnosis.finding is LineageFinding.STUCK else math.inf
    for now in examine_lineage(client, table, older_than_s):
        if now.finding is diagnosis.finding and now.entry == diagnosis.entry:
            if now.repair is None:
                raise ConflictError(
                    f"the repair of entry {now.entry.entry_id} requires a decision: {now.explanation}",
                    where=table,
                    remedy=now.advice,
                )
            return now.repair
    raise ConflictError(
        f"entry {diagnosis.entry.entry_id} has changed since it was diagnosed",
        where=table,
        remedy="run the doctor again",
    )


def repair(
    client: RestClient,
    table: TableName,
    diagnosis: Diagnosis,
    *,
    timeouts: LineageTimeouts | None = None,
    store: PropertyStore | None = None,
) -> Repair:
    """Revert a faulty entry and delete its new segments, or make servers load them; waits for the effect.

    Args:
        client: Client of the cluster.
        table: Table.
        diagnosis: The doctor's diagnosis.
        timeouts: Timeouts of the steps.
        store: ZooKeeper; needed only to load segments.

    Returns:
        The repair that was made.

    Raises:
        ConfigError: Segments must be loaded, but there is no ``store``.
        WaitTimeoutError: Segments do not load; the error lists them with the reasons.
        ConflictError: The fault requires a decision, or no longer exists; nothing was done.
        NotAppliedError: Pinot refused the revert.
        OutcomeUnknownError: It is unknown whether the entry was reverted.
        AppliedError: The entry was reverted, but some of its segments still exist: run the doctor again.
    """
    plan = plan_repair(client, table, diagnosis)
    limits = timeouts or LineageTimeouts()
    if plan.load:
        if store is None:
            raise ConfigError("making servers load segments requires ZooKeeper", remedy="pass a store")
        SegmentLoading(client, table, store).wait(plan.load, limits.online_s)
        return plan
    if plan.revert:
        revert_entry(client, table, diagnosis.entry, limits)
    delete_leftovers(client, table, plan.delete, limits)
    return plan
