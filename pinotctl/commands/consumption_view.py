"""Display of the consumption of tables: a table for people, JSON, and a continuous view."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from controller_client.clock import Clock
from controller_client.common.text import visible
from controller_client.consumption.state.pause_record import Holder
from controller_client.consumption.state.pinots_pauses import pinots_remedy
from controller_client.consumption.state.status import PartitionStatus, TableStatus, note, time_text
from pinotctl.cells import table_lines
from pinotctl.output import Output

__all__ = ["COLUMNS", "as_json", "resume_notes", "rows", "show", "watch"]

COLUMNS = ("table", "partition", "state", "offset", "lag", "segment_since", "servers", "note")


def show(out: Output, statuses: Sequence[TableStatus]) -> None:
    """Write statuses as a table, with the pauses on separate lines, or as JSON."""
    if out.is_json:
        out.json([as_json(status) for status in statuses])
        return
    out.table(COLUMNS, rows(statuses))
    for status in statuses:
        out.note("\n".join(headline(status)))


def headline(status: TableStatus) -> Iterator[str]:
    """Describe a table's state, who paused it, when and why, and what could not be read."""
    yield f"{status.table}: {status.state}"
    for holder in status.holders:
        yield f"  paused {_by(holder)}"
    pinot = status.pinot_pause
    if pinot is not None:
        details = ", ".join(text for text in (pinot.reason_code, pinot.comment, pinot.time_text) if text)
        yield f"  Pinot reports: {details}"
        if pinot.is_pinots_own:
            yield f"  Pinot paused it on its own: {pinots_remedy(pinot)}"
    for index, topic in status.paused_topics.items():
        yield f"  topic {topic} (index {index}) is paused separately"
    if status.foreign:
        yield "  it had already been paused, and who did it is not recorded"
    for each in status.partitions:
        if each.paused_by:
            yield f"  partition {each.partition} paused {_by(each.paused_by)}"
    if status.stream_problem:
        yield f"  {status.stream_problem}"


def rows(statuses: Sequence[TableStatus]) -> list[tuple[Any, ...]]:
    """Return a row for each partition, in the order of the columns."""
    return [
        (
            status.table,
            partition.partition,
            str(partition.state),
            partition.offset or "-",
            "-" if partition.lag is None else partition.lag,
            time_text(partition.segment_created_ms),
            ", ".join(partition.servers),
            note(partition),
        )
        for status in statuses
        for partition in status.partitions
    ]


def as_json(status: TableStatus) -> dict[str, Any]:
    """Return a status as a JSON object."""
    return {
        "table": status.table,
        "state": str(status.state),
        "paused": [vars(holder) for holder in status.holders],
        "paused_by_others_before": status.foreign,
        "pinot_pause": vars(status.pinot_pause) if status.pinot_pause else None,
        "paused_topics": [{"index": index, "topic": topic} for index, topic in status.paused_topics.items()],
        "stream_problem": status.stream_problem,
        "partitions": [_partition_json(partition) for partition in status.partitions],
    }


def resume_notes(seen: TableStatus, consume_from: str) -> Iterator[str]:
    """Describe what a resume would do, and which rows it could not read."""
    pause = seen.pinot_pause
    if pause is not None and pause.is_pinots_own:
        yield f"{seen.table}: {seen.state} by Pinot itself ({pause.reason_code}), so a resume is refused."
        yield f"  {pinots_remedy(pause)}"
        return
    yield f"{seen.table} is {seen.state}; it would be resumed from {consume_from}."
    for index, topic in seen.paused_topics.items():
        yield f"  topic {topic} (index {index}) is paused separately and stays paused"
    for partition in seen.partitions:
        if partition.lost_end:
            yield f"  {partition.lost_end}; the resume asks first"
        if partition.lost:
            yield (
                f"  partition {partition.partition}: the stream has dropped offsets {partition.lost[0]} to "
                f"{partition.lost[1] - 1}; they can no longer be read"
            )
        elif partition.ahead:
            yield (
                f"  partition {partition.partition}: the stream ends at {partition.latest_offset}, before "
                f"the offset to resume from ({partition.offset})"
            )
    if seen.stream_problem:
        yield f"  cannot determine whether rows are lost: {seen.stream_problem}"


def _partition_json(each: PartitionStatus) -> dict[str, Any]:
    paused_by = vars(each.paused_by) if each.paused_by else None
    topic = vars(each.topic_partition) if each.topic_partition else None
    return {**vars(each), "state": str(each.state), "paused_by": paused_by, "topic_partition": topic}


def _by(holder: Holder) -> str:
    why = ": ".join(text for text in (holder.reason, holder.comment) if text)
    return f"by {holder.by} at {time_text(holder.since_ms)}" + (f" ({why})" if why else "")


def watch(
    out: Output, read: Callable[[], list[TableStatus]], clock: Clock, interval_s: float, *, rounds: int | None
) -> None:
    """Show statuses continuously: in place on a terminal, otherwise one line for each change.

    Args:
        out: The output; with JSON, it gets one object on a line for each change of a table.
        read: Reads the statuses; called in this thread.
        clock: Time and sleep.
        interval_s: Seconds between updates.
        rounds: Number of updates; None: until Ctrl-C.
    """
    if sys.stdout.isatty() and not out.is_json:
        _watch_live(read, clock, interval_s, rounds)
        return
    shown: dict[tuple[str, int | None], Any] = {}
    for number in _rounds(rounds):
        if number:
            clock.sleep(interval_s)
        for status in read():
            _report_changes(out, status, shown)


def _report_changes(out: Output, status: TableStatus, shown: dict[tuple[str, int | None], Any]) -> None:
    if out.is_json:
        document = as_json(status)
        if shown.get((status.table, None)) != document:
            shown[status.table, None] = document
            out.json_line(document)
        return
    lines: list[tuple[int | None, str]] = [(None, str(status.state))]
    lines += [
        (each.partition, f"partition {each.partition}: {each.state}, {_position(each)}")
        for each in status.partitions
    ]
    for number, text in lines:
        if shown.get((status.table, number)) != text:
            shown[status.table, number] = text
            out.line(f"{status.table} {text}")


def _watch_live(
    read: Callable[[], list[TableStatus]], clock: Clock, interval_s: float, rounds: int | None
) -> None:
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False) as live:
        for number in _rounds(rounds):
            if number:
                clock.sleep(interval_s)
            statuses = read()
            lines = [
                *table_lines(COLUMNS, rows(statuses), width=live.console.width),
                *(visible(line) for status in statuses for line in headline(status)),
            ]
            live.update(Text("\n".join(lines)), refresh=True)


def _rounds(rounds: int | None) -> Iterator[int]:
    number = 0
    while rounds is None or number < rounds:
        yield number
        number += 1


def _position(each: PartitionStatus) -> str:
    lag = "" if each.lag is None else f", {each.lag} behind"
    found = note(each)
    return f"offset {each.offset or '-'}{lag}" + (f" ({found})" if found else "")
