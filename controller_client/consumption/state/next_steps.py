"""What to do about the consumption of a table, with the commands. Pure: no IO."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from controller_client.common.pages import PageStep
from controller_client.common.text import counted_text
from controller_client.consumption.state.pinots_pauses import pinots_remedy, topic_resume_path
from controller_client.consumption.state.status import (
    PartitionState,
    PartitionStatus,
    TableState,
    TableStatus,
)

__all__ = ["next_steps"]

_NAMED = 10


def next_steps(status: TableStatus) -> list[PageStep]:
    """Describe what to do, the most urgent first; empty where the table consumes and nothing is wrong."""
    if status.state is TableState.DISABLED:
        text = f"{status.table} is disabled, so it does not consume. Enable it."
        return [PageStep(text, (f"pinotctl table enable {shlex.quote(status.table)}",))]
    return [*_faults(status), *_pauses(status), *_unknown(status)]


def _faults(status: TableStatus) -> Iterator[PageStep]:
    table, quoted = status.table, shlex.quote(status.table)
    if lost := [partition for partition in status.partitions if partition.lost]:
        rows = sum(partition.lost[1] - partition.lost[0] for partition in lost if partition.lost)
        yield PageStep(
            f"{table}: the stream has dropped {counted_text(rows, 'offset')} of {_numbers(lost)} before "
            "they were read. Raise the topic's retention, and load these rows from their original source. "
            "The JSON has the offsets.",
            (f"pinotctl consumption status {quoted} --output json",),
        )
    if ahead := [partition for partition in status.partitions if partition.ahead]:
        yield PageStep(
            f"{table}: the stream ends before the offsets of {_numbers(ahead)}, so the topic was deleted and "
            "created again. Pause the table, then resume it at the topic's first row.",
            (
                f"pinotctl consumption pause {quoted}",
                f"pinotctl consumption resume {quoted} --consume-from smallest",
            ),
        )
    if gone := [partition for partition in status.partitions if partition.lost_end]:
        yield PageStep(
            f"{table}: the newest segments of {_numbers(gone)} are gone, so rows would be read again. Decide "
            "where to resume.",
            (f"pinotctl consumption resume {quoted} --dry-run",),
        )
    failed = status.in_state(PartitionState.FAILED)
    unbuilt = tuple(partition for partition in status.partitions if partition.building)
    if failed or unbuilt:
        what = [f"{_numbers(failed)} {_has(failed)} failed on every server"] if failed else []
        what += [f"segments of {_numbers(unbuilt)} are fully consumed but not built yet"] if unbuilt else []
        command = f"pinotctl consumption recover {quoted}"
        found = ", and ".join(what)
        text = f"{table}: {found}. Check what a recovery would do; if the problem persists, recover."
        yield PageStep(text, (f"{command} --dry-run", command))
    if stopped := status.in_state(PartitionState.STOPPED):
        command = f"pinotctl consumption recreate {quoted}"
        text = f"{table}: {_numbers(stopped)} {_has(stopped)} no consuming segment. Create it."
        yield PageStep(text, (f"{command} --dry-run", command))
    passing = status.in_state(PartitionState.STARTING, PartitionState.COMMITTING)
    if passing and status.state is TableState.INCOMPLETE:
        text = (
            f"{table}: {_numbers(passing)} {_is(passing)} starting or committing. That usually takes "
            "seconds. Watch it, and recover the table if it takes more than ten minutes."
        )
        command = f"pinotctl consumption recover {quoted} --dry-run"
        yield PageStep(text, (f"pinotctl consumption status {quoted} --watch", command))


def _pauses(status: TableStatus) -> Iterator[PageStep]:
    table, quoted = status.table, shlex.quote(status.table)
    pause = status.pinot_pause
    resume = f"pinotctl consumption resume {quoted}"
    if pause is not None and pause.is_pinots_own:
        remedy = pinots_remedy(pause)
        text = f"{table}: Pinot itself has paused it ({pause.reason_code}): {remedy}. Then watch it resume."
        yield PageStep(text, (f"pinotctl consumption status {quoted} --watch",))
    elif status.state is TableState.PAUSING:
        text = f"{table} is being paused, and something still consumes. Wait for the pause to finish."
        yield PageStep(text, (f"pinotctl consumption pause {quoted}",))
    elif status.state is TableState.PAUSED:
        text = (
            f"{table} is paused. Once there is no more reason for it, check what a resume would do and "
            "whether rows would be missing, then resume."
        )
        yield PageStep(text, (f"{resume} --dry-run", resume))
    if single := status.in_state(PartitionState.PARTITION_PAUSED, PartitionState.PARTITION_PAUSING):
        options = " ".join(f"--partition {each.partition}" for each in single)
        text = f"{table}: only {_numbers(single)} {_is(single)} paused. Resume when ready."
        yield PageStep(text, (f"{resume} {options}",))
    if status.paused_topics:
        names = ", ".join(status.paused_topics.values())
        path = topic_resume_path(table, status.paused_topics)
        text = (
            f"{table}: the topic {names} is paused separately from the table. Resume it at the controller, "
            "with the credentials that it requires."
        )
        yield PageStep(text, (f'curl -X POST "$PINOT_CONTROLLER_URL"{shlex.quote(path)}',))


def _unknown(status: TableStatus) -> Iterator[PageStep]:
    if status.stream_problem:
        text = (
            f"{status.table}: the stream could not be read, so lag and lost rows may be missing here: "
            f"{status.stream_problem}. Run the command on a machine that reaches the stream."
        )
        yield PageStep(text, (f"pinotctl consumption status {shlex.quote(status.table)}",))


def _numbers(partitions: Iterable[PartitionStatus]) -> str:
    numbers = [str(each.partition) for each in partitions]
    shown = ", ".join(numbers[:_NAMED]) + (", ..." if len(numbers) > _NAMED else "")
    return f"partition {shown}" if len(numbers) == 1 else f"partitions {shown}"


def _is(partitions: tuple[PartitionStatus, ...]) -> str:
    return "is" if len(partitions) == 1 else "are"


def _has(partitions: tuple[PartitionStatus, ...]) -> str:
    return "has" if len(partitions) == 1 else "have"
