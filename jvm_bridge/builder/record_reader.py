"""Opens a file to read its rows one by one: CSV with Pinot's own record reader, all other formats with ours.

Pinot's readers of JSON, Avro and Parquet change values without an error, each version other ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from controller_client.errors import ConfigError
from jvm_bridge.builder.column_rows import column_rows
from jvm_bridge.builder.expressions.evaluated_group import evaluator
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.pinot_classes import (
    has_class,
    has_method,
    java_class,
    java_file_format,
    source_fields,
)
from jvm_bridge.builder.planning import odd_ingestion_keys
from jvm_bridge.builder.sources.csv_source import check_widths
from jvm_bridge.builder.sources.files import columns_of
from jvm_bridge.builder.transformers import ROWS_PACKAGE, row_classes
from jvm_bridge.input_rules import FileFormat, csv_header
from jvm_bridge.java_errors import JAVA_ERRORS, root_causes

__all__ = ["open_reader", "reader_config"]

_READERS = "org.apache.pinot.spi.data.readers"
_CSV_CONFIG = "org.apache.pinot.plugin.inputformat.csv.CSVRecordReaderConfig"


def open_reader(file: SourceFile, table_config: Any, schema: Any, zone: str) -> Any:
    """Open a file; Java exceptions are not caught.

    Args:
        file: A prepared file.
        table_config: Pinot's ``TableConfig``.
        schema: Pinot's ``Schema``.
        zone: Time zone of texts in columns of type TIMESTAMP.

    Returns:
        A Java ``RecordReader``.

    Raises:
        DataError: It cannot be read, or a row of a CSV file has more values than the header has names.
        ConfigError: Pinot's reader does not support a property of the reader config.
        UnsupportedError: Our classes do not support this Pinot, or this Java has no compiler.
    """
    reader = _rows_of_file(file, table_config, schema)
    if not file.folders:
        return reader
    texts = java_class("java.util.HashMap")(dict(file.folders))
    columns = java_class("java.util.ArrayList")(schema.getAllFieldSpecs())
    return row_classes()[f"{ROWS_PACKAGE}.FolderRows"](reader, texts, columns, zone)


def _rows_of_file(file: SourceFile, table_config: Any, schema: Any) -> Any:
    config = reader_config(file)
    path = java_class("java.io.File")(str(file.path))
    fields = _fields(table_config, schema)
    if file.file_format is FileFormat.CSV:
        check_widths(file)
        factory = java_class(f"{_READERS}.RecordReaderFactory")
        return factory.getRecordReader(java_file_format(file.file_format), path, fields, config)
    texts = _texts(table_config, schema)
    if file.file_format is FileFormat.JSON:
        return row_classes()[f"{ROWS_PACKAGE}.JsonRows"](path, fields, java_class("java.util.HashSet")(texts))
    ints = [str(spec.getName()) for spec in schema.getAllFieldSpecs() if str(spec.getDataType()) == "INT"]
    return column_rows(file, columns_of(file), {str(name) for name in fields}, ints=ints, texts=texts)


def _fields(table_config: Any, schema: Any) -> Any:
    """Return the names of the columns to read, as a Java set; none if all are needed."""
    if _unnests(table_config):
        return java_class("java.util.HashSet")()  # Pinot's own list lacks columns that it renames
    return source_fields(table_config, schema)


def _unnests(table_config: Any) -> bool:
    ingestion = table_config.getIngestionConfig()
    return ingestion is not None and ingestion.getComplexTypeConfig() is not None


def _texts(table_config: Any, schema: Any) -> Sequence[str]:
    """Return the columns whose lists and maps are only stored, as JSON: no function reads them."""
    ingestion = json.loads(str(table_config.toJsonString())).get("ingestionConfig") or {}
    if odd_ingestion_keys(ingestion):
        return ()
    specs = schema.getAllFieldSpecs()
    functions = [each.get("transformFunction") for each in ingestion.get("transformConfigs") or ()]
    functions.append((ingestion.get("filterConfig") or {}).get("filterFunction"))
    functions += [spec.getTransformFunction() for spec in specs]
    read = {str(name) for each in functions if each for name in evaluator(each).getArguments()}
    return [
        str(spec.getName())
        for spec in specs
        if spec.isSingleValueField()
        and str(spec.getDataType()) in ("STRING", "JSON")
        and str(spec.getName()) not in read
    ]


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
    except JAVA_ERRORS as error:
        raise ConfigError(
            f"Pinot's {file.file_format} reader rejects these properties: {root_causes(error)}",
            expected="the properties of Pinot's record reader config, e.g. delimiter, header",
        ) from error
