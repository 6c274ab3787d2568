"""The charts of a session's page, as inline SVG; colours come from the page's style."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from controller_client.common.markup import Html, el
from minion_tasks.file_ingestion.report.counts import AttemptFigures, Histogram
from minion_tasks.file_ingestion.report.text import bytes_text, clock_text, seconds_text

__all__ = ["attempts_chart", "histogram_chart"]

_MAX_PANELS = 6
_WIDTH = 960.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 12.0, 42.0, 26.0
_GAP = 14.0


@dataclass(frozen=True)
class _Panel:
    """The place of one attempt: idle time between attempts takes none."""

    attempt: AttemptFigures
    x: float
    width: float
    duration_ms: int

    def x_of(self, time_ms: int) -> float:
        part = (time_ms - self.attempt.began_ms) / self.duration_ms
        return self.x + self.width * min(1.0, max(0.0, part))


def attempts_chart(attempts: Sequence[AttemptFigures], files: int) -> Html:
    """Draw how many files were staged over time, a panel for each of the last attempts."""
    height = 270.0
    bottom = height - _BOTTOM
    top = max(1, files)
    shown = attempts[-_MAX_PANELS:]

    def y_of(count: float) -> float:
        return bottom - (bottom - _TOP) * count / top

    pieces = [
        el(
            "g",
            el("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y_of(tick), y2=y_of(tick), class_="grid"),
            el("text", f"{tick:,}", x=_LEFT - 8, y=y_of(tick) + 4, class_="axis end"),
        )
        for tick in _ticks(top)
    ]
    before = sum(attempt.staged for attempt in attempts[: -len(shown)])
    for panel in _panels(shown):
        pieces.append(_panel(panel, before, y_of, bottom))
        before += panel.attempt.staged
    label = f"{before:,} of {files:,} files staged in {len(attempts)} attempts"
    return el("svg", *pieces, viewBox=f"0 0 {_WIDTH:g} {height:g}", role="img", aria_label=label)


def _panels(attempts: Sequence[AttemptFigures]) -> list[_Panel]:
    # A little more than it took, so that the last step is not drawn on the edge.
    durations = [round(1.03 * max(1000, (a.last_ms or a.began_ms) - a.began_ms)) for a in attempts]
    space = _WIDTH - _LEFT - _RIGHT - _GAP * (len(attempts) - 1)
    least = space / len(attempts) * 0.55  # room for the words above
    rest = space - least * len(attempts)
    panels, x = [], _LEFT
    for attempt, duration in zip(attempts, durations, strict=True):
        width = least + rest * duration / sum(durations)
        panels.append(_Panel(attempt, x, width, duration))
        x += width + _GAP
    return panels


def _panel(panel: _Panel, before: int, y_of: Callable[[float], float], bottom: float) -> Html:
    attempt, x, width = panel.attempt, panel.x, panel.width
    name = f"retry {attempt.number}" if attempt.number else "first attempt"
    counts = f"{attempt.staged:,} staged" + (f", {attempt.failed:,} failed" if attempt.failed else "")
    path = [f"M{x:.1f} {y_of(before):.1f}"]
    path += [f"H{panel.x_of(time):.1f}V{y_of(count):.1f}" for time, count in attempt.staged_steps]
    path.append(f"H{x + width:.1f}")
    steps = "".join(path)
    pieces = [
        el("rect", x=x, y=_TOP, width=width, height=bottom - _TOP, class_="panel"),
        el("path", d=f"{steps}V{bottom:.1f}H{x:.1f}Z", class_="area"),
        el("path", d=steps, class_="staged"),
        el("line", x1=x, x2=x, y1=_TOP - 34, y2=bottom, class_="mark"),
        el("text", name, x=x + 6, y=_TOP - 22, class_="name"),
        el("text", counts, x=x + 6, y=_TOP - 7, class_="axis"),
        el("text", clock_text(attempt.began_ms)[11:19], x=x, y=bottom + 17, class_="axis"),
    ]
    if attempt.last_ms is not None:
        took = f"+{seconds_text((attempt.last_ms - attempt.began_ms) / 1000)}"
        pieces.append(el("text", took, x=x + width - 2, y=bottom + 17, class_="axis end"))
    if attempt.failed_steps:
        failed = f"M{x:.1f} {y_of(0):.1f}"
        failed += "".join(f"H{panel.x_of(time):.1f}V{y_of(n):.1f}" for time, n in attempt.failed_steps)
        pieces.append(el("path", d=f"{failed}H{x + width:.1f}", class_="failed"))
    title = f"{name}, begun {clock_text(attempt.began_ms)}: {counts}"
    return el("g", el("title", title), *pieces)


def _ticks(top: int) -> list[int]:
    step = 10 ** math.floor(math.log10(top))
    while top / step < 3 and step > 1:
        step //= 2 if step % 2 == 0 else 5
    while top / step > 6:
        step *= 2
    return list(range(0, top + 1, max(1, step)))


def histogram_chart(found: Histogram, noun: str) -> Html:
    """Draw a bar for each bin."""
    width, height, left, bottom, top = 460.0, 190.0, 50.0, 160.0, 16.0
    most = max(count for _, _, count in found.bins)
    step = min(64.0, (width - left - 8) / len(found.bins))
    every = math.ceil(len(found.bins) / 7)
    pieces = []
    for tick in _ticks(most):
        y = bottom - (bottom - top) * tick / most
        pieces.append(el("line", x1=left, x2=width - 8, y1=y, y2=y, class_="grid"))
        pieces.append(el("text", f"{tick:,}", x=left - 6, y=y + 4, class_="axis end"))
    for number, (low, high, count) in enumerate(found.bins):
        x, bar = left + number * step, (bottom - top) * count / most
        # A bin with a single file of very many is still to be seen.
        bar = max(bar, 1.5) if count else 0.0
        title = f"{count:,} {noun} from {bytes_text(low)} to below {bytes_text(high)}"
        rect = el(
            "rect", x=x + 1.5, y=bottom - bar, width=max(1.0, step - 3), height=bar, rx=1.5, class_="bar"
        )
        pieces.append(el("g", el("title", title), rect))
        if number % every == 0:
            pieces.append(el("text", bytes_text(low), x=x, y=bottom + 17, class_="axis"))
    label = f"Sizes of {noun}: median {bytes_text(found.median)}, largest {bytes_text(found.largest)}"
    return el("svg", *pieces, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label)
