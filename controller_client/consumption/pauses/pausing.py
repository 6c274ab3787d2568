"""Pause a table completely: the flag is set, every segment is built, and no server consumes."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace

from controller_client.common.names import SegmentName
from controller_client.common.waiting import wait_until
from controller_client.consumption.pauses.committing import Forcer, describe_building, describe_open
from controller_client.consumption.pauses.orphans import delete_orphans, find_orphans
from controller_client.consumption.state.pause_record import (
    EXPLICIT,
    Holder,
    PauseRecord,
    change_record,
    sequences_of,
)
from controller_client.consumption.table_control import TableControl
from controller_client.errors import (
    ConflictError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    RejectedError,
    UnreachableError,
)
from controller_client.helix.ideal_state import IdealState, finish_commits
from controller_client.helix.stream_segments import read_partitions, read_segment

__all__ = ["pause", "wait_paused"]

logger = logging.getLogger(__name__)

_FRESH_MS = 300_000
"""A holder that is younger may be about to set the flag."""


def pause(
    control: TableControl,
    *,
    reason: str | None = None,
    comment: str | None = None,
    wait: bool = True,
    timeout_s: float = 300.0,
    batch_size: int | None = None,
    holder: str = EXPLICIT,
) -> bool:
    """Pause a table; any number of callers may do so at the same time and repeatedly.

    A pause by Pinot itself (a quota, a full disk) is left for Pinot to lift.

    Args:
        control: The table.
        reason: Short reason for the pause.
        comment: Free text; Pinot 1.3 and later store it too.
        wait: Wait until the pause is finished; otherwise only the flag is certain to be set.
        timeout_s: Seconds until the last check.
        batch_size: Segments that commit at a time (Pinot 1.5 and later).
        holder: Who wants the pause; the table stays paused until the last holder resumes it.

    Returns:
        Whether this call set the flag, as far as that is known.

    Raises:
        NotFoundError: There is no such table.
        RejectedError: The table is disabled, or uses a kind of Pinot's own upsert for which Pinot does not
            force commits.
        UnsupportedError: This version of Pinot cannot pause.
        WaitTimeoutError: Something still consumes; the error lists the partitions and the servers.
        ConflictError: Somebody resumed the table meanwhile.
        OutcomeUnknownError: It is unknown whether the flag is set.
    """
    ideal = control.ideal()
    if not ideal.enabled:
        raise RejectedError(f"{control.table} is disabled", remedy="enable the table first")
    mine = Holder(control.by, control.now_ms(), reason, comment)
    change_record(control.store, control.table, lambda present: _joined(present, ideal, holder, mine))
    began = not ideal.flags.table_paused
    if ideal.pinot_pause is not None and ideal.pinot_pause.is_pinots_own:
        # Setting the flag again would turn this into a user's pause, which Pinot would not lift.
        logger.warning(
            "%s is paused by Pinot itself (%s), which will also resume it: to keep it paused after that, "
            "pause it again",
            control.table,
            ideal.pinot_pause.reason_code,
        )
    if began:
        try:
            _set_flag(control, comment, batch_size, timeout_s)
        except RejectedError:
            change_record(control.store, control.table, lambda present: _without(present, holder, mine))
            raise
    _remember(control)
    if wait:
        wait_paused(control, timeout_s=timeout_s)
    return began


def wait_paused(control: TableControl, *, timeout_s: float) -> None:
    """Wait until nothing consumes, and force commits where needed; the flag must already be set.

    Raises:
        WaitTimeoutError: Something still consumes; the error lists the partitions and the servers.
        ConflictError: Somebody resumed the table meanwhile.
    """
    forcer = Forcer(control)
    first = True
    half_committed: set[str] = set()

    def missing() -> str | None:
        nonlocal first
        ideal = control.ideal()
        if not ideal.flags.table_paused:
            raise ConflictError(
                f"somebody else resumed {control.table} while it was being paused",
                where=control.table,
                remedy="coordinate with them, then pause it again",
            )
        reading = control.reading(ideal)
        if reading:
            if first:
                # The call that set the flag has sent the message; it is repeated for servers that ignored it.
                forcer.sent(reading)
            _finish_commits(control, forcer.force(reading), half_committed)
            first = False
            return f"still consuming: {describe_open(control, reading)}"
        return _left(control, ideal)

    try:
        wait_until(
            missing,
            what=f"all servers to stop consuming {control.table}",
            timeout_s=timeout_s,
            clock=control.clock,
            longest_poll_s=1.0,
            remedy=(
                "the table stays flagged as paused: run the same command again to keep waiting, or `pinotctl "
                "consumption recover` if a segment does not commit"
            ),
        )
    finally:
        _remember(control)
    delete_orphans(control, find_orphans(control, control.ideal()))


def _finish_commits(control: TableControl, segments: Collection[str], half_committed: set[str]) -> None:
    """Finish the commits of segments that only the ideal state still has consume.

    A controller that is killed in a commit may have written the segment's record, but not the ideal state.
    Pinot repairs that only in tables that are not paused.

    Args:
        control: The table.
        segments: Those that are still open long after they were to commit.
        half_committed: Those that had a record at an earlier call, to which this one adds. The commit of any
            other may be under way, and is left to the controller.
    """
    parsed = filter(None, map(SegmentName.parse, segments))
    records = [read_segment(control.store, control.table, segment) for segment in parsed]
    committed = [each.segment.name for each in records if each is not None and each.committed]
    unfinished = [name for name in committed if name in half_committed]
    half_committed.update(committed)
    if unfinished:
        logger.warning("%s: finishing unfinished commits: %s", control.table, ", ".join(unfinished))
        finish_commits(control.store, control.table, unfinished)


def _left(control: TableControl, ideal: IdealState) -> str | None:
    """Describe what servers and the controller still consume when the ideal state has nothing left."""
    try:
        unsealed = control.servers_consume()
        status = control.client.consumption.pause_status(control.table)
    except NotFoundError:
        raise
    except NotAppliedError as away:
        return f"the controller does not answer: {away.message}"  # it may be back before the timeout
    if unsealed:
        return f"committed, but not yet sealed: {describe_open(control, unsealed)}"
    others = sorted(status.consuming_segments - ideal.consuming.keys())
    if not status.paused or others:
        return f"the controller reports: paused {status.paused}, consuming {others}"
    # Pinot reports a pauseless table as paused while its last rows are still only in memory.
    building = control.committing()
    return f"consumed, but not yet built: {describe_building(control, building)}" if building else None


def _joined(present: PauseRecord | None, ideal: IdealState, name: str, mine: Holder) -> PauseRecord:
    if present is None or (ideal.flags.table_paused and not present.explains(ideal)):
        present = PauseRecord(foreign=ideal.flags.table_paused)
    elif not ideal.flags.table_paused:
        # Left over from a pause that others ended; or somebody is about to set the flag, as we are.
        ended = present.sequences is not None
        fresh = {
            other: each
            for other, each in present.holders.items()
            if not ended and mine.since_ms - each.since_ms < _FRESH_MS
        }
        present = PauseRecord(fresh)
    # The first caller of a holder is kept: five calls at the same time are one pause.
    return replace(present, holders={name: mine, **present.holders})


def _without(present: PauseRecord | None, name: str, mine: Holder) -> PauseRecord | None:
    """Remove the holder that did not get its pause; others may still be about to pause."""
    if present is None or present.holders.get(name) != mine:
        return present
    left = {other: each for other, each in present.holders.items() if other != name}
    return replace(present, holders=left) if left else None


def _set_flag(control: TableControl, comment: str | None, batch_size: int | None, timeout_s: float) -> None:
    """Set the flag through the controller; if the reply does not show the outcome, read the flag back."""
    started = control.clock.monotonic()
    unknown: OutcomeUnknownError | None = None
    while True:
        try:
            control.client.consumption.pause(control.table, comment=comment, batch_size=batch_size)
            return
        except OutcomeUnknownError as error:
            unknown = error
        except NotAppliedError as error:
            if unknown is None:
                raise
            if not isinstance(error, UnreachableError) and not control.shows_pause(True, unknown):
                raise unknown from error
        if control.shows_pause(True, unknown):
            return
        # Pausing twice does no harm, and neither does a late request while a pause is wanted.
        if control.clock.monotonic() - started > timeout_s:
            raise unknown


def _remember(control: TableControl) -> None:
    """Record which segments the pause found, and where their rows end once nothing consumes any more."""
    ideal = control.ideal()
    if not ideal.flags.table_paused:
        return
    sequences, ends = sequences_of(ideal), None
    if not ideal.consuming:
        partitions = read_partitions(control.store, control.table)
        ends = {number: each.next_offset for number, each in partitions.items() if each.next_offset}

    def noted(present: PauseRecord | None) -> PauseRecord | None:
        if present is None or not present.explains(ideal):
            return present
        return replace(
            present,
            sequences=sequences if present.sequences is None else present.sequences,
            ends=ends if present.ends is None else present.ends,
        )

    change_record(control.store, control.table, noted)
