"""The chart of lag over time: where its curves go. ``consumption.html`` draws it, as inline SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from controller_client.common.charts import Chart, Tick, tick_values
from controller_client.common.text import counted_text
from controller_client.consumption.state.lag_history import Reading

__all__ = ["Band", "Curve", "LagChart", "Mark", "lag_chart"]

_CURVES = 6
_CHARACTER = 6.6


@dataclass(frozen=True)
class Curve:
    """The curve of a partition, or of the greatest lag among those that have none of their own.

    Attributes:
        style: Its class in the page's style.
        path: Where it goes; with gaps where the lag was not known.
        name: Of what it is.
        last: The newest lag.
    """

    style: str
    path: str
    name: str
    last: str


@dataclass(frozen=True)
class Band:
    """A time in which the table was paused."""

    x: float
    width: float


@dataclass(frozen=True)
class Mark:
    """A time below the chart; ``style`` defines which end of the text is at ``x``."""

    x: float
    text: str
    style: str


@dataclass(frozen=True, kw_only=True)
class LagChart(Chart):
    """Lag by partition over time."""

    curves: tuple[Curve, ...]
    bands: tuple[Band, ...]
    marks: tuple[Mark, ...]


def lag_chart(readings: Sequence[Reading], *, is_narrow: bool = False) -> LagChart | None:
    """Chart the lag of a table's partitions; None where there is no curve yet.

    The partitions with the greatest lag have a curve each, the others one together.

    Args:
        readings: Of the table, oldest first.
        is_narrow: Whether it is for the screen of a telephone.
    """
    peaks: dict[int, int] = {}
    for reading in readings:
        for number, lag in reading.lags.items():
            peaks[number] = max(lag, peaks.get(number, 0))
    if len(readings) < 2 or not peaks:
        return None
    most = max(1, *peaks.values())
    width, top, bottom = (350.0 if is_narrow else 960.0), 12.0, 220.0
    left, right = 16 + _CHARACTER * len(f"{most:,}"), width - 6
    began_ms, ended_ms = readings[0].time_ms, readings[-1].time_ms
    took_ms = max(1, ended_ms - began_ms)

    def x_of(time_ms: int) -> float:
        return left + (right - left) * (time_ms - began_ms) / took_ms

    def y_of(lag: float) -> float:
        return bottom - (bottom - top) * lag / most

    def path(lags: Sequence[int | None]) -> str:
        pieces, is_drawn = [], False
        for reading, lag in zip(readings, lags, strict=True):
            if lag is not None:
                # A single point between two gaps is a short line: else it would not be seen.
                verb = f"L{x_of(reading.time_ms):.1f}" if is_drawn else f"M{x_of(reading.time_ms):.1f}"
                pieces.append(f"{verb} {y_of(lag):.1f}" + ("" if is_drawn else "h.1"))
            is_drawn = lag is not None
        return "".join(pieces)

    return LagChart(
        label=(
            f"Lag of {counted_text(len(peaks), 'partition')} from {_clock(began_ms)} to {_clock(ended_ms)}: "
            f"at most {counted_text(max(peaks.values()), 'row')}"
        ),
        width=width,
        height=246.0,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        ticks=tuple(Tick(f"{lag:,}", left - 8, y_of(lag)) for lag in tick_values(most)),
        curves=tuple(
            Curve(style, path(lags), name, "-" if lags[-1] is None else f"{lags[-1]:,}")
            for style, name, lags in _series(readings, peaks)
        ),
        bands=tuple(Band(x_of(a), x_of(b) - x_of(a)) for a, b in _paused(readings)),
        marks=(
            Mark(left, _clock(began_ms), ""),
            *(() if is_narrow else (Mark((left + right) / 2, _clock((began_ms + ended_ms) // 2), "middle"),)),
            Mark(right, _clock(ended_ms), "end"),
        ),
    )


def _series(
    readings: Sequence[Reading], peaks: dict[int, int]
) -> Iterator[tuple[str, str, list[int | None]]]:
    """Yield style, name and lags of each curve; the common one first, so that it is drawn below."""
    ranked = sorted(peaks, key=lambda number: (-peaks[number], number))
    others = ranked[_CURVES:]
    if others:
        greatest = [max((r.lags[n] for n in others if n in r.lags), default=None) for r in readings]
        yield "others", f"greatest of {len(others)} others", greatest
    for index, number in enumerate(sorted(ranked[:_CURVES]), 1):
        yield f"line{index}", f"partition {number}", [reading.lags.get(number) for reading in readings]


def _paused(readings: Sequence[Reading]) -> Iterator[tuple[int, int]]:
    """Yield from when to when the table was paused, epoch milliseconds."""
    began_ms: int | None = None
    for reading, following in pairwise(readings):
        if reading.is_paused and began_ms is None:
            began_ms = reading.time_ms
        if began_ms is not None and (not following.is_paused or following is readings[-1]):
            yield began_ms, following.time_ms
            began_ms = None


def _clock(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%H:%M:%S")
