"""Opens a file with Pinot's own record reader, and converts time columns to the units of the table.

Pinot 0.11's readers return the number that the file stores, in the file's unit, and no transform in Pinot can
change a column in place. So ``TimeConvertingRecordReader.java`` wraps Pinot's reader.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import jpype

from controller_client.errors import ConfigError
from jvm_bridge.builder.model import FileFormat
from jvm_bridge.builder.pinot_classes import (
    has_class,
    has_method,
    java_class,
    java_file_format,
    root_causes,
    source_fields,
)
from jvm_bridge.builder.source_file import SourceFile
from jvm_bridge.builder.sources.csv_source import check_widths
from jvm_bridge.input_rules import csv_header
from jvm_bridge.java import JavaSources, load_java_apart
from jvm_bridge.patched_classes import patching
from jvm_bridge.time_conversion import MILLI_NS

__all__ = ["open_reader", "reader_config"]

_READERS = "org.apache.pinot.spi.data.readers"
_CSV_CONFIG = "org.apache.pinot.plugin.inputformat.csv.CSVRecordReaderConfig"
_PACKAGE = "io.pinotplugins.reader"
_lock = threading.Lock()


def open_reader(file: SourceFile, table_config: Any, schema: Any) -> Any:
    """Open a file; Java exceptions are not caught.

    Args:
        file: A prepared file.
        table_config: Pinot's ``TableConfig``.
        schema: Pinot's ``Schema``.

    Returns:
        A Java ``RecordReader``.

    Raises:
        DataError: A row of a CSV file has more values than the header has names.
        ConfigError: Pinot's reader does not support a property of the reader config.
        UnsupportedError: Times have to be converted, but this Pinot is built differently.
        SetupError: Times have to be converted, but this Java has no compiler.
    """
    if file.file_format is FileFormat.CSV:
        check_widths(file)
    reader = java_class(f"{_READERS}.RecordReaderFactory").getRecordReader(
        java_file_format(file.file_format),
        java_class("java.io.File")(str(file.path)),
        source_fields(table_config, schema),
        reader_config(file),
    )
    if not file.times:
        return reader
    names = list(file.times)
    return _converting_class()(
        reader,
        jpype.JArray(jpype.JString)(names),
        jpype.JArray(jpype.JLong)([MILLI_NS // file.times[name].from_ns for name in names]),
        jpype.JArray(jpype.JLong)([file.times[name].multiplier for name in names]),
        jpype.JArray(jpype.JLong)([file.times[name].divisor for name in names]),
        jpype.JArray(jpype.JBoolean)([_is_int(schema, name) for name in names]),
    )


def _is_int(schema: Any, name: str) -> bool:
    spec = schema.getFieldSpecFor(name)
    return spec is not None and str(spec.getDataType()) == "INT"


@cache
def _load_converting_class() -> Any:
    with patching(
        "times in Parquet and Avro files cannot be converted in this version of Pinot",
        remedy="write the files with times in the unit of the table's time columns",
    ):
        classes = load_java_apart(JavaSources.of("jvm_bridge.builder", _PACKAGE))
        return classes[f"{_PACKAGE}.TimeConvertingRecordReader"]


def _converting_class() -> Any:
    with _lock:  # subtasks of a minion are threads
        return _load_converting_class()


def _spaces_kept() -> Any | None:
    """Return a config that keeps spaces around values, which Pinot's default drops (since 1.1)."""
    if not has_class(_CSV_CONFIG):
        return None
    config_class = java_class(_CSV_CONFIG)
    if not has_method(config_class, "setIgnoreSurroundingSpaces"):
        return None
    config = config_class()
    config.setIgnoreSurroundingSpaces(False)
    return config


def reader_config(file: SourceFile) -> Any | None:
    """Return Pinot's ``RecordReaderConfig`` for a file, or None for Pinot's defaults.

    As in Pinot 0.11, spaces around the values of a CSV file are kept if no property is set, and otherwise
    dropped.

    Raises:
        ConfigError: Pinot's reader for the format does not support a property, or a header is not a list of
            names.
    """
    config = file.reader_config
    if file.needs_native_reader:
        config = {"useParquetAvroRecordReader": "false", **(config or {})}
    if config is None:
        return _spaces_kept() if file.file_format is FileFormat.CSV else None
    names = csv_header(config) if file.file_format is FileFormat.CSV else None
    if names is not None:
        config = {**config, "header": (config.get("delimiter") or ",").join(names)}
    properties = java_class("java.util.HashMap")()
    for key, value in config.items():
        properties.put(key, value)
    factory = java_class(f"{_READERS}.RecordReaderFactory")
    try:
        return factory.getRecordReaderConfig(java_file_format(file.file_format), properties)
    except jpype.JException as error:
        raise ConfigError(
            f"Pinot's {file.file_format} reader rejects these properties: {root_causes(error)}",
            expected="the properties of Pinot's record reader config, e.g. delimiter, header",
        ) from error
