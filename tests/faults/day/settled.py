"""Determines from the metrics of the processes whether everything has recovered from a fault."""

from __future__ import annotations

from collections.abc import Mapping

from controller_client.monitoring import catalogue
from tests.faults.day.scrapes import Scrape

__all__ = ["LOOKED_AT", "unsettled"]

_LEFT = (catalogue.BACKLOG_SEGMENTS, catalogue.FAILED_IN_A_ROW)
LOOKED_AT = frozenset(
    metric.name
    for metric in (
        *(catalogue.PROCESS_INFO, catalogue.PROCESS_READY, catalogue.LEASE_HELD),
        *(catalogue.SESSION_STARTED, catalogue.LAST_GOOD_ROUND, *_LEFT),
    )
)
"""Names of the metrics that are used for this."""

_LEASES = 2


def unsettled(last: Mapping[str, Scrape | None], watches: tuple[str, ...], since_s: float) -> list[str]:
    """Describe what is not settled yet; empty once everything is.

    Settled means: all processes are ready, each lease is held, no session is open, no table's last run has
    failed, no tar waits for the store, and a watch has completed a round.

    Args:
        last: The last scrape of each instance.
        watches: The instances that are watches.
        since_s: Scrapes and rounds before this time do not count; in seconds since the epoch.
    """
    found = []
    leases: dict[str, float] = {}
    rounds = 0
    for instance, scrape in last.items():
        if scrape is None or scrape.samples is None or scrape.at_s < since_s:
            found.append(f"{instance} has not answered")
            continue
        for series, value in scrape.samples.items():
            name = series.partition("{")[0]
            if name == catalogue.LEASE_HELD.name:
                leases[series] = max(value, leases.get(series, 0))
            elif name == catalogue.LAST_GOOD_ROUND.name:
                rounds += instance in watches and value >= since_s
            elif name == catalogue.PROCESS_READY.name and value != 1:
                found.append(f"{instance} is not ready")
            elif name == catalogue.SESSION_STARTED.name or (name in _NAMES_OF_LEFT and value):
                found.append(f"{instance}: {series} is {value:g}")
    if sum(leases.values()) != _LEASES:
        found.append(f"leases held: {leases}")
    if not rounds:
        found.append("no watch has completed a round")
    return found


_NAMES_OF_LEFT = frozenset(metric.name for metric in _LEFT)
