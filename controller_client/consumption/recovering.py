"""Consumption that got stuck: recover it, create deleted consuming segments again, start segments afresh.

None of these needs a plan: what is left to do shows in the table's state, so a run that was killed is
finished by the next one.
"""

from __future__ import annotations

from collections.abc import Callable

from controller_client.common.waiting import wait_until
from controller_client.consumption.committing import failed_segments, force_commit
from controller_client.consumption.pause_record import read_record
from controller_client.consumption.pausing import pause
from controller_client.consumption.pinots_pauses import is_topic_paused, refuse_pinots_pause
from controller_client.consumption.resuming import ResumeResult, resume
from controller_client.consumption.status import PartitionState
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConflictError
from controller_client.helix import wake_helix
from controller_client.helix.stream_segments import newest_by_partition

__all__ = ["recover", "recreate", "reset"]

_ASK_AGAIN_S = 20.0
_WAKE_AFTER_S = 10.0
"""A reset takes a second; after so long Helix keeps to what it decided before it."""


def recover(
    control: TableControl,
    *,
    timeout_s: float,
    report: Callable[[str], None],
    reload: bool = False,
    dry_run: bool = False,
) -> ResumeResult:
    """Commit what can be, and consume with new segments, which use the present schema and config.

    Segments of a pauseless table whose servers died before they were built are consumed again first, by
    Pinot's own check, which a resume asks for.

    Args:
        control: The table; paused or not, it consumes afterwards.
        timeout_s: Seconds for each of its waits.
        report: Called with each step before it is done, in the caller's thread.
        reload: Let servers load the committed segments again too, e.g. for a new column.
        dry_run: Report what would be done, and change nothing.

    Raises:
        RejectedError: Pinot itself has paused the table.
        WaitTimeoutError: A segment does not leave ERROR, is not committed, or a partition does not
            start; the error lists which.
        FormatVersionError: A later release wrote who paused the table; nothing was changed.
    """
    refuse_pinots_pause(control.table, control.ideal())
    read_record(control.store, control.table)  # the pause reads it, but that comes after the first changes
    failed, lost = failed_segments(control), _lost_segments(control)
    steps = [f"have Pinot consume {segment} again, which no server has" for segment in lost]
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
    report(f"pause {control.table} and wait until nothing consumes")
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
    """Create consuming segments for partitions that have none, e.g. because they were deleted.

    A partition goes on behind its last committed row; one without any begins at the stream's first.

    Args:
        control: The table.
        timeout_s: Seconds for them to consume.
        report: Called with each step before it is done, in the caller's thread.
        dry_run: Report what would be done, and change nothing.

    Raises:
        ConflictError: The table is paused, so that it has none is right.
        WaitTimeoutError: They do not start; the error lists which.
    """
    if control.ideal().flags.table_paused:
        raise ConflictError(
            f"{control.table} is paused", expected="a table that should consume", remedy="resume it instead"
        )
    stopped = control.status().in_state(PartitionState.STOPPED)
    for each in stopped:
        begin = each.committed_offset or "the stream's first offset"
        report(f"{'would ' if dry_run else ''}create a segment for partition {each.partition} from {begin}")
    if dry_run or not stopped:
        return ResumeResult(changed=False)
    return resume(control, timeout_s=timeout_s)


def reset(
    control: TableControl, *, timeout_s: float, report: Callable[[str], None], dry_run: bool = False
) -> tuple[str, ...]:
    """Begin new consuming segments, with the present schema and config, while every row stays queryable.

    Args:
        control: The table, not paused.
        timeout_s: Seconds for each of its waits.
        report: Called with each step before it is done, in the caller's thread.
        dry_run: Report what would be done, and change nothing.

    Returns:
        The segments that were committed.

    Raises:
        ConflictError: The table is paused, so no new segment would follow.
        WaitTimeoutError: A segment is not committed, or no new one is there; the error lists which.
    """
    ideal = control.ideal()
    if ideal.flags.table_paused:
        raise ConflictError(
            f"{control.table} is paused", expected="a table that consumes", remedy="resume it instead"
        )
    failed = failed_segments(control)
    if dry_run:
        for segment in failed:
            report(f"would reset {segment}, which is in ERROR on every server")
        report(f"would commit {len(ideal.consuming)} segments of {control.table} and begin new ones")
        return ()
    if failed:
        _reset_failed(control, failed, timeout_s, report)
    report(f"commit the {len(ideal.consuming)} consuming segments of {control.table}")
    committed = force_commit(control, timeout_s=timeout_s)
    report("wait until servers consume the next ones")
    wait_until(
        lambda: _unloaded(control),
        what=f"all partitions of {control.table} to consume",
        timeout_s=timeout_s,
        clock=control.clock,
        remedy="run it again; or pinotctl consumption recover",
    )
    return committed


def _lost_segments(control: TableControl) -> list[str]:
    """Return the segments that are to be built, and that every server has in ERROR: their rows are gone."""
    building = [each.segment.name for each in control.committing()]
    view = control.client.tables.external_view(control.table) if building else {}
    return [name for name in building if set(view.get(name, {}).values()) == {"ERROR"}]


def _consume_again(
    control: TableControl, segments: list[str], timeout_s: float, report: Callable[[str], None]
) -> None:
    report(f"have Pinot consume {', '.join(segments)} again")
    asked_s = control.clock.monotonic() - _ASK_AGAIN_S
    wanted = set(segments)

    def missing() -> str | None:
        nonlocal asked_s
        left = [each.segment.name for each in control.committing() if each.segment.name in wanted]
        if left and control.clock.monotonic() - asked_s >= _ASK_AGAIN_S:
            # It has the controller check the table, and that is what consumes such segments again.
            control.client.consumption.resume(control.table)
            asked_s = control.clock.monotonic()
        return f"not built yet: {', '.join(left)}" if left else None

    wait_until(
        missing,
        what=f"segments of {control.table} to be consumed again",
        timeout_s=timeout_s,
        clock=control.clock,
        remedy=(
            "does the stream still have the rows? With dedup or partial upsert Pinot does it only where "
            "ingestionConfig.streamIngestionConfig.disasterRecoveryMode is ALWAYS"
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
        remedy="see the servers' logs for why they cannot consume",
    )


def _unloaded(control: TableControl) -> str | None:
    """List which partitions no server consumes."""
    ideal, loaded = control.ideal(), newest_by_partition(control.servers_consume())
    wanted = {each for each in newest_by_partition(ideal.segments) if not is_topic_paused(ideal, each)}
    left = sorted(wanted - loaded.keys())
    return f"no server consumes the partitions {', '.join(map(str, left))}" if left else None
