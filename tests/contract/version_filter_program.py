"""Asks one segment of an upsert table through Pinot's filters; run as a child process that takes orders."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import jpype
import pyarrow as pa

from controller_client.segment_tar import unpack_tar
from controller_client.upsert.columns import NIL, SYSTEM_COLUMNS, VALID_FROM, VALID_UNTIL
from jvm_bridge.builder import SegmentBuilder
from jvm_bridge.jvm import logging_properties, start_jvm_with
from server_hooks.upsert import classes_0_11
from server_hooks.upsert.sealed_rows import map_column
from server_hooks.upsert.version_filters_0_11 import COUNTERS, VersionFilters
from tests.contract.tables import schema_of, table_config
from tests.support.wait import wait_for

TABLE = "u_REALTIME"
_NAME = "u__0__0__20260101T0000Z"
_PLANS = "org.apache.pinot.core.plan"
_QUERIES = "org.apache.pinot.core.query.request.context.utils.QueryContextConverterUtils"
_WAIT_MS = 50
_LONG_WAIT_MS = 300_000
_JAVA = "io.pinotplugins.v0_11.upsert.VersionFilters"
_LOCAL = "org.apache.pinot.segment.local"


class _Segment(Protocol):
    """A segment in this process."""

    pinot: Any

    def add(self, values: list[int]) -> None:
        """Index rows."""
        ...

    def write(self, column: str, row: int, version: int) -> None:
        """Write a version."""
        ...


class _Consuming:
    def __init__(self, folder: Path) -> None:
        sets = jpype.JClass("java.util.Collections").emptySet()
        schema = jpype.JClass("org.apache.pinot.spi.data.Schema").fromString(json.dumps(_schema()))
        config = (
            jpype.JClass(f"{_LOCAL}.realtime.impl.RealtimeSegmentConfig").Builder()
            .setTableNameWithType(TABLE)
            .setSegmentName(_NAME)
            .setStreamName("t")
            .setSchema(schema)
            .setCapacity(1000)
            .setAvgNumMultiValues(1)
            .setNoDictionaryColumns(jpype.JClass("java.util.HashSet")(list(SYSTEM_COLUMNS)))
            .setJsonIndexColumns(sets)
            .setVarLengthDictionaryColumns(sets)
            .setInvertedIndexColumns(sets)
            .setSegmentZKMetadata(
                jpype.JClass("org.apache.pinot.common.metadata.segment.SegmentZKMetadata")(_NAME)
            )
            .setMemoryManager(jpype.JClass(f"{_LOCAL}.io.writer.impl.DirectMemoryManager")(_NAME))
            .setStatsHistory(
                jpype.JClass(f"{_LOCAL}.realtime.impl.RealtimeSegmentStatsHistory").deserialzeFrom(
                    jpype.JClass("java.io.File")(str(folder / "statistics"))
                )
            )
            .build()
        )  # fmt: skip
        self.pinot = jpype.JClass(f"{_LOCAL}.indexsegment.mutable.MutableSegmentImpl")(config, None)

    def add(self, values: list[int]) -> None:
        for value in values:
            row = jpype.JClass("org.apache.pinot.spi.data.readers.GenericRow")()
            row.putValue("a", jpype.JInt(value))
            for column in SYSTEM_COLUMNS:
                row.putValue(column, jpype.JClass("java.lang.Long")(NIL))
            self.pinot.index(row, None)

    def write(self, column: str, row: int, version: int) -> None:
        self.pinot.getDataSource(column).getForwardIndex().setLong(row, version)


class _Sealed:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.pinot: Any = None
        self._columns: dict[str, Any] = {}

    def add(self, values: list[int]) -> None:
        config = table_config(
            indexing={"noDictionaryColumns": list(SYSTEM_COLUMNS)},
            fieldConfigList=[
                {"name": name, "encodingType": "RAW", "compressionCodec": "PASS_THROUGH"}
                for name in SYSTEM_COLUMNS
            ],
        )
        nils = pa.array([NIL] * len(values), pa.int64())
        table = pa.table({"a": pa.array(values, pa.int32()), **dict.fromkeys(SYSTEM_COLUMNS, nils)})
        built = SegmentBuilder(config, _schema(), self._folder).from_arrow(table, _NAME)
        folder = unpack_tar(built.tar_path, self._folder, _NAME)
        self._columns = {
            column: map_column(folder, column, mode="r+") for column in (VALID_FROM, VALID_UNTIL)
        }
        mapped = jpype.JClass("org.apache.pinot.spi.utils.ReadMode").mmap
        loader = jpype.JClass(f"{_LOCAL}.indexsegment.immutable.ImmutableSegmentLoader")
        self.pinot = loader.load(jpype.JClass("java.io.File")(str(folder)), mapped)

    def write(self, column: str, row: int, version: int) -> None:
        self._columns[column][row] = version


class _Nobody:
    """Hears what Pinot tells the hook, of which there is none here."""

    def before_add(self, table: Any, segment: Any) -> None: ...
    def consuming(self, table: Any, segment: str) -> None: ...
    def removed(self, table: Any, segment: str) -> None: ...
    def before_open(self) -> None: ...


def main() -> None:
    """Take orders for a segment: ``consuming`` or ``sealed`` are the first word, the second is a folder."""
    kind, folder = sys.argv[1], Path(sys.argv[2])
    properties = [f"-D{name}={value}" for name, value in logging_properties(None).items()]
    start_jvm_with(["-Xmx1g", *properties])
    classes_0_11.install(_Nobody())
    filters = VersionFilters(wait_ms=_WAIT_MS)
    segment: _Segment = _Consuming(folder) if kind == "consuming" else _Sealed(folder)
    for line in sys.stdin:
        answer = _obey(json.loads(line), segment, filters)
        print(json.dumps(answer), flush=True)  # noqa: T201  # read by the test


def _obey(order: Mapping[str, Any], segment: _Segment, filters: VersionFilters) -> dict[str, Any]:
    match order["do"]:
        case "add":
            segment.add(order["values"])
        case "write":
            for row, version in order["versions"]:
                segment.write(order["column"], row, version)
        case "complete":
            filters.complete(TABLE, order["version"])
        case "tell":
            filters.wrote(TABLE, order["version"])
        case "ask":
            return _ask(segment.pinot, order["where"])
        case "ask meanwhile":
            return _ask_meanwhile(order, segment, filters)
    return {name: filters.count(name) for name in COUNTERS}


def _ask_meanwhile(order: Mapping[str, Any], segment: _Segment, filters: VersionFilters) -> dict[str, Any]:
    """Ask, and obey other orders once the query waits for its version."""
    jpype.JClass(_JAVA).install(_LONG_WAIT_MS)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(_ask, segment.pinot, order["where"])
        wait_for(lambda: asked.done() or _is_waiting(), "the query to wait for its version")
        for each in order["orders"]:
            _obey(each, segment, filters)
        answer = asked.result()
    jpype.JClass(_JAVA).install(_WAIT_MS)
    return answer


def _is_waiting() -> bool:
    """Whether a query waits for its version: a frame of that is in some thread."""
    return any(
        str(frame.getMethodName()) == "await" and "TableVersions" in str(frame.getClassName())
        for frames in jpype.JClass("java.lang.Thread").getAllStackTraces().values()
        for frame in frames
    )


def _ask(segment: Any, where: str) -> dict[str, Any]:
    """The rows that a condition finds, and their number by the way that Pinot takes for a count."""
    query = jpype.JClass(_QUERIES).getQueryContext(f"SELECT a FROM {TABLE} WHERE {where}")
    try:
        jpype.JClass(_JAVA).awaitVersion(query)  # as ServerQueryExecutorV1Impl.processQuery does
        operator = jpype.JClass(f"{_PLANS}.FilterPlanNode")(segment, query).run()
    except jpype.JException as error:
        return {"error": str(error)}
    rows = operator.nextBlock().getBlockDocIdSet().iterator()
    found = []
    while (row := int(rows.next())) >= 0:
        found.append(row)
    again = jpype.JClass(f"{_PLANS}.FilterPlanNode")(segment, query).run()
    count = int(again.getNumMatchingDocs()) if again.canOptimizeCount() else None
    return {"rows": found, "count": count, "operator": str(operator.toExplainString())}


def _schema() -> dict[str, Any]:
    return {**schema_of({"a": "INT", **dict.fromkeys(SYSTEM_COLUMNS, "LONG")}), "schemaName": "t"}


if __name__ == "__main__":
    main()
