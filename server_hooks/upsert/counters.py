"""Counters of queries of upsert tables, kept in Java: ``io.pinotplugins.upsert.Counter``."""

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
"""Names of the counters, and their constants in ``Counter.java``."""


def count(name: str) -> int:
    """Return the value of one of :data:`COUNTERS`, once the Java classes are loaded."""
    return int(jpype.JClass(f"{PACKAGE}.Counter").valueOf(COUNTERS[name]).count())
