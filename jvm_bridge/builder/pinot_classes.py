"""Pinot's own classes that a build uses, one function per concern.

What differs between Pinot's versions is told apart by what the class has (its constructors and methods),
never by trial.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jpype

from controller_client.errors import ConfigError
from jvm_bridge.builder.model import FileFormat

__all__ = [
    "java_class",
    "parse_schema",
    "parse_table_config",
    "pass_through_pipeline",
    "reader_config",
    "root_causes",
    "source_fields",
]


def java_class(name: str) -> Any:
    """Return a Java class, in a JVM that is started if there is none in this process."""
    if not jpype.isJVMStarted():
        from jvm_bridge.jvm import start_jvm

        start_jvm()
    return jpype.JClass(name)


def parse_table_config(table_config: Mapping[str, Any]) -> Any:
    """Parse with Pinot's own ``TableConfig``.

    Raises:
        ConfigError: Pinot cannot read it.
    """
    return _parsed("org.apache.pinot.spi.config.table.TableConfig", table_config, "table config")


def parse_schema(schema: Mapping[str, Any]) -> Any:
    """Parse with Pinot's own ``Schema``.

    Raises:
        ConfigError: Pinot cannot read it.
    """
    return _parsed("org.apache.pinot.spi.data.Schema", schema, "schema")


def _parsed(class_name: str, value: Mapping[str, Any], what: str) -> Any:
    json_utils = java_class("org.apache.pinot.spi.utils.JsonUtils")
    try:
        return json_utils.stringToObject(json.dumps(value), java_class(class_name).class_)
    except jpype.JException as error:
        raise ConfigError(f"Pinot cannot read the {what}: {root_causes(error)}") from error


def reader_config(file_format: FileFormat, config: Mapping[str, str] | None) -> Any | None:
    """Return Pinot's ``RecordReaderConfig`` for the properties, or None for Pinot's defaults.

    Raises:
        ConfigError: Pinot's reader of that format does not know a property.
    """
    if config is None:
        return None
    properties = java_class("java.util.HashMap")()
    for key, value in config.items():
        properties.put(key, value)
    factory = java_class("org.apache.pinot.spi.data.readers.RecordReaderFactory")
    try:
        return factory.getRecordReaderConfig(java_file_format(file_format), properties)
    except jpype.JException as error:
        raise ConfigError(
            f"Pinot's {file_format} reader does not take these properties: {root_causes(error)}",
            expected="the properties of Pinot's record reader config, e.g. delimiter, header",
        ) from error


def java_file_format(file_format: FileFormat) -> Any:
    """Return Pinot's enum constant."""
    return getattr(java_class("org.apache.pinot.spi.data.readers.FileFormat"), file_format.value)


def source_fields(table_config: Any, schema: Any) -> Any:
    """Return the names of the fields that a record reader must read (a Java set)."""
    utils = java_class("org.apache.pinot.segment.local.utils.IngestionUtils")
    return utils.getFieldsForRecordExtractor(table_config.getIngestionConfig(), schema)


def pass_through_pipeline(table_name: str) -> Any:
    """Return a transform pipeline that leaves rows as they are."""
    pipeline = java_class("org.apache.pinot.segment.local.segment.creator.TransformPipeline")
    if _parameters(pipeline, "getPassThroughPipeline") == {0}:
        return pipeline.getPassThroughPipeline()
    return pipeline.getPassThroughPipeline(table_name)


def _parameters(cls: Any, method: str) -> set[int]:
    return {int(m.getParameterCount()) for m in cls.class_.getMethods() if str(m.getName()) == method}


def root_causes(error: Any) -> str:
    """Return the messages of a Java exception and of its causes, outermost first, each once."""
    texts: list[str] = []
    cause: Any = error
    while cause is not None and len(texts) < 6:
        message = cause.getMessage()
        text = str(message).strip().splitlines()[0] if message is not None and str(message).strip() else ""
        name = str(cause.getClass().getSimpleName())
        # An exception that wraps another repeats it as its own message.
        if not any(text and text in earlier for earlier in texts):
            texts.append(f"{name}: {text[:300]}" if text else name)
        cause = cause.getCause()
    return "; ".join(texts)
