"""The layout of the charts on a session's page. ``charts.html`` draws them as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from controller_client.common.charts import Chart, Tick, tick_values
from controller_client.common.text import bytes_text, counted_text
from minion_tasks.file_ingestion.report.counts import AttemptFigures, Histogram, clock_text, seconds_text

__all__ = ["AttemptPanel", "AttemptsChart", "Bar", "HistogramChart", "attempts_chart", "histogram_chart"]

_MAX_PANELS = 6
_GAP = 14.0
# Width of a character: the text of a panel has to fit into it.
_CHARACTER = 6.6
_SIZE = 8 * _CHARACTER
"""Width of the label below a bar, such as ``1023 KiB``."""


@dataclass(frozen=True)
class AttemptPanel:
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
class AttemptsChart(Chart):
    """Staged files over time, with a panel for each attempt."""

    panels: tuple[AttemptPanel, ...]


@dataclass(frozen=True)
class Bar:
    """One bin of sizes; ``low`` is its axis label, which only some bars have."""

    x: float
    width: float
    height: float
    title: str
    low: str | None


@dataclass(frozen=True, kw_only=True)
class HistogramChart(Chart):
    """Sizes, with a bar for each bin."""

    bars: tuple[Bar, ...]


def attempts_chart(
    attempts: Sequence[AttemptFigures], files: int, *, is_narrow: bool = False
) -> AttemptsChart:
    """Chart the staged files over time, with a panel for each of the last attempts.

    Args:
        attempts: All attempts of the session.
        files: Number of files of the session.
        is_narrow: Whether it is for a phone's screen, which has room for fewer attempts.
    """
    width, most = (350.0 if is_narrow else 960.0), max(1, files)
    left, right, top, bottom = _left(most), width - 4, 42.0, 244.0
    shown = attempts[-_fitting(attempts, right - left) :]

    def y_of(count: float) -> float:
        return bottom - (bottom - top) * count / most

    before = sum(attempt.staged for attempt in attempts[: -len(shown)])
    panels = []
    for attempt, (x, panel_width, duration_ms) in zip(shown, _places(shown, left, right), strict=True):
        panels.append(_panel(attempt, x, panel_width, duration_ms, before, y_of))
        before += attempt.staged
    return AttemptsChart(
        label=f"{before:,} of {files:,} files staged in {counted_text(len(attempts), 'attempt')}",
        width=width,
        height=270.0,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        ticks=tuple(Tick(f"{count:,}", left - 8, y_of(count)) for count in tick_values(most)),
        panels=tuple(panels),
    )


def _fitting(attempts: Sequence[AttemptFigures], space: float) -> int:
    """How many of the last attempts have room for their words side by side; at least one."""
    number, used = 0, -_GAP
    for attempt in reversed(attempts[-_MAX_PANELS:]):
        used += _GAP + _room(attempt)
        if used > space:
            break
        number += 1
    return max(1, number)


def _room(attempt: AttemptFigures) -> float:
    """How wide a panel is at least, so that its words fit."""
    below = len(f"00:00:00 {_took(attempt) or ''}")
    return _CHARACTER * max(len(_counts(attempt)), len(_name(attempt)), below) + 12


def _places(
    attempts: Sequence[AttemptFigures], left: float, right: float
) -> Iterable[tuple[float, float, int]]:
    """Yield the position, width and duration in milliseconds of each attempt's panel."""
    # Slightly longer than the attempt, so that the last step is not drawn on the edge.
    durations = [round(1.03 * max(1000, (a.last_ms or a.began_ms) - a.began_ms)) for a in attempts]
    least = [_room(attempt) for attempt in attempts]
    rest = max(0.0, right - left - _GAP * (len(attempts) - 1) - sum(least))
    x = left
    for room, duration in zip(least, durations, strict=True):
        width = min(right - x, room + rest * duration / sum(durations))
        yield x, width, duration
        x += width + _GAP


def _panel(
    attempt: AttemptFigures,
    x: float,
    width: float,
    duration_ms: int,
    before: int,
    y_of: Callable[[float], float],
) -> AttemptPanel:
    def path(start: int, steps: Iterable[tuple[int, int]]) -> str:
        pieces = [f"M{x:.1f} {y_of(start):.1f}"]
        for time_ms, count in steps:
            part = min(1.0, max(0.0, (time_ms - attempt.began_ms) / duration_ms))
            pieces.append(f"H{x + width * part:.1f}V{y_of(count):.1f}")
        return "".join([*pieces, f"H{x + width:.1f}"])

    name, counts, began = _name(attempt), _counts(attempt), clock_text(attempt.began_ms)
    return AttemptPanel(
        x=x,
        width=width,
        title=f"{name}, started {began}: {counts}",
        name=name,
        counts=counts,
        began=began[11:19],
        took=_took(attempt),
        staged_path=path(before, attempt.staged_steps),
        failed_path=path(0, attempt.failed_steps) if attempt.failed_steps else None,
    )


def _name(attempt: AttemptFigures) -> str:
    return f"retry {attempt.number}" if attempt.number else "first attempt"


def _counts(attempt: AttemptFigures) -> str:
    return f"{attempt.staged:,} staged" + (f", {attempt.failed:,} failed" if attempt.failed else "")


def _took(attempt: AttemptFigures) -> str | None:
    if attempt.last_ms is None:
        return None
    return f"+{seconds_text((attempt.last_ms - attempt.began_ms) / 1000)}"


def _left(most: int) -> float:
    """Return the left edge of the plot area, right of the highest grid line's label."""
    return 16 + _CHARACTER * len(f"{most:,}")


def histogram_chart(histogram: Histogram, noun: str, *, is_narrow: bool = False) -> HistogramChart:
    """Chart a histogram with a bar for each bin.

    Args:
        histogram: The bins.
        noun: What is counted, e.g. ``files``.
        is_narrow: Whether it is for a phone's screen.
    """
    width = 350.0 if is_narrow else 460.0
    most = max(count for _, _, count in histogram.bins)
    left, right, top, bottom = _left(most), width - 8, 16.0, 160.0
    step = min(64.0, (right - left) / len(histogram.bins))
    every = math.ceil(len(histogram.bins) / ((right - left) // _SIZE))

    def height_of(count: int) -> float:
        return (bottom - top) * count / most

    def low_of(number: int, low: int) -> str | None:
        fits = number % every == 0 and left + number * step + _SIZE <= width
        return bytes_text(low) if fits else None

    return HistogramChart(
        label=(
            f"Sizes of {noun}: median {bytes_text(histogram.median)}, largest {bytes_text(histogram.largest)}"
        ),
        width=width,
        height=190.0,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        ticks=tuple(Tick(f"{count:,}", left - 6, bottom - height_of(count)) for count in tick_values(most)),
        bars=tuple(
            Bar(
                x=left + number * step,
                width=max(1.0, step - 3),
                # Keeps a bin with a single file visible.
                height=max(height_of(count), 1.5) if count else 0.0,
                title=f"{count:,} {noun} from {bytes_text(low)} to less than {bytes_text(high)}",
                low=low_of(number, low),
            )
            for number, (low, high, count) in enumerate(histogram.bins)
        ),
    )
