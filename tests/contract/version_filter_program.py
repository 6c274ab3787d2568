"""Asks one segment of an upsert table through Pinot's filters; run as a child process that takes orders."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jpype

from jvm_bridge.jvm import logging_options, start_jvm_with
from server_hooks.upsert import served_versions
from server_hooks.upsert.counters import COUNTERS, count
from tests.contract.upsert_segments import TABLE, ConsumingSegment, SealedSegment, UpsertSegment
from tests.contract.version_askers import VersionAsker, asker
from tests.support.java_options import QUICK_START
from tests.support.wait import wait_for

_WAIT_MS = 50
_LONG_WAIT_MS = 300_000


def main() -> None:
    """Take orders for a segment: ``consuming`` or ``sealed`` are the first word, the second is a folder."""
    kind, folder = sys.argv[1], Path(sys.argv[2])
    start_jvm_with(["-Xmx1g", *QUICK_START.split(), *logging_options()])
    asking = asker()
    served_versions.set_wait(_WAIT_MS)
    segment: UpsertSegment = ConsumingSegment(folder) if kind == "consuming" else SealedSegment(folder)
    for line in sys.stdin:
        answer = _obey(json.loads(line), segment, asking)
        print(json.dumps(answer), flush=True)  # noqa: T201  # read by the test


def _obey(order: Mapping[str, Any], segment: UpsertSegment, asking: VersionAsker) -> dict[str, Any]:
    match order["do"]:
        case "add":
            segment.add(order["values"])
        case "write":
            for row, version in order["versions"]:
                segment.write(order["column"], row, version)
        case "complete":
            served_versions.complete(TABLE, order["version"])
        case "tell":
            served_versions.wrote(TABLE, order["version"])
        case "ask":
            return _ask(order, segment, asking)
        case "ask meanwhile":
            return _ask_meanwhile(order, segment, asking)
    return {name: count(name) for name in COUNTERS}


def _ask_meanwhile(order: Mapping[str, Any], segment: UpsertSegment, asking: VersionAsker) -> dict[str, Any]:
    """Ask, and obey other orders once the query waits for its version."""
    served_versions.set_wait(_LONG_WAIT_MS)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(_ask, order, segment, asking)
        wait_for(lambda: asked.done() or _is_waiting(), "the query to wait for its version")
        for each in order["orders"]:
            _obey(each, segment, asking)
        answer = asked.result()
    served_versions.set_wait(_WAIT_MS)
    return answer


def _is_waiting() -> bool:
    """Whether a query waits for its version: a frame of that is in some thread."""
    return any(
        str(frame.getMethodName()) == "await" and "TableVersions" in str(frame.getClassName())
        for frames in jpype.JClass("java.lang.Thread").getAllStackTraces().values()
        for frame in frames
    )


def _ask(order: Mapping[str, Any], segment: UpsertSegment, asking: VersionAsker) -> dict[str, Any]:
    """The rows that a query finds, and their number by the way that Pinot takes for a count."""
    try:
        make = asking.filter(segment.pinot, order["version"], order["where"])
        operator = make()
    except jpype.JException as error:
        return {"error": str(error)}
    rows = operator.nextBlock().getBlockDocIdSet().iterator()
    found = []
    while (row := int(rows.next())) >= 0:
        found.append(row)
    again = make()
    counted = int(again.getNumMatchingDocs()) if again.canOptimizeCount() else None
    return {"rows": found, "count": counted}


if __name__ == "__main__":
    main()
