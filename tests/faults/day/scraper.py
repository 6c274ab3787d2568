"""Scrapes the metrics of each process once a second, as Prometheus does, and records them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Self

import requests

from controller_client.clock import Clock, SystemClock
from tests.faults.day.scrapes import Scrape

__all__ = ["Scraper"]

_PAUSE_S = 1.0
_TIMEOUT_S = 10.0
"""Prometheus's default."""


class Scraper:
    """A context manager with a thread for each process, so one that hangs does not block the others.

    Args:
        urls: The metrics URL of each instance.
        names: Names of the recorded metrics, without labels.
        clock: The clock for the times of scrapes.

    Attributes:
        scrapes: The scrapes of each instance in order.
    """

    def __init__(self, urls: Mapping[str, str], names: frozenset[str], clock: Clock | None = None) -> None:
        self._names = names
        self._clock = clock or SystemClock()
        self._stop = threading.Event()
        self.scrapes: dict[str, list[Scrape]] = {instance: [] for instance in urls}
        self._threads = [
            threading.Thread(target=partial(self._serve, instance, url), name=f"scrapes-{instance}")
            for instance, url in urls.items()
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def last(self, instance: str) -> Scrape | None:
        """The last scrape of an instance; None before the first."""
        found = self.scrapes[instance]
        return found[-1] if found else None

    def _serve(self, instance: str, url: str) -> None:
        with requests.Session() as session:
            while not self._stop.is_set():
                samples = self._ask(session, url)
                self.scrapes[instance].append(Scrape(self._clock.now(), samples))
                self._stop.wait(_PAUSE_S)

    def _ask(self, session: requests.Session, url: str) -> Mapping[str, float] | None:
        try:
            answer = session.get(url, timeout=_TIMEOUT_S)
        except requests.RequestException:
            return None
        if not answer.ok:
            return None
        found = {}
        for line in answer.text.splitlines():
            series, _, value = line.rpartition(" ")
            if series.partition("{")[0] in self._names:
                # The same names are repeated in each scrape.
                found[sys.intern(series)] = float(value)
        return found
