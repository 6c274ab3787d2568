"""The classes of Pinot that a build uses, one function per concern.

Differences between versions of Pinot are detected by a class's constructors and methods, never by trial.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

import jpype

from controller_client.errors import ConfigError
from jvm_bridge.builder.columns import SourceColumns
from jvm_bridge.input_rules import FileFormat, derived_columns
from jvm_bridge.java_errors import JAVA_ERRORS, root_causes

__all__ = [
    "fill_registries",
    "has_class",
    "has_constructor",
    "has_default_time",
    "has_method",
    "is_pinot_1",
    "java_class",
    "java_file_format",
    "keeps_source_types",
    "parse_schema",
    "parse_table_config",
    "source_columns",
    "source_fields",
]

_registries = threading.Lock()


def java_class(name: str) -> Any:
    """Return a Java class; starts the JVM if there is none in this process."""
    if not jpype.isJVMStarted():
        from jvm_bridge.jvm import start_jvm

        start_jvm()
    return jpype.JClass(name)


def has_class(name: str) -> bool:
    """Return whether this Pinot has a class."""
    try:
        java_class(name)
    except TypeError:  # raised by JPype if the class is not found
        return False
    return True


def is_pinot_1() -> bool:
    """Return whether this Pinot has one interface for all indexes, as every version since 1.0."""
    return has_class("org.apache.pinot.segment.spi.index.IndexService")


@cache
def keeps_source_types() -> bool:
    """Return whether Pinot's readers give a boolean or a time as such, as since 1.6.

    Before, a boolean is a text for functions, and a time is the number that the file stores.
    """
    extractor = java_class("org.apache.pinot.spi.data.readers.BaseRecordExtractor")
    return has_method(extractor, "stringifyMapKey")


def has_method(cls: Any, name: str, *first_parameters: str) -> bool:
    """Return whether a Java class has a public method with a name and these classes as first parameters."""
    return any(
        str(method.getName()) == name and _begins_with(method, first_parameters)
        for method in cls.class_.getMethods()
    )


def has_constructor(cls: Any, *first_parameters: str) -> bool:
    """Return whether a Java class has a public constructor with these classes as first parameters."""
    return any(_begins_with(each, first_parameters) for each in cls.class_.getConstructors())


def _begins_with(executable: Any, names: tuple[str, ...]) -> bool:
    types = [str(each.getName()) for each in executable.getParameterTypes()]
    return tuple(types[: len(names)]) == names


def fill_registries() -> None:
    """Let Pinot find its own segment loaders and functions, in one thread.

    Pinot scans the class path in static initializers. Two of these at the same time close each other's jars,
    and a registry stays empty for the lifetime of the JVM: then no segment can be built.
    """
    with _registries:
        java_class("org.apache.pinot.common.function.FunctionRegistry")
        loaders = java_class("org.apache.pinot.segment.spi.loader.SegmentDirectoryLoaderRegistry")
        if loaders.getDefaultSegmentDirectoryLoader() is None:  # another thread was scanning too
            loader = java_class("org.apache.pinot.segment.local.loader.DefaultSegmentDirectoryLoader")()
            loaders.setSegmentDirectoryLoader(loaders.DEFAULT_SEGMENT_DIRECTORY_LOADER_NAME, loader)


def parse_table_config(table_config: Mapping[str, Any]) -> Any:
    """Parse a table config with Pinot's own ``TableConfig``.

    Raises:
        ConfigError: Pinot cannot read it.
    """
    return _parsed("org.apache.pinot.spi.config.table.TableConfig", table_config, "table config")


def parse_schema(schema: Mapping[str, Any]) -> Any:
    """Parse a schema with Pinot's own ``Schema``.

    Raises:
        ConfigError: Pinot cannot read it.
    """
    return _parsed("org.apache.pinot.spi.data.Schema", schema, "schema")


def _parsed(class_name: str, value: Mapping[str, Any], what: str) -> Any:
    json_utils = java_class("org.apache.pinot.spi.utils.JsonUtils")
    try:
        return json_utils.stringToObject(json.dumps(value), java_class(class_name).class_)
    except JAVA_ERRORS as error:
        raise ConfigError(f"Pinot cannot read the {what}: {root_causes(error)}") from error


def java_file_format(file_format: FileFormat) -> Any:
    """Return Pinot's enum constant."""
    return getattr(java_class("org.apache.pinot.spi.data.readers.FileFormat"), file_format.value)


def source_fields(table_config: Any, schema: Any) -> Any:
    """Return the names of the fields that a record reader has to read (a Java set)."""
    utils = java_class("org.apache.pinot.segment.local.utils.IngestionUtils")
    if has_method(utils, "getFieldsForRecordExtractor", "org.apache.pinot.spi.config.table.TableConfig"):
        return utils.getFieldsForRecordExtractor(table_config, schema)  # since 1.3
    return utils.getFieldsForRecordExtractor(table_config.getIngestionConfig(), schema)


def source_columns(
    table_config: Any, schema: Any, documents: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> SourceColumns | None:
    """Return the columns that a table reads from its files; None if Pinot unnests them.

    Args:
        table_config: Pinot's ``TableConfig``.
        schema: Pinot's ``Schema``.
        documents: Both as returned by Pinot's REST API.

    Raises:
        ConfigError: Pinot cannot read a transform or a filter.
    """
    if (documents[0].get("ingestionConfig") or {}).get("complexTypeConfig") is not None:
        return None
    try:
        read = frozenset(str(name) for name in source_fields(table_config, schema))
    except JAVA_ERRORS as error:
        raise ConfigError(f"Pinot cannot read the table's transforms: {root_causes(error)}") from error
    expected = read - derived_columns(*documents)
    time = (documents[0].get("segmentsConfig") or {}).get("timeColumnName")
    is_needed = time in expected and not has_default_time(schema, time)
    return SourceColumns(read, expected, time if is_needed else None)


def has_default_time(schema: Any, column: str) -> bool:
    """Return whether a schema has a time for rows without one; otherwise Pinot stores the time of the build.

    Args:
        schema: Pinot's ``Schema``.
        column: Name of the time column.
    """
    spec = schema.getSpecForTimeColumn(column)
    if spec is None:
        return False
    try:
        millis = spec.getFormatSpec().fromFormatToMillis(spec.getDefaultNullValueString())
    except JAVA_ERRORS:  # such as the default "null"
        return False
    return bool(java_class("org.apache.pinot.spi.utils.TimeUtils").timeValueInValidRange(millis))
