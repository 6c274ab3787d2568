"""The page of ``pinotctl consumption status``: lag over time, pauses, partitions."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from controller_client.common.console import Console
from controller_client.common.new_file import write_page
from controller_client.common.pages import Cell, PageColumn, PageStep, Table, page_templates
from controller_client.common.text import counted_text
from controller_client.consumption.state.lag_history import LagHistory, Pause
from controller_client.consumption.state.next_steps import next_steps
from controller_client.consumption.state.status import (
    PartitionStatus,
    TableState,
    TableStatus,
    note,
    time_text,
)
from pinotctl.pages.lag_chart import lag_chart

__all__ = ["ConsumptionPage"]

_ROWS_SHOWN = 2_000
_CHARTS_SHOWN = 20
_STEPS_SHOWN = 20
_BAD = (TableState.INCOMPLETE, TableState.DISABLED)
_UNPAUSED = (TableState.CONSUMING, TableState.INCOMPLETE)


class ConsumptionPage:
    """Writes the page at each reading; at the end of a watch once more, as one that has ended.

    Args:
        file: Where to.
        console: Where tables, segments and servers are linked to.
        interval_s: Seconds between two readings of a watch; None: there is one reading.
    """

    def __init__(self, file: Path, console: Console, interval_s: float | None = None) -> None:
        self._file, self._console, self._interval_s = file, console, interval_s
        self._template = page_templates("pinotctl.pages").get_template("consumption.html")
        self._history = LagHistory()
        self._last: tuple[Sequence[TableStatus], int] | None = None

    def show(self, statuses: Sequence[TableStatus], now_ms: int) -> None:
        """Write what was read at a moment, epoch milliseconds, after what was read before.

        Raises:
            ConfigError: The file cannot be written.
        """
        self._history.add(statuses, now_ms)
        write_page(self._file, self.text(statuses, now_ms, is_watching=self._interval_s is not None))
        self._last = statuses, now_ms

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._interval_s is not None and self._last is not None:
            write_page(self._file, self.text(*self._last, is_watching=False))

    def text(self, statuses: Sequence[TableStatus], now_ms: int, *, is_watching: bool) -> str:
        """Return the page.

        Args:
            statuses: The newest reading, which the history has already.
            now_ms: When it was read, epoch milliseconds.
            is_watching: Whether the page will be written again; the browser then reloads it automatically.
        """
        charts = [
            (status, drawn)
            for status in sorted(statuses, key=_lag, reverse=True)[:_CHARTS_SHOWN]
            if (drawn := self._charts(status))
        ]
        steps = _steps(statuses, self._interval_s is not None)
        partitions = [(status, partition) for status in statuses for partition in status.partitions]
        return self._template.render(
            title=statuses[0].table if len(statuses) == 1 else "Consumption",
            table_href=self._console.table(statuses[0].table) if len(statuses) == 1 else None,
            state=_state(statuses),
            style=_style(statuses),
            summary=_summary(statuses),
            refresh_s=max(2, round(self._interval_s or 0)) if is_watching else None,
            interval_s=self._interval_s,
            tiles=_tiles(statuses),
            steps=steps[:_STEPS_SHOWN],
            more_steps=len(steps) - _STEPS_SHOWN,
            charts=charts,
            has_lag=any(partition.lag is not None for _, partition in partitions),
            more_charts=max(0, len(statuses) - _CHARTS_SHOWN) if charts else 0,
            pauses=_pauses(self._history.pauses(), self._console),
            is_paused=any(pause.ended_ms is None for pause in self._history.pauses()),
            partitions=_partitions(partitions[:_ROWS_SHOWN], self._console),
            left_out=len(partitions) - _ROWS_SHOWN,
            now=time_text(now_ms),
        )

    def _charts(self, status: TableStatus) -> list[tuple[str, object]]:
        readings = self._history.readings(status.table)
        drawn = [(name, lag_chart(readings, is_narrow=name == "slim")) for name in ("wide", "slim")]
        return [(name, chart) for name, chart in drawn if chart is not None]


def _lag(status: TableStatus) -> int:
    return sum(each.lag or 0 for each in status.partitions)


def _state(statuses: Sequence[TableStatus]) -> str:
    states = {status.state for status in statuses}
    return str(states.pop()) if len(states) == 1 else "no table" if not states else "mixed"


def _style(statuses: Sequence[TableStatus]) -> str:
    states = {status.state for status in statuses}
    return "over" if states & set(_BAD) else "done" if states == {TableState.CONSUMING} else "open"


def _summary(statuses: Sequence[TableStatus]) -> str:
    if not statuses:
        return "There is no realtime table."
    partitions = sum(len(status.partitions) for status in statuses)
    counts = f"{counted_text(len(statuses), 'table')}, {counted_text(partitions, 'partition')}"
    unknown = sum(each.lag is None for status in statuses for each in status.partitions)
    if unknown == partitions:
        return f"{counts}. The lag is not known."
    behind = f"{counted_text(sum(map(_lag, statuses)), 'row')} not read yet"
    return f"{counts}: {behind}." + (f" The lag of {unknown:,} is not known." if unknown else "")


def _tiles(statuses: Sequence[TableStatus]) -> list[tuple[str, str]]:
    partitions = [each for status in statuses for each in status.partitions]
    lags = [each.lag for each in partitions if each.lag is not None]
    paused = sum(status.state not in (*_UNPAUSED, TableState.DISABLED) for status in statuses)
    return [
        (f"{len(partitions):,}", "partitions"),
        (f"{sum(lags):,}" if lags else "-", "rows behind"),
        (f"{max(lags):,}" if lags else "-", "largest lag"),
        (f"{paused:,} of {len(statuses):,}", "tables paused"),
    ]


def _steps(statuses: Sequence[TableStatus], is_watch: bool) -> list[PageStep]:
    steps = [step for status in statuses for step in next_steps(status)]
    if steps or not statuses:
        return steps or [PageStep("Create a realtime table first.", ("pinotctl table create table.json",))]
    names = " ".join(shlex.quote(status.table) for status in statuses) if len(statuses) < 6 else ""
    text = "Nothing: every partition consumes."
    if is_watch:
        return [PageStep(text)]
    command = f"pinotctl consumption status {names}".rstrip()
    return [PageStep(f"{text} Watch the lag over time.", (f"{command} --watch --html consumption.html",))]


def _pauses(pauses: Sequence[Pause], console: Console) -> Table:
    return Table(
        [
            *(PageColumn("table"), PageColumn("what"), PageColumn("who"), PageColumn("since", is_short=True)),
            *(PageColumn("why"), PageColumn("until", is_short=True)),
        ],
        [
            (
                Cell(pause.table, console.table(pause.table)),
                pause.what,
                pause.by or "not recorded",
                time_text(pause.since_ms)
                if pause.since_ms is not None
                else pause.since_text or "not recorded",
                pause.reason or "not recorded",
                "now" if pause.ended_ms is None else time_text(pause.ended_ms),
            )
            for pause in pauses
        ],
    )


def _partitions(partitions: Sequence[tuple[TableStatus, PartitionStatus]], console: Console) -> Table:
    most = max((partition.lag or 0 for _, partition in partitions), default=0)
    # Of a single table the page's title has the name.
    several = len({status.table for status, _ in partitions}) > 1
    return Table(
        [
            *([PageColumn("table")] if several else []),
            *(PageColumn("partition", is_number=True), PageColumn("state", is_short=True)),
            *(PageColumn("offset", is_number=True), PageColumn("lag", is_number=True), PageColumn("segment")),
            *(PageColumn("segment since", is_short=True), PageColumn("servers"), PageColumn("note")),
        ],
        [
            (
                *([Cell(status.table, console.table(status.table))] if several else []),
                str(partition.partition),
                str(partition.state),
                partition.offset or "-",
                _lag_cell(partition.lag, most),
                Cell(partition.segment, console.segment(status.table, partition.segment))
                if partition.segment
                else "",
                time_text(partition.segment_created_ms),
                ", ".join(partition.servers),
                note(partition),
            )
            for status, partition in partitions
        ],
    )


def _lag_cell(lag: int | None, most: int) -> Cell:
    if lag is None:
        return Cell("-")
    return Cell(f"{lag:,}", percent=round(100 * lag / most) if most else None)
