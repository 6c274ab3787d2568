"""Undoing a lineage entry and cleaning up after it, and reading an unknown outcome back from the lineage."""

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
    """How long the steps of a replacement wait.

    Attributes:
        online_s: For pushed segments to be online before the entry is ended.
        before_revert_s: For pushed segments to be online before the entry is reverted; a revert before that
            can leave a segment stuck, but one that never comes online must not hinder the revert.
        gone_s: For deleted segments to be gone.
        settle_s: For a call whose reply was lost to show in the lineage.
        first_writer_s: Before the first entry of a table is read back a second time: of two first writers,
            0.11.0 lets both succeed and keeps one.
    """

    online_s: float = 600.0
    before_revert_s: float = 60.0
    gone_s: float = 300.0
    settle_s: float = 20.0
    first_writer_s: float = 1.0


def find_entry(client: RestClient, table: TableName, entry_id: str) -> LineageEntry | None:
    """Return an entry by its id; None when the lineage has none."""
    entries = client.lineage.list(table)
    return next((entry for entry in entries if entry.entry_id == entry_id), None)


def read_back(
    client: RestClient, error: OutcomeUnknownError, seen: Callable[[], bool], settle_s: float
) -> bool:
    """Find out whether a call with an unknown outcome was applied.

    Args:
        client: Client of the cluster (for its clock).
        error: What the call ended with.
        seen: Looks once whether the effect is there.
        settle_s: Seconds until the last check.

    Returns:
        True: it was applied. False: it was not, for certain: the controller has answered, so the call is
            over.

    Raises:
        OutcomeUnknownError: It does not show, but no reply came: it may still run in the controller. Or
            the lineage cannot be read.
        ConflictError: The lineage shows that it cannot have been applied as wanted.
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
        raise  # the lineage shows it: the entry was reverted or replaces something else
    except NotAppliedError as unread:
        # It is the reading that was not applied.
        raise error from unread
    return True


def revert_entry(
    client: RestClient, table: TableName, entry: LineageEntry, timeouts: LineageTimeouts
) -> None:
    """Revert an entry that is IN_PROGRESS or COMPLETED; one that is REVERTED already is no error.

    Pinot asks its servers to drop ``segmentsTo`` then; see :func:`delete_leftovers` for the rest.

    Raises:
        NotAppliedError: Pinot refused: a COMPLETED entry whose ``segmentsFrom`` are not all online, or an
            entry whose ``segmentsTo`` another live entry replaces.
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
                remedy="see the controller's log; `pinotctl lineage doctor` lists what prevents it",
                http_status=error.http_status,
            ) from error
    logger.info("%s: lineage entry %s is reverted", table, entry.entry_id)


def delete_leftovers(
    client: RestClient,
    table: TableName,
    names: Collection[str],
    timeouts: LineageTimeouts,
) -> None:
    """Delete segments of a reverted entry that are there still, and wait until they are gone.

    Raises:
        AppliedError: They are still there; the revert itself stands.
    """
    try:
        present = set(client.segments.list(table, exclude_replaced=False)) & set(names)
        client.segments.delete(table, present)
        client.segments.wait_gone(table, names, timeouts.gone_s)
    except PinotPluginError as error:
        raise AppliedError(
            f"the entry is reverted, but its new segments are not cleaned up: {error.message}",
            where=table,
            remedy="run the lineage doctor on the table; until then the segments are hidden",
        ) from error
