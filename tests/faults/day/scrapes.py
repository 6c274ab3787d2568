"""The scraped metrics as series over the day, in the format of promtool.

Times in metrics are converted to the time of the day as the times of scrapes are, so the rules are evaluated
exactly as shipped. The age of a loop's last round is kept in real seconds: a loop with a round every second
has one every second on a compressed day too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from controller_client.monitoring.catalogue import LAST_ROUND

__all__ = ["JOB", "STEP_S", "Scrape", "day_series", "values_text"]

JOB = "pinot-plugins"
STEP_S = 60
"""Prometheus's default evaluation interval."""

_TIME = "_timestamp_seconds"


@dataclass(frozen=True)
class Scrape:
    """One scrape of one process.

    Attributes:
        at_s: The time of the answer or of the failure, in seconds since the epoch.
        samples: Values by name with labels, as in ``/metrics``; None if there was no answer.
    """

    at_s: float
    samples: Mapping[str, float] | None


def day_series(
    scrapes: Mapping[str, Sequence[Scrape]],
    names: frozenset[str],
    day_of: Callable[[float], float],
    end_s: float,
) -> dict[str, list[float | None]]:
    """Return the series that Prometheus would have stored, with a point for each step of the day.

    Args:
        scrapes: The scrapes of each instance in order.
        names: Names of the metrics to return, without labels; ``up`` is always included.
        day_of: Converts a real time to the second of the day.
        end_s: The last second of the day.

    Returns:
        Points by the name of the series with all labels; None where the series did not exist.
    """
    series: dict[str, list[float | None]] = {}
    steps = int(end_s // STEP_S) + 1
    for instance, its_scrapes in scrapes.items():
        at_s = [day_of(scrape.at_s) for scrape in its_scrapes]
        for step in range(steps):
            number = bisect_right(at_s, step * STEP_S)
            if not number:
                continue
            for name, value in _samples(its_scrapes[number - 1], names, day_of, step * STEP_S).items():
                series.setdefault(_with_place(name, instance), [None] * steps)[step] = value
    return series


def values_text(points: Sequence[float | None]) -> str:
    """Format points for promtool's test files; a series that disappears becomes stale, as in Prometheus."""
    words = []
    was_there = False
    for value, equal in groupby(points):
        count = sum(1 for _ in equal)
        if value is not None:
            words.append(f"{value:.17g}+0x{count - 1}" if count > 1 else f"{value:.17g}")
        elif was_there:
            words += ["stale", f"_x{count - 1}"] if count > 1 else ["stale"]
        else:
            words.append(f"_x{count}")
        was_there = value is not None
    return " ".join(words)


def _samples(
    scrape: Scrape, names: frozenset[str], day_of: Callable[[float], float], now_s: float
) -> dict[str, float]:
    if scrape.samples is None:
        return {"up": 0.0}
    found = {"up": 1.0}
    for series, value in scrape.samples.items():
        name = series.partition("{")[0]
        if name in names:
            found[series] = _in_the_day(name, value, scrape.at_s, day_of, now_s)
    return found


def _in_the_day(
    name: str, value: float, at_s: float, day_of: Callable[[float], float], now_s: float
) -> float:
    if name == LAST_ROUND.name:
        return now_s - (at_s - value)
    return day_of(value) if name.endswith(_TIME) else value


def _with_place(series: str, instance: str) -> str:
    name, _, labels = series.partition("{")
    place = f'instance="{instance}",job="{JOB}"'
    return f"{name}{{{labels.removesuffix('}')},{place}}}" if labels else f"{name}{{{place}}}"
