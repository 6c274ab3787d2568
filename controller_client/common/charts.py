"""What the charts of all pages share. ``pieces.html`` draws the grid, as inline SVG."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Chart", "Tick", "tick_values"]


@dataclass(frozen=True)
class Tick:
    """A line of the grid and the text to the left of it."""

    text: str
    text_x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Chart:
    """The common parts of all charts: the size, the bounds of the drawing, and the grid lines.

    Attributes:
        label: What it shows, in a sentence, for those who cannot see it.
    """

    label: str
    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    ticks: tuple[Tick, ...]


def tick_values(top: int) -> list[int]:
    """Return three to seven round numbers from 0 up to a count, which is at least 1."""
    step = 10 ** math.floor(math.log10(top))
    while top / step < 3 and step > 1:
        step //= 2 if step % 2 == 0 else 5
    while top / step > 6:
        step *= 2
    return list(range(0, top + 1, max(1, step)))
