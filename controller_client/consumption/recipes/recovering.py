"""Stuck consumption: recover it, recreate deleted consuming segments, start new segments.

None of these recipes needs a plan: the table's state shows what is left to do, so the next run finishes one
that was killed.
"""

from __future__ import annotations

from collections.abc import Callable

from controller_client.common.text import counted_text
from controller_client.common.waiting import wait_until
from controller_client.consumption.pauses.committing import failed_segments, force_commit
from controller_client.consumption.pauses.pausing import pause
from controller_client.consumption.pauses.resuming import ResumeResult, resume
from controller_client.consumption.state.lost_ends import partitions_left_out
from controller_client.consumption.state.pause_record import read_record
from controller_client.consumption.state.pinots_pauses import is_topic_paused, refuse_pinots_pause
from controller_client.consumption.state.status import PartitionState
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConflictError
from controller_client.helix import wake_helix
from controller_client.helix.stream_segments import newest_by_partition, read_partitions

__all__ = ["recover", "recreate", "reset"]

_RETRY_S = 20.0
_WAKE_AFTER_S = 10.0
"""A reset takes a second; if it takes this long, Helix is keeping a decision from before the reset."""


def recover(
    control: TableControl,
    *,
    timeout_s: float,
    report: Callable[[str], None],
    reload: bool = False,
    dry_run: bool = False,
) -> ResumeResult:
    """Commit what can be committed, and consume into new segments with the current schema and config.

    If servers of a pauseless table died before its segments were built, Pinot's own check first consumes
    these segments again; a resume triggers that check.

    Args:
        control: The table; whether it was paused or not, it consumes afterwards.
        timeout_s: Seconds for each wait.
        report: Called with each step before it is taken, in the caller's thread.
        reload: Reload the committed segments too, e.g. for a new column.
        dry_run: Report what would be done, and change nothing.

    Raises:
        RejectedError: Pinot itself has paused the table.
        WaitTimeoutError: A segment does not leave ERROR, a segment is not committed, or a partition does not
            start; the error lists which.
        FormatVersionError: A later release wrote the record of who paused the table; nothing was changed.
    """
    refuse_pinots_pause(control.table, control.ideal())
    read_record(control.store, control.table)  # the pause reads it too, but only after the first changes
    failed, lost = failed_segments(control), _lost_segments(control)
    steps = [f"have Pinot consume {segment} again, because no server has it" for segment in lost]
    steps += [f"reset {segment}, which is in ERROR on every server" for segment in failed]
    steps += [f"pause {control.table}", "resume it"] + (["reload the committed segments"] if reload else [])
    if dry_run:
        for step in steps:
            report(f"would {step}")
        return ResumeResult(changed=False)
    if lost:
        _consume_again(control, lost, timeout_s, report)
    if failed:
        _reset_failed(control, failed, timeout_s, report)
    report(f"pause {control.table} and wait until no server consumes it")
    pause(control, reason="recover", timeout_s=timeout_s)
    report("resume and wait until every partition consumes")
    result = resume(control, timeout_s=timeout_s)
    if reload:
        report("reload the committed segments")
        control.client.segments.reload(control.table)
    return result


def recreate(
    control: TableControl, *, timeout_s: float, report: Callable[[str], None], dry_run: bool = False
) -> ResumeResult:
    """Create consuming segments for partitions that have none, e.g. because the segments were deleted.

    A partition continues after its last committed row; one without committed rows starts at the stream's
    first row. If all segments of a partition are gone, Pinot may not start it while the table consumes: then
    the table is paused and resumed.

    Args:
        control: The table.
        timeout_s: Seconds for each wait.
        report: Called with each step before it is taken, in the caller's thread.
        dry_run: Report what would be done, and change nothing.

    Raises:
        ConflictError: The table is paused, so it should not have consuming segments.
        WaitTimeoutError: Partitions do not start; the error lists which.
    """
    if control.ideal().flags.table_paused:
        raise ConflictError(
            f"{control.table} is paused", expected="a table that is not paused", remedy="resume it instead"
        )
    stopped = control.status().in_state(PartitionState.STOPPED)
    if not stopped:
        return ResumeResult(changed=False)
    stream, _problem = control.stream_or_problem()
    partitions = read_partitions(control.store, control.table)
    left_out = partitions_left_out(control.ideal(), partitions, stream)
    would = "would " if dry_run else ""
    if left_out:
        report(f"{would}pause {control.table}, and resume it with the segments that follow")
    for each in stopped:
        begin = each.committed_offset or "the stream's first offset"
        report(f"{would}create a segment for partition {each.partition} from {begin}")
    if dry_run:
        return ResumeResult(changed=False)
    if not left_out:
        return resume(control, timeout_s=timeout_s)
    pause(control, reason="recreate", timeout_s=timeout_s)
    offsets = {number: stream[number].earliest for number in left_out}
    return resume(control, consume_from=offsets, timeout_s=timeout_s)


def reset(
    control: TableControl, *, timeout_s: float, report: Callable[[str], None], dry_run: bool = False
) -> tuple[str, ...]:
    """Start new consuming segments with the current schema and config; every row stays queryable.

    Args:
        control: The table; it must not be paused.
        timeout_s: Seconds for each wait.
        report: Called with each step before it is taken, in the caller's thread.
        dry_run: Report what would be done, and change nothing.

    Returns:
        The segments that were committed.

    Raises:
        ConflictError: The table is paused, so no new segments would follow.
        WaitTimeoutError: A segment was not committed, or no new one started; the error lists which.
    """
    ideal = control.ideal()
    if ideal.flags.table_paused:
        raise ConflictError(
            f"{control.table} is paused", expected="a table that is consuming", remedy="resume it instead"
        )
    failed = failed_segments(control)
    if dry_run:
        for segment in failed:
            report(f"would reset {segment}, which is in ERROR on every server")
        count = counted_text(len(ideal.consuming), "segment")
        report(f"would commit {count} of {control.table} and start new ones")
        return ()
    if failed:
        _reset_failed(control, failed, timeout_s, report)
    report(f"commit {counted_text(len(ideal.consuming), 'consuming segment')} of {control.table}")
    committed = force_commit(control, timeout_s=timeout_s)
    report("wait until servers consume the new segments")
    wait_until(
        lambda: _unloaded(control),
        what=f"all partitions of {control.table} to consume",
        timeout_s=timeout_s,
        clock=control.clock,
        remedy="run it again, or run: pinotctl consumption recover",
    )
    return committed


def _lost_segments(control: TableControl) -> list[str]:
    """Return the unbuilt segments that are in ERROR on every server: no server has their rows any more."""
    building = [each.segment.name for each in control.committing()]
    view = control.client.tables.external_view(control.table) if building else {}
    return [name for name in building if set(view.get(name, {}).values()) == {"ERROR"}]


def _consume_again(
    control: TableControl, segments: list[str], timeout_s: float, report: Callable[[str], None]
) -> None:
    report(f"have Pinot consume {', '.join(segments)} again")
    requested_s = control.clock.monotonic() - _RETRY_S
    names = set(segments)

    def missing() -> str | None:
        nonlocal requested_s
        left = [each.segment.name for each in control.committing() if each.segment.name in names]
        if left and control.clock.monotonic() - requested_s >= _RETRY_S:
            # A resume makes the controller check the table, and this check consumes such segments again.
            control.client.consumption.resume(control.table)
            requested_s = control.clock.monotonic()
        return f"not yet built: {', '.join(left)}" if left else None

    wait_until(
        missing,
        what=f"segments of {control.table} to be consumed again",
        timeout_s=timeout_s,
        clock=control.clock,
        remedy=(
            "check whether the stream still has the rows; with dedup or partial upsert, Pinot does this only "
            "if ingestionConfig.streamIngestionConfig.disasterRecoveryMode is ALWAYS"
        ),
    )


def _reset_failed(
    control: TableControl, segments: list[str], timeout_s: float, report: Callable[[str], None]
) -> None:
    for segment in segments:
        report(f"reset {segment}")
        control.client.segments.reset(control.table, segment)

    wake_s = control.clock.monotonic() + _WAKE_AFTER_S

    def missing() -> str | None:
        nonlocal wake_s
        left = failed_segments(control)
        seen = f"still in ERROR: {', '.join(left)}" if left else _unloaded(control)
        if seen and control.clock.monotonic() >= wake_s:
            wake_helix(control.store, control.table)
            wake_s = control.clock.monotonic() + _WAKE_AFTER_S
        return seen

    wait_until(
        missing,
        what=f"segments of {control.table} to leave ERROR",
        timeout_s=timeout_s,
        clock=control.clock,
        remedy="see the servers' logs for the reason why they cannot consume",
    )


def _unloaded(control: TableControl) -> str | None:
    """List the partitions that no server consumes."""
    ideal, loaded = control.ideal(), newest_by_partition(control.servers_consume())
    wanted = {each for each in newest_by_partition(ideal.segments) if not is_topic_paused(ideal, each)}
    left = sorted(wanted - loaded.keys())
    return f"no server consumes the partitions {', '.join(map(str, left))}" if left else None
