"""Pinot's own driver and conversions: the reference for every other way to build a segment.

The rows come from a ``RecordReader`` in Python, so that no reader for a file format is needed, or from
Pinot's own reader of a format.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jpype
import pyarrow as pa
from jpype import JProxy

from jvm_bridge.builder.driver import SegmentTarget, generator_config, pack, run_driver
from jvm_bridge.builder.model import BuiltSegment, SourceFile
from jvm_bridge.builder.pinot_classes import java_file_format, parse_schema, parse_table_config, source_fields
from jvm_bridge.builder.record_reader import reader_config

__all__ = ["build_by_pinot_alone", "build_by_rows"]

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
    config, target = _config(table_config, schema, name, work_dir)
    return pack(run_driver(config, _reader(rows)), target, "pinot", None)


def build_by_pinot_alone(
    table_config: dict[str, Any], schema: dict[str, Any], file: SourceFile, name: str, work_dir: Path
) -> BuiltSegment:
    """Build a segment with Pinot's reader; a row that Pinot rejects raises ``jpype.JException``."""
    config, target = _config(table_config, schema, name, work_dir)
    config.setInputFilePath(str(file.path))
    reader = jpype.JClass("org.apache.pinot.spi.data.readers.RecordReaderFactory").getRecordReader(
        java_file_format(file.file_format),
        jpype.JClass("java.io.File")(str(file.path)),
        source_fields(config.getTableConfig(), config.getSchema()),
        reader_config(file),
    )
    return pack(run_driver(config, reader), target, "pinot", None)


def _config(
    table_config: dict[str, Any], schema: dict[str, Any], name: str, work_dir: Path
) -> tuple[Any, SegmentTarget]:
    folder = work_dir / "by-rows"
    folder.mkdir(exist_ok=True)
    target = SegmentTarget(name, folder, work_dir, {})
    return generator_config(parse_table_config(table_config), parse_schema(schema), target), target


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
