"""The layout of the charts on a session's page. ``charts.html`` draws them as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from controller_client.common.bytes_text import bytes_text
from minion_tasks.file_ingestion.report.counts import AttemptFigures, Histogram
from minion_tasks.file_ingestion.report.text import clock_text, seconds_text

__all__ = ["AttemptsChart", "Bar", "HistogramChart", "Panel", "Tick", "attempts_chart", "histogram_chart"]

_MAX_PANELS = 6
_GAP = 14.0


@dataclass(frozen=True)
class Tick:
    """A grid line and its label."""

    text: str
    text_x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class _Chart:
    """Common to all charts: size, bounds of the plot area, and grid lines."""

    label: str
    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    ticks: tuple[Tick, ...]


@dataclass(frozen=True)
class Panel:
    """One attempt; idle time between attempts takes no space.

    Attributes:
        began: When it started, without the date.
        took: How long it took; None if none of its files ended.
        staged_path: The line for staged files.
        failed_path: The line for failed files; None if there are none.
    """

    x: float
    width: float
    title: str
    name: str
    counts: str
    began: str
    took: str | None
    staged_path: str
    failed_path: str | None


@dataclass(frozen=True, kw_only=True)
class AttemptsChart(_Chart):
    """Staged files over time, with a panel for each attempt."""

    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Bar:
    """One bin of sizes; ``low`` is its axis label, which only some bars have."""

    x: float
    width: float
    height: float
    title: str
    low: str | None


@dataclass(frozen=True, kw_only=True)
class HistogramChart(_Chart):
    """Sizes, with a bar for each bin."""

    bars: tuple[Bar, ...]


def attempts_chart(attempts: Sequence[AttemptFigures], files: int) -> AttemptsChart:
    """Chart the staged files over time, with a panel for each of the last attempts."""
    left, right, top, bottom = 64.0, 948.0, 42.0, 244.0
    most = max(1, files)
    shown = attempts[-_MAX_PANELS:]

    def y_of(count: float) -> float:
        return bottom - (bottom - top) * count / most

    before = sum(attempt.staged for attempt in attempts[: -len(shown)])
    panels = []
    for attempt, (x, width, duration_ms) in zip(shown, _places(shown, left, right), strict=True):
        panels.append(_panel(attempt, x, width, duration_ms, before, y_of))
        before += attempt.staged
    return AttemptsChart(
        label=f"{before:,} of {files:,} files staged in {len(attempts)} attempts",
        width=960.0,
        height=270.0,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        ticks=tuple(Tick(f"{count:,}", left - 8, y_of(count)) for count in _ticks(most)),
        panels=tuple(panels),
    )


def _places(
    attempts: Sequence[AttemptFigures], left: float, right: float
) -> Iterable[tuple[float, float, int]]:
    """Yield the position, width and duration in milliseconds of each attempt's panel."""
    # Slightly longer than the attempt, so that the last step is not drawn on the edge.
    durations = [round(1.03 * max(1000, (a.last_ms or a.began_ms) - a.began_ms)) for a in attempts]
    space = right - left - _GAP * (len(attempts) - 1)
    least = space / len(attempts) * 0.55  # room for the labels above
    rest = space - least * len(attempts)
    x = left
    for duration in durations:
        width = least + rest * duration / sum(durations)
        yield x, width, duration
        x += width + _GAP


def _panel(
    attempt: AttemptFigures,
    x: float,
    width: float,
    duration_ms: int,
    before: int,
    y_of: Callable[[float], float],
) -> Panel:
    def path(start: int, steps: Iterable[tuple[int, int]]) -> str:
        pieces = [f"M{x:.1f} {y_of(start):.1f}"]
        for time_ms, count in steps:
            part = min(1.0, max(0.0, (time_ms - attempt.began_ms) / duration_ms))
            pieces.append(f"H{x + width * part:.1f}V{y_of(count):.1f}")
        return "".join([*pieces, f"H{x + width:.1f}"])

    name = f"retry {attempt.number}" if attempt.number else "first attempt"
    counts = f"{attempt.staged:,} staged" + (f", {attempt.failed:,} failed" if attempt.failed else "")
    began = clock_text(attempt.began_ms)
    took_s = (attempt.last_ms - attempt.began_ms) / 1000 if attempt.last_ms is not None else None
    return Panel(
        x=x,
        width=width,
        title=f"{name}, started {began}: {counts}",
        name=name,
        counts=counts,
        began=began[11:19],
        took=f"+{seconds_text(took_s)}" if took_s is not None else None,
        staged_path=path(before, attempt.staged_steps),
        failed_path=path(0, attempt.failed_steps) if attempt.failed_steps else None,
    )


def _ticks(top: int) -> list[int]:
    step = 10 ** math.floor(math.log10(top))
    while top / step < 3 and step > 1:
        step //= 2 if step % 2 == 0 else 5
    while top / step > 6:
        step *= 2
    return list(range(0, top + 1, max(1, step)))


def histogram_chart(found: Histogram, noun: str) -> HistogramChart:
    """Chart a histogram with a bar for each bin."""
    left, right, top, bottom = 50.0, 452.0, 16.0, 160.0
    most = max(count for _, _, count in found.bins)
    step = min(64.0, (right - left) / len(found.bins))
    every = math.ceil(len(found.bins) / 7)

    def height_of(count: int) -> float:
        return (bottom - top) * count / most

    return HistogramChart(
        label=f"Sizes of {noun}: median {bytes_text(found.median)}, largest {bytes_text(found.largest)}",
        width=460.0,
        height=190.0,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        ticks=tuple(Tick(f"{count:,}", left - 6, bottom - height_of(count)) for count in _ticks(most)),
        bars=tuple(
            Bar(
                x=left + number * step,
                width=max(1.0, step - 3),
                # Keeps a bin with a single file visible.
                height=max(height_of(count), 1.5) if count else 0.0,
                title=f"{count:,} {noun} from {bytes_text(low)} to less than {bytes_text(high)}",
                low=bytes_text(low) if number % every == 0 else None,
            )
            for number, (low, high, count) in enumerate(found.bins)
        ),
    )
