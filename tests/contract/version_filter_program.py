"""Queries one segment of an upsert table through Pinot's filters; runs as a child process with commands."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Semaphore
from typing import Any

import jpype
import numpy as np

from controller_client.upsert.columns import NIL, VALID_FROM, VALID_UNTIL
from jvm_bridge.jvm import logging_options, start_jvm_with
from server_hooks.upsert import served_versions
from server_hooks.upsert.counters import COUNTERS, count
from server_hooks.upsert.first_versions import VersionsOfRows
from tests.contract.upsert_segments import TABLE, ConsumingSegment, SealedSegment, UpsertSegment
from tests.contract.version_askers import VersionAsker, asker
from tests.support.java_options import QUICK_START
from tests.support.wait import wait_for

_WAIT_MS = 50
_LONG_WAIT_MS = 300_000
_ASKING = 3


def main() -> None:
    """Execute commands for a segment. Arguments: ``consuming`` or ``sealed``, and a folder."""
    kind, folder = sys.argv[1], Path(sys.argv[2])
    start_jvm_with(["-Xmx1g", *QUICK_START.split(), *logging_options()])
    asking = asker()
    served_versions.configure(wait_ms=_WAIT_MS)
    served_versions.serve(TABLE)
    segment: UpsertSegment = ConsumingSegment(folder) if kind == "consuming" else SealedSegment(folder)
    for line in sys.stdin:
        answer = _obey(json.loads(line), segment, asking)
        print(json.dumps(answer), flush=True)  # noqa: T201  # read by the test


def _obey(order: Mapping[str, Any], segment: UpsertSegment, asking: VersionAsker) -> dict[str, Any]:
    match order["do"]:
        case "add":
            segment.add(order["values"])
        case "write":
            segment.write([_versions(order.get(column, ())) for column in (VALID_FROM, VALID_UNTIL)])
        case "attach":
            segment.attach()
        case "detach":
            segment.detach()
        case "complete":
            served_versions.complete(TABLE, order["version"])
        case "ask":
            return _ask(order, segment, asking)
        case "ask meanwhile":
            return _ask_meanwhile(order, segment, asking)
        case "allow without version":
            served_versions.configure(wait_ms=_WAIT_MS, without_version=True)
        case "count rows":
            return {"count": _count(order["version"], segment, asking)}
        case "storm":
            return {"answers": _storm(order["history"], segment, asking)}
    return {name: count(name) for name in COUNTERS}


def _versions(pairs: Sequence[Sequence[int]]) -> VersionsOfRows:
    found = np.array(pairs, np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _ask_meanwhile(order: Mapping[str, Any], segment: UpsertSegment, asking: VersionAsker) -> dict[str, Any]:
    """Query, and execute other commands once the query waits for its version."""
    served_versions.configure(wait_ms=_LONG_WAIT_MS)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(_ask, order, segment, asking)
        wait_for(lambda: asked.done() or _is_waiting(), "the query to wait for its version")
        for each in order["orders"]:
            _obey(each, segment, asking)
        answer = asked.result()
    served_versions.configure(wait_ms=_WAIT_MS)
    return answer


def _storm(
    history: Sequence[Mapping[str, Any]], segment: UpsertSegment, asking: VersionAsker
) -> list[dict[str, int]]:
    """Write version after version in this thread, and query complete ones in other threads."""
    complete, answers, answered = NIL, [], Semaphore(_ASKING)

    def ask(number: int) -> None:
        chance = random.Random(number)
        while complete < len(history) - 1:
            if (newest := complete) != NIL:
                asked = max(0, chance.choice([newest, newest, newest - chance.randrange(300)]))
                answers.append({"version": asked, "count": _count(asked, segment, asking)})
                answered.release()

    with ThreadPoolExecutor(_ASKING) as pool:
        asked = [pool.submit(ask, number) for number in range(_ASKING)]
        for version, events in enumerate(history):
            _obey({"do": "write", **events}, segment, asking)
            served_versions.complete(TABLE, version)
            complete = version
            answered.acquire()  # the querying threads keep pace
        for each in asked:
            each.result()
    return answers


def _count(version: int, segment: UpsertSegment, asking: VersionAsker) -> int:
    """The number of rows that a query finds."""
    operator = asking.filter(segment.pinot, version, "")()
    if operator.canOptimizeCount():
        return int(operator.getNumMatchingDocs())
    rows = operator.nextBlock().getBlockDocIdSet().iterator()
    found = 0
    while int(rows.next()) >= 0:
        found += 1
    return found


def _is_waiting() -> bool:
    """Whether a query waits for its version: some thread has a frame of the waiting method."""
    return any(
        str(frame.getMethodName()) == "await" and "TableVersions" in str(frame.getClassName())
        for frames in jpype.JClass("java.lang.Thread").getAllStackTraces().values()
        for frame in frames
    )


def _ask(order: Mapping[str, Any], segment: UpsertSegment, asking: VersionAsker) -> dict[str, Any]:
    """The rows that a query finds, and their number as Pinot counts them."""
    try:
        make = asking.filter(segment.pinot, order["version"], order["where"], skips=order.get("skips", False))
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
