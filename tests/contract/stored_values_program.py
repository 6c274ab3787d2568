"""Prints what Pinot stores for JSON messages; runs as a child process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

import jpype

from jvm_bridge.builder.pinot_classes import has_method, parse_schema, parse_table_config
from jvm_bridge.jvm import start_jvm

_PIPELINE = "org.apache.pinot.segment.local.segment.creator.TransformPipeline"
_DECODER = "org.apache.pinot.plugin.inputformat.json.JSONMessageDecoder"
_ROW = "org.apache.pinot.spi.data.readers.GenericRow"
_CONFIG = {
    "tableName": "t_OFFLINE",
    "tableType": "OFFLINE",
    "segmentsConfig": {"replication": "1"},
    "tenants": {},
    "tableIndexConfig": {},
    "metadata": {},
}


def main() -> None:
    """Read ``[{kind, single, max_length, messages}]``; write for each message its value as text, or null.

    A value that is also null in Pinot is written as the column's default. ``messages`` are JSON documents
    with a column ``c``.
    """
    requests: list[Mapping[str, Any]] = json.load(sys.stdin)
    start_jvm()
    print(json.dumps([_answers(each) for each in requests]))  # noqa: T201  # read by the test


def _answers(request: Mapping[str, Any]) -> list[str | None]:
    kind = request["kind"]
    field = {"name": "c", "dataType": kind, "singleValueField": request["single"]}
    if "max_length" in request:
        field["maxLength"] = request["max_length"]
    group = "metricFieldSpecs" if kind == "BIG_DECIMAL" else "dimensionFieldSpecs"
    schema = parse_schema({"schemaName": "t", group: [field]})
    config = parse_table_config(_CONFIG)
    process = _processor(jpype.JClass(_PIPELINE)(config, schema))
    decoder = jpype.JClass(_DECODER)()
    decoder.init(jpype.JClass("java.util.HashMap")(), jpype.JClass("java.util.HashSet")(["c"]), "topic")
    return [
        _stored(decoder, process, message.encode("utf-8", "surrogatepass")) for message in request["messages"]
    ]


def _processor(pipeline: Any) -> Callable[[Any], None]:
    if not has_method(jpype.JClass(_PIPELINE), "processRow", _ROW, f"{_PIPELINE}$Result"):
        return lambda row: pipeline.processRow(row)
    result = jpype.JClass(f"{_PIPELINE}$Result")()
    return lambda row: pipeline.processRow(row, result)


def _stored(decoder: Any, process: Callable[[Any], None], message: bytes) -> str | None:
    row = jpype.JClass(_ROW)()
    try:
        if decoder.decode(message, row) is None:
            return None
        process(row)
    except jpype.JException:
        return None
    value = row.getValue("c")
    if isinstance(value, jpype.JArray):
        arrays = jpype.JClass("java.util.Arrays")
        return str(arrays.toString(value))
    # As Java encodes it: half of a character becomes a question mark.
    return bytes(value.toString().getBytes("UTF-8")).decode()


if __name__ == "__main__":
    main()
