"""Pinot's own driver over Arrow rows: the reference for every other way to build a segment.

The rows come from a ``RecordReader`` in Python, so no reader for a file format is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jpype
import pyarrow as pa
from jpype import JProxy

from jvm_bridge.builder.driver import PinotTable, SegmentTarget, generator_config, pack, run_driver
from jvm_bridge.builder.model import BuiltSegment
from jvm_bridge.builder.pinot_classes import parse_schema, parse_table_config
from jvm_bridge.builder.planning import Unsuitable

__all__ = ["build_by_rows"]

_BOXES = {
    pa.int32(): (jpype.JInt, "java.lang.Integer"),
    pa.int64(): (jpype.JLong, "java.lang.Long"),
    pa.float32(): (jpype.JFloat, "java.lang.Float"),
    pa.float64(): (jpype.JDouble, "java.lang.Double"),
    pa.bool_(): (jpype.JBoolean, "java.lang.Boolean"),
}


def build_by_rows(
    table_config: dict[str, Any], schema: dict[str, Any], rows: pa.Table, name: str, work_dir: Path
) -> BuiltSegment:
    """Build a segment; a row that Pinot rejects raises ``jpype.JException``."""
    folder = work_dir / "by-rows"
    folder.mkdir(exist_ok=True)
    table = PinotTable(
        parse_table_config(table_config), parse_schema(schema), Unsuitable("row by row"), None, {}
    )
    target = SegmentTarget(name, folder, work_dir, {})
    config = generator_config(table.config, table.schema, target)
    return pack(run_driver(config, _reader(rows)), target, "pinot", None)


def _reader(rows: pa.Table) -> Any:
    columns = {name: _values(rows[name]) for name in rows.column_names}
    generic_row = jpype.JClass("org.apache.pinot.spi.data.readers.GenericRow")
    position = 0

    def rewind() -> None:
        nonlocal position
        position = 0

    def following(row: Any = None) -> Any:
        nonlocal position
        if row is None:
            row = generic_row()
        for name, values in columns.items():
            row.putValue(name, values[position])
        position += 1
        return row

    methods = {"hasNext": lambda: position < rows.num_rows, "next": following, "rewind": rewind}
    methods["close"] = lambda: None
    return JProxy("org.apache.pinot.spi.data.readers.RecordReader", dict=methods)


def _values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_list(column.type):
        objects = jpype.JArray(jpype.JObject)
        kind = column.type.value_type
        return [
            None if each is None else objects([_value(value, kind) for value in each])
            for each in column.to_pylist()
        ]
    return [_value(each, column.type) for each in column.to_pylist()]


def _value(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if kind in _BOXES:
        primitive, box = _BOXES[kind]
        return jpype.JClass(box)(primitive(value))
    if isinstance(value, bytes):
        return jpype.JArray(jpype.JByte)(value)
    return jpype.JClass("java.lang.String")(value)
