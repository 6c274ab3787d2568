"""What was done for queries of upsert tables, counted in Java: ``io.pinotplugins.upsert.Counter``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import jpype

from server_hooks.upsert.server_events import PACKAGE

__all__ = ["COUNTERS", "count"]

COUNTERS: Mapping[str, str] = MappingProxyType(
    {
        "versionHits": "HITS",
        "versionsCarried": "CARRIED",
        "versionScans": "SCANS",
        "versionFailures": "FAILURES",
        "queriesRefused": "REFUSED",
    }
)
"""Names of the counters, and what ``Counter.java`` calls them."""


def count(name: str) -> int:
    """What one of :data:`COUNTERS` is at; after the Java was loaded."""
    return int(jpype.JClass(f"{PACKAGE}.Counter").valueOf(COUNTERS[name]).count())
