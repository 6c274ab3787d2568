"""Queries segments of an upsert table through Pinot's filters; runs as a child process with commands."""

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

from controller_client.upsert.columns import NIL, VALID_FROM, VALID_UNTIL, visible_at
from controller_client.upsert.version_option import VERSIONS, option_text
from jvm_bridge.java_errors import JAVA_ERRORS
from jvm_bridge.jvm import logging_options, start_jvm_with
from server_hooks import table_managers
from server_hooks.upsert import classes_0_11, served_versions
from server_hooks.upsert.classes_0_11 import install_filters
from server_hooks.upsert.first_versions import VersionsOfRows
from server_hooks.upsert.metrics import COUNTERS, count
from tests.contract.upsert_segments import TABLE, ConsumingSegment, SealedSegment, UpsertSegment
from tests.support.java_options import QUICK_START
from tests.support.wait import wait_for

_WAIT_MS = 50
_LONG_WAIT_MS = 300_000
_ASKING = 3
_BLOCK_ROWS = 10_000
_BLOCKS = "org.apache.pinot.core.operator.DocIdSetOperator"
_PLANS = "org.apache.pinot.core.plan"
_CONTEXTS = "org.apache.pinot.core.query.request.context.utils.QueryContextConverterUtils"


def main() -> None:
    """Execute commands."""
    start_jvm_with(["-Xmx1g", *QUICK_START.split(), *logging_options()])
    queries = _Queries()
    for line in sys.stdin:
        print(json.dumps(queries.obey(json.loads(line))), flush=True)  # noqa: T201  # read by the test


class _Queries:
    """Queries of the segment that was opened last."""

    def __init__(self) -> None:
        self._asker = asker()
        self._segment: UpsertSegment | None = None
        self._counted_before: Mapping[str, int] = {}
        served_versions.configure(wait_ms=_WAIT_MS)
        served_versions.serve(TABLE)

    @property
    def segment(self) -> UpsertSegment:
        """The segment."""
        assert self._segment is not None
        return self._segment

    def obey(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Execute a command."""
        match order["do"]:
            case "open":
                self._open(order["kind"], Path(order["folder"]))
            case "add":
                self.segment.add(order["values"])
            case "write":
                self.segment.write([_versions(order.get(each)) for each in (VALID_FROM, VALID_UNTIL)])
            case "attach":
                self.segment.attach()
            case "detach":
                self.segment.detach()
            case "complete":
                served_versions.complete(TABLE, order["version"])
            case "ask":
                return self._ask(order)
            case "ask meanwhile":
                return self._ask_meanwhile(order)
            case "allow without version":
                served_versions.configure(wait_ms=_WAIT_MS, without_version=True)
            case "count rows":
                return {"count": self._count(order["version"])}
            case "storm":
                return {"answers": self._storm(order["history"])}
        return {name: count(name) - self._counted_before[name] for name in COUNTERS}

    def _open(self, kind: str, folder: Path) -> None:
        if self._segment is not None:
            self._segment.detach()
        self._segment = ConsumingSegment(folder) if kind == "consuming" else SealedSegment(folder)
        self._counted_before = {name: count(name) for name in COUNTERS}
        served_versions.configure(wait_ms=_WAIT_MS)

    def _ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """The rows that a query finds, and their number as Pinot counts them."""
        version, where, skips = order["version"], order["where"], order.get("skips", False)
        try:
            make = self._asker.filter(self.segment.pinot, version, where, skips=skips)
            rows = _rows_of(make())
        except JAVA_ERRORS as error:
            return {"error": str(error)}
        again = make()
        counted = int(again.getNumMatchingDocs()) if again.canOptimizeCount() else None
        return {"rows": rows, "count": counted}

    def _ask_meanwhile(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Query, and execute other commands once the query waits for its version."""
        served_versions.configure(wait_ms=_LONG_WAIT_MS)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self._ask, order)
            wait_for(lambda: asked.done() or _is_waiting(), "the query to wait for its version")
            for each in order["orders"]:
                self.obey(each)
            return asked.result()

    def _count(self, version: int) -> int:
        """The number of rows that a query finds."""
        operator = self._asker.filter(self.segment.pinot, version, "")()
        return int(operator.getNumMatchingDocs()) if operator.canOptimizeCount() else len(_rows_of(operator))

    def _storm(self, history: Sequence[Mapping[str, Any]]) -> list[dict[str, int]]:
        """Write version after version in this thread, and query complete ones in other threads."""
        complete, answers, answered = NIL, [], Semaphore(_ASKING)

        def ask(number: int) -> None:
            chance = random.Random(number)
            try:
                while complete < len(history) - 1:
                    if (newest := complete) != NIL:
                        version = max(0, chance.choice([newest, newest, newest - chance.randrange(300)]))
                        answers.append({"version": version, "count": self._count(version)})
                        answered.release()
            finally:
                answered.release(len(history))  # the writer must not wait for a thread that has failed

        with ThreadPoolExecutor(_ASKING) as pool:
            asked = [pool.submit(ask, number) for number in range(_ASKING)]
            for version, events in enumerate(history):
                self.obey({"do": "write", **events})
                served_versions.complete(TABLE, version)
                complete = version
                answered.acquire()  # the querying threads keep pace
            for each in asked:
                each.result()
        return answers


def _versions(events: Sequence[Sequence[int]] | None) -> VersionsOfRows:
    rows, versions = np.array(events or ((), ()), np.int64)
    return rows, versions


def _rows_of(operator: Any) -> list[int]:
    """Return the rows of a filter, read in blocks as Pinot does."""
    blocks, rows = jpype.JClass(_BLOCKS)(operator, _BLOCK_ROWS), []
    while (block := blocks.nextBlock()) is not None:
        is_old = hasattr(block, "getDocIdSet")
        numbers = np.array(block.getDocIdSet() if is_old else block.getDocIds())
        rows += numbers[: block.getSearchableLength() if is_old else block.getLength()].tolist()
    return rows


def _is_waiting() -> bool:
    """Whether a query waits for its version: some thread has a frame of the waiting method."""
    return any(
        str(frame.getMethodName()) == "await" and "TableVersions" in str(frame.getClassName())
        for frames in jpype.JClass("java.lang.Thread").getAllStackTraces().values()
        for frame in frames
    )


# --- how a server finds the rows of a version: each class queries a segment as Pinot's own executor does ---


def asker() -> _Options | _Conditions:
    """Install the filters that this Pinot needs."""
    return _Options() if table_managers.has_extension_point() else _Conditions()


class _Nobody:
    """Ignores Pinot's notifications to the hook, which does not run here."""

    def before_add(self, table: Any, segment: Any) -> None: ...
    def consuming(self, table: Any, segment: str) -> None: ...
    def removed(self, table: Any, segment: str) -> None: ...
    def before_open(self) -> None: ...


class _Conditions:
    """A condition in the SQL, which our filters recognize."""

    def __init__(self) -> None:
        classes_0_11.install(_Nobody())
        install_filters()
        self._java = jpype.JClass("io.pinotplugins.v0_11.upsert.VersionFilters")

    def filter(self, segment: Any, version: int | None, where: str, *, skips: bool = False) -> Any:
        """Return a function that creates Pinot's operator for the rows.

        Args:
            segment: The segment.
            version: The version; None: a query without one.
            where: Further conditions, possibly none.
            skips: Whether the query requests all rows.
        """
        conditions = [where, "" if version is None else visible_at(version)]
        query = _query(" AND ".join(filter(None, conditions)), skips=skips)
        self._java.awaitVersion(query)  # as ServerQueryExecutorV1Impl.processQuery does
        return lambda: jpype.JClass(f"{_PLANS}.FilterPlanNode")(segment, query).run()


class _Options:
    """A query option, from which the table computes a bitmap for each segment."""

    def __init__(self) -> None:
        table_managers.load()
        self._java = jpype.JClass(f"{table_managers.PACKAGE}.UpsertQueries")

    def filter(self, segment: Any, version: int | None, where: str, *, skips: bool = False) -> Any:
        options = jpype.JClass("java.util.HashMap")()
        if version is not None:
            options.put(VERSIONS, option_text({TABLE: version}, where))
        if skips:
            options.put("skipUpsert", "true")
        query = _query(where, skips=skips)
        asked = None if self._java.areAllSeen(TABLE, options) else self._java.await_(TABLE, options)
        context = jpype.JClass("org.apache.pinot.segment.spi.SegmentContext")(segment)
        contexts = jpype.JClass("java.util.List").of(context)

        def make() -> Any:
            if asked is not None:
                self._java.filterRows(TABLE, contexts, asked)
            return jpype.JClass(f"{_PLANS}.FilterPlanNode")(context, query).run()

        return make


def _query(where: str, *, skips: bool) -> Any:
    condition = f"WHERE {where}" if where else ""
    option = "SET skipUpsert = true;" if skips else ""
    return jpype.JClass(_CONTEXTS).getQueryContext(f"{option} SELECT a FROM {TABLE} {condition}")


if __name__ == "__main__":
    main()
