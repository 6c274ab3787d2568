"""Consume a finite stream to its end, and pause the table there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller_client.common.parsing import whole_number
from controller_client.common.waiting import wait_until
from controller_client.consumption.pauses.offsets import check_partitions
from controller_client.consumption.pauses.pausing import pause
from controller_client.consumption.pauses.resuming import resume
from controller_client.consumption.recipes.plan import begin, drop, in_progress, save
from controller_client.consumption.state.pinots_pauses import (
    is_topic_paused,
    refuse_pinots_pause,
    topic_remedy,
)
from controller_client.consumption.state.status import TableStatus
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConflictError
from controller_client.helix.stream_segments import read_partitions
from controller_client.stream.topics import topic_index

__all__ = ["RECIPE", "drain"]

RECIPE = "drain"


def drain(
    control: TableControl,
    *,
    until: Mapping[int, int] | None,
    timeout_s: float,
    report: Callable[[str], None],
    dry_run: bool = False,
) -> dict[int, int]:
    """Pause a table once it has consumed its stream up to the current end.

    The table may also get rows that arrive meanwhile, but never fewer. The end offsets are recorded in the
    plan, so a second run uses those of the first.

    Args:
        control: The table.
        until: The offset to reach in each partition; None: the stream's current end offsets, which are read
            from the stream.
        timeout_s: Seconds for the offsets to be reached, and again for the pause.
        report: Called with each step before it is taken, in the caller's thread.
        dry_run: Report what would be done, and change nothing.

    Returns:
        The offsets to reach, by partition.

    Raises:
        StreamUnknownError: No end offsets were given, and they cannot be read from the stream; or its offsets
            are not numbers.
        ConflictError: Another recipe is in progress, or a topic is paused separately.
        RejectedError: Pinot itself has paused the table, or it has no such partition.
        WaitTimeoutError: The offsets were not reached; the error lists the position of each partition. Run it
            again to keep waiting.
    """
    check_partitions(control, read_partitions(control.store, control.table), until or ())
    plan = in_progress(control, RECIPE)
    if plan is None:
        end_offsets = (
            dict(until) if until is not None else {n: each.latest for n, each in control.stream().items()}
        )
    else:
        report(f"continue the recipe that {plan.by} started")
        end_offsets = {int(number): offset for number, offset in plan.data["ends"].items()}
    _check_consumes(control, end_offsets)
    where = ", ".join(f"{number}={offset}" for number, offset in sorted(end_offsets.items()))
    if dry_run:
        report(f"would wait until {control.table} has consumed up to the offsets {where}, and pause it")
        return end_offsets
    report(f"record the end offsets: {where}")
    plan = begin(control, RECIPE, {"ends": {str(number): offset for number, offset in end_offsets.items()}})
    while True:
        if not control.ideal().flags.table_paused:
            report("wait until these offsets are reached")
            _wait_read(control, end_offsets, timeout_s)
        report(f"pause {control.table}")
        plan = save(control, plan, step="pause")
        pause(control, reason="drained", timeout_s=timeout_s)
        left = _uncommitted(control, end_offsets)
        if not left:
            break
        # The table was already paused, or the replica that committed was behind.
        report(f"not everything is committed ({left}): resume once more")
        resume(control, timeout_s=timeout_s)
    report("done: delete the recipe's record; the table stays paused")
    drop(control)
    return end_offsets


def _check_consumes(control: TableControl, end_offsets: Mapping[int, int]) -> None:
    ideal = control.ideal()
    refuse_pinots_pause(control.table, ideal)
    topics = {topic_index(number) for number in end_offsets if is_topic_paused(ideal, number)}
    if topics:
        raise ConflictError(
            f"topics of {control.table} are paused separately and would never be read to their end",
            where=control.table,
            remedy=f"omit their partitions with --until, or {topic_remedy(control.table, topics)}",
        )


def _wait_read(control: TableControl, end_offsets: Mapping[int, int], timeout_s: float) -> None:
    def missing() -> str | None:
        status = control.status()
        left = [
            f"partition {number} at {_offset(status, number)} of {end}"
            for number, end in sorted(end_offsets.items())
            if _offset(status, number) < end
        ]
        return ", ".join(left) or None

    wait_until(
        missing,
        what=f"{control.table} to consume its stream",
        timeout_s=timeout_s,
        clock=control.clock,
        remedy=(
            "run it again to keep waiting; if the stream's last offsets contain no rows (transaction "
            "markers), pass --until"
        ),
    )


def _offset(status: TableStatus, number: int) -> int:
    offset = next((each.offset for each in status.partitions if each.partition == number), None)
    return whole_number(offset) or 0


def _uncommitted(control: TableControl, end_offsets: Mapping[int, int]) -> str:
    partitions = read_partitions(control.store, control.table)
    committed = {number: whole_number(each.committed_offset) or 0 for number, each in partitions.items()}
    return ", ".join(
        f"partition {number} at {committed.get(number, 0)} of {end}"
        for number, end in sorted(end_offsets.items())
        if committed.get(number, 0) < end
    )
