"""A finite stream read to its end, and the table paused there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller_client.common.waiting import wait_until
from controller_client.consumption.pausing import pause
from controller_client.consumption.pinots_pauses import is_topic_paused, refuse_pinots_pause, topic_remedy
from controller_client.consumption.plan import begin, drop, save, under_way
from controller_client.consumption.resuming import resume
from controller_client.consumption.status import TableStatus
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
    """Pause a table when it has read what its stream holds now.

    The table may have some rows more, that came meanwhile; never less. The end offsets are noted in the plan,
    so a second run uses those of the first.

    Args:
        control: The table.
        until: The offset of each partition to wait for; None: the present end offsets of the stream,
            which are read from it.
        timeout_s: Seconds for the offsets to be reached, and again for the pause.
        report: Called with each step before it is done, in the caller's thread.
        dry_run: Report what would be done, and change nothing.

    Returns:
        The offsets that were waited for, by partition.

    Raises:
        StreamUnknownError: The end offsets are not given and cannot be read from the stream.
        ConflictError: Another recipe is under way, or a topic is paused by itself.
        RejectedError: Pinot itself has paused the table.
        WaitTimeoutError: They were not reached; the error lists how far each partition is. Run it again
            to keep waiting.
    """
    plan = under_way(control, RECIPE)
    if plan is None:
        end_offsets = (
            dict(until) if until is not None else {n: each.latest for n, each in control.stream().items()}
        )
    else:
        report(f"resume the recipe that {plan.by} began")
        end_offsets = {int(number): offset for number, offset in plan.data["ends"].items()}
    _check_consumes(control, end_offsets)
    where = ", ".join(f"{number}={offset}" for number, offset in sorted(end_offsets.items()))
    if dry_run:
        report(f"would wait until {control.table} has read up to the offsets {where}, and pause it")
        return end_offsets
    report(f"record the end offsets: {where}")
    plan = begin(control, RECIPE, {"ends": {str(number): offset for number, offset in end_offsets.items()}})
    while True:
        if not control.ideal().flags.table_paused:
            report("wait until they are read")
            _wait_read(control, end_offsets, timeout_s)
        report(f"pause {control.table}")
        plan = save(control, plan, step="pause")
        pause(control, reason="drained", timeout_s=timeout_s)
        left = _uncommitted(control, end_offsets)
        if not left:
            break
        # A table that was paused before; or a replica that was behind has committed.
        report(f"not all of it is committed ({left}): resume once more")
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
            f"topics of {control.table} are paused by themselves, and would never be read to their end",
            where=control.table,
            remedy=f"leave their partitions out with --until, or {topic_remedy(control.table, topics)}",
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
        what=f"{control.table} to read its stream",
        timeout_s=timeout_s,
        clock=control.clock,
        remedy=(
            "run it again to keep waiting; a stream whose last offsets hold no rows (markers of "
            "transactions) needs --until"
        ),
    )


def _offset(status: TableStatus, number: int) -> int:
    offset = next((each.offset for each in status.partitions if each.partition == number), None)
    return int(offset) if offset and offset.isdigit() else 0


def _uncommitted(control: TableControl, end_offsets: Mapping[int, int]) -> str:
    partitions = read_partitions(control.store, control.table)
    committed = {number: int(each.committed_offset or 0) for number, each in partitions.items()}
    return ", ".join(
        f"partition {number} at {committed.get(number, 0)} of {end}"
        for number, end in sorted(end_offsets.items())
        if committed.get(number, 0) < end
    )
