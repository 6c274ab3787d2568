"""Reverts a lineage entry and cleans up after it; reads an unknown outcome back from the lineage."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller_client.common.names import TableName
from controller_client.common.waiting import wait_until
from controller_client.errors import (
    AppliedError,
    ConflictError,
    NotAppliedError,
    OutcomeUnknownError,
    PinotPluginError,
    WaitTimeoutError,
)
from controller_client.rest.lineage_entry import LineageEntry, LineageState

if TYPE_CHECKING:
    from controller_client.rest.client import RestClient

__all__ = ["LineageTimeouts", "delete_leftovers", "find_entry", "read_back", "revert_entry"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LineageTimeouts:
    """Timeouts of the steps of a replacement, in seconds.

    Attributes:
        online_s: For pushed segments to come online before the entry is ended.
        before_revert_s: For pushed segments to come online before the entry is reverted; an earlier revert
            can leave a segment stuck, but a segment that never comes online must not prevent the revert.
        gone_s: For deleted segments to be gone.
        settle_s: For a call whose reply was lost to show in the lineage.
        first_writer_s: Before reading back a table's first entry a second time: 0.11.0 lets two first writers
            succeed and keeps only one.
    """

    online_s: float = 600.0
    before_revert_s: float = 60.0
    gone_s: float = 300.0
    settle_s: float = 20.0
    first_writer_s: float = 1.0


def find_entry(client: RestClient, table: TableName, entry_id: str) -> LineageEntry | None:
    """Return an entry by its id; None if it is not in the lineage."""
    entries = client.lineage.list(table)
    return next((entry for entry in entries if entry.entry_id == entry_id), None)


def read_back(
    client: RestClient, error: OutcomeUnknownError, seen: Callable[[], bool], settle_s: float
) -> bool:
    """Determine whether a call with an unknown outcome was applied.

    Args:
        client: Client of the cluster (for its clock).
        error: The call's error.
        seen: Checks once whether the effect is visible.
        settle_s: Seconds until the last check.

    Returns:
        True: it was applied. False: it certainly was not, because the controller answered, so the call has
            ended.

    Raises:
        OutcomeUnknownError: It is not visible, but there was no reply: it may still be running in the
            controller. Or the lineage cannot be read.
        ConflictError: The lineage shows that it cannot have been applied as intended.
    """
    try:
        if seen():
            return True
        if error.http_status == 500:
            return False
        wait_until(
            lambda: None if seen() else "no effect in the lineage",
            what="the effect of a call whose reply was lost",
            timeout_s=settle_s,
            clock=client.clock,
        )
    except WaitTimeoutError:
        raise error from None
    except ConflictError:
        raise  # according to the lineage, the entry was reverted or replaces something else
    except NotAppliedError as unread:
        # NotAppliedError refers to the read.
        raise error from unread
    return True


def revert_entry(
    client: RestClient, table: TableName, entry: LineageEntry, timeouts: LineageTimeouts
) -> None:
    """Revert an entry that is IN_PROGRESS or COMPLETED; one that is already REVERTED is not an error.

    Pinot then makes its servers drop ``segmentsTo``; see :func:`delete_leftovers` for the rest.

    Raises:
        NotAppliedError: Pinot refused, because the ``segmentsFrom`` of a COMPLETED entry are not all online,
            or another live entry replaces its ``segmentsTo``.
        OutcomeUnknownError: It is unknown whether it was reverted.
    """
    if entry.state is LineageState.REVERTED:
        return
    pushed = set(entry.segments_to) & client.tables.ideal_state(table).keys()
    try:
        client.segments.wait_online(table, pushed, timeouts.before_revert_s)
    except WaitTimeoutError as error:
        logger.warning("%s: reverting although %s", table, error.message)
    force = entry.state is LineageState.IN_PROGRESS
    try:
        client.lineage.revert(table, entry.entry_id, force=force)
    except OutcomeUnknownError as error:

        def reverted() -> bool:
            now = find_entry(client, table, entry.entry_id)
            return now is None or now.state is LineageState.REVERTED

        if not read_back(client, error, reverted, timeouts.settle_s):
            raise NotAppliedError(
                f"Pinot refused to revert entry {entry.entry_id} of {table}: {error.message}",
                where=table,
                remedy="check the controller's log; `pinotctl lineage doctor` lists what prevents it",
                http_status=error.http_status,
            ) from error
    logger.info("%s: lineage entry %s has been reverted", table, entry.entry_id)


def delete_leftovers(
    client: RestClient,
    table: TableName,
    names: Collection[str],
    timeouts: LineageTimeouts,
) -> None:
    """Delete the remaining segments of a reverted entry, and wait until they are gone.

    Raises:
        AppliedError: They still exist; the revert itself was applied.
    """
    try:
        present = set(client.segments.list(table, exclude_replaced=False)) & set(names)
        client.segments.delete(table, present)
        client.segments.wait_gone(table, names, timeouts.gone_s)
    except PinotPluginError as error:
        raise AppliedError(
            f"the entry was reverted, but its new segments were not cleaned up: {error.message}",
            where=table,
            remedy="run the lineage doctor on the table; until then the segments are hidden",
        ) from error
