"""Pinot stores the rows that the key coordinator counts as stored, with the same values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jpype
import orjson
import pytest

from jvm_bridge.builder.pinot_classes import has_method, parse_schema, parse_table_config
from jvm_bridge.java_errors import JAVA_ERRORS
from key_coordinator.reading.columns import KeyColumn
from key_coordinator.reading.values import ALWAYS_STORED, is_stored, whole_number
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

# JSON values.
_TEXTS = r"""
"" | " " | "a" | "é" | "1" | "-1" | "+5" | " 7 " | "\t8\n" | "1.0" | "1.5" | "1e3" | "1_000" | "0x10"
"2147483648" | "-2147483649" | "9223372036854775807" | "9223372036854775808" | "NaN" | "Infinity" | "1d"
"1f" | ".5" | "5." | "-" | "true" | "TRUE" | "True" | " true " | "yes" | "t" | "on" | "0" | "ff" | "FF0"
"fff" | "{}" | "[1" | "{\"a\": 1}" | "null" | "2020-01-02 03:04:05" | "2020-01-02 03:04:05.6789"
"2020-01-02T03:04:05" | "2020-01-02" | "2020-13-02 03:04:05" | "2020-02-30 03:04:05" | "1700000000000"
"1700000000000.5" | "\u0661"
"""
_NUMBERS = """
0 | 1 | -1 | 1.0 | 1.9 | -1.9 | 1e3 | 2147483647 | 2147483648 | -2147483649 | 4294967297 | 1e19 | 0.1
9223372036854775807 | 9223372036854775808 | -9223372036854775808 | -9223372036854775809 | 3000000000.5
1700000000000 | 1700000000000.7 | 123456789012345678901234567890
"""
_OTHERS = """
null | true | false | {} | [] | [1] | ["a"] | [1, 2] | [[1], [2]] | {"x": 1} | {"x": 1, "y": 2}
{"x": {"y": 3}} | [null] | [null, 4] | [[1, 2]] | ["a", "b"] | [true] | [1, null, 2]
"""
_KINDS = ["INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL", "BOOLEAN", "TIMESTAMP", "STRING", "BYTES", "JSON"]
_SINGLE_ONLY = ("BIG_DECIMAL", "BOOLEAN", "TIMESTAMP", "BYTES", "JSON")


def _listed(lines: str) -> list[str]:
    return [value for line in lines.splitlines() if line for value in line.split(" | ")]


def _stored(child: SegmentChild, *requests: dict[str, object]) -> list[list[str | None]]:
    return child.call(stored_texts, requests)


def test_what_counts_as_stored_is_stored(child: SegmentChild) -> None:
    asked = [(kind, True) for kind in _KINDS] + [(kind, False) for kind in _KINDS if kind not in _SINGLE_ONLY]
    messages = [f'{{"c": {value}}}' for value in _listed(_TEXTS + _NUMBERS + _OTHERS)]
    found = _stored(
        child, *({"kind": kind, "single": single, "messages": messages} for kind, single in asked)
    )
    wrong, refused, taken = [], 0, 0
    for (kind, single), answers in zip(asked, found, strict=True):
        for message, stored in zip(messages, answers, strict=True):
            value = orjson.loads(message)["c"]
            takes = type(value) in ALWAYS_STORED[kind] or is_stored(value, kind, single=single)
            if takes and stored is None:
                wrong.append(f"{kind} {'' if single else '[] '}{message}")
            taken += takes
            refused += stored is not None and not takes
    assert not wrong
    # Since 1.6 Pinot stores more of the values that are not counted on here.
    assert taken > (4 if child.features["keeps_source_types"] else 5) * refused


@pytest.mark.parametrize("kind", ["INT", "LONG", "BOOLEAN", "TIMESTAMP"])
def test_a_whole_number_is_the_one_that_is_stored(child: SegmentChild, kind: str) -> None:
    messages = [f'{{"c": {value}}}' for value in [*_listed(_TEXTS + _NUMBERS), "true", "false"]]
    (answers,) = _stored(child, {"kind": kind, "single": True, "messages": messages})
    numbers = [whole_number(orjson.loads(message)["c"], kind) for message in messages]
    known = [(m, n, a) for m, n, a in zip(messages, numbers, answers, strict=True) if n is not None]
    assert len(known) > 5
    assert [(message, str(number)) for message, number, _ in known] == [(m, a) for m, _, a in known]


@pytest.mark.parametrize("max_length", [512, 5])
def test_a_text_of_a_key_is_the_one_that_is_stored(child: SegmentChild, max_length: int) -> None:
    texts = ["", "a", "abcde", "abcdef", "a\\u0000b", "\\u0000", "null", "é" * 6, "abcd😀", "abc😀x"]
    texts += ["😀" * 300, "x" * 511 + "😀", "x" * 512, "x" * 513, "x" * 400 + "\\u0000" + "y" * 400]
    messages = [*(f'{{"c": "{text}"}}' for text in texts), '{"c": true}', '{"c": 12}', '{"c": 123456}']
    request = {"kind": "STRING", "single": True, "max_length": max_length, "messages": messages}
    (answers,) = _stored(child, request)
    keys = KeyColumn("c", "STRING", max_length).parts([orjson.loads(message)["c"] for message in messages])
    found = [None if key is None else key[4:].decode() for key in keys]
    # If the truncation splits a character, Java writes a question mark, which other texts may contain too.
    assert found == [None if answer is None or answer.endswith("?") else answer for answer in answers]
    assert None in found


# --- in the child ---

_PIPELINE = "org.apache.pinot.segment.local.segment.creator.TransformPipeline"
_DECODER = "org.apache.pinot.plugin.inputformat.json.JSONMessageDecoder"
_ROW = "org.apache.pinot.spi.data.readers.GenericRow"


def stored_texts(requests: list[Mapping[str, Any]]) -> list[list[str | None]]:
    """In the child: return the value of each message as text, or None.

    A value that is null in Pinot is returned as the column's default. ``messages`` are JSON documents with a
    column ``c``.
    """
    return [_answers(each) for each in requests]


def _answers(request: Mapping[str, Any]) -> list[str | None]:
    column = {"c": request["kind"]}
    extra = {"c": {"maxLength": request["max_length"]}} if "max_length" in request else None
    if request["kind"] == "BIG_DECIMAL":
        schema = schema_of({}, metrics=column)
    elif request["single"]:
        schema = schema_of(column, extra=extra)
    else:
        schema = schema_of({}, multi_values=column)
    pipeline = jpype.JClass(_PIPELINE)(
        parse_table_config(table_config(null_handling=False)), parse_schema(schema)
    )
    process = _processor(pipeline)
    decoder = jpype.JClass(_DECODER)()
    decoder.init(jpype.JClass("java.util.HashMap")(), jpype.JClass("java.util.HashSet")(["c"]), "topic")
    return [
        _stored_text(decoder, process, message.encode("utf-8", "surrogatepass"))
        for message in request["messages"]
    ]


def _processor(pipeline: Any) -> Callable[[Any], None]:
    if not has_method(jpype.JClass(_PIPELINE), "processRow", _ROW, f"{_PIPELINE}$Result"):
        return lambda row: pipeline.processRow(row)
    result = jpype.JClass(f"{_PIPELINE}$Result")()
    return lambda row: pipeline.processRow(row, result)


def _stored_text(decoder: Any, process: Callable[[Any], None], message: bytes) -> str | None:
    row = jpype.JClass(_ROW)()
    try:
        if decoder.decode(message, row) is None:
            return None
        process(row)
    except JAVA_ERRORS:
        return None
    value = row.getValue("c")
    if isinstance(value, jpype.JArray):
        arrays = jpype.JClass("java.util.Arrays")
        return str(arrays.toString(value))
    # As Java encodes it: half of a character becomes a question mark.
    return bytes(value.toString().getBytes("UTF-8")).decode()
