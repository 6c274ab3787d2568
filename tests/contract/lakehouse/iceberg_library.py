"""Iceberg's own library in a JVM of this process: its classes, types and values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import jpype
import pyspark

from jvm_bridge.jars import JarCache, Repository, cache_folder, parse_pins
from jvm_bridge.jars.download import MIRROR_VARIABLE
from jvm_bridge.jdk import find_java, module_flags

__all__ = ["Row", "iceberg_class", "java_list", "java_record", "java_type", "python_value", "start_iceberg"]

Row = Mapping[str, Any]
"""The values of a row, by column."""

_NANOS = 10**9

_NAME = "iceberg-1.11.0"
_PINS = Path(__file__).parents[2] / "pins"
_TYPES = {
    "int": "IntegerType",
    "long": "LongType",
    "double": "DoubleType",
    "string": "StringType",
    "date": "DateType",
}


def start_iceberg() -> None:
    """Start the JVM with Iceberg's jars, which are fetched at the first call on a machine, and Hadoop's."""
    pins = parse_pins(_NAME, (_PINS / f"{_NAME}.txt").read_text(encoding="utf-8"))
    jars = JarCache(cache_folder(), Repository(os.environ.get(MIRROR_VARIABLE) or None)).ensure(pins)
    hadoop = sorted(Path(pyspark.__file__).parent.glob("jars/hadoop-client-*.jar"))
    java = find_java()
    options = ["-Xmx512m", "-Xrs", "-XX:+UseSerialGC", *module_flags(java.version)]
    class_path = [*map(str, jars), *map(str, hadoop)]
    jpype.startJVM(*options, jvmpath=java.jvm_library, classpath=class_path, convertStrings=False)


def iceberg_class(name: str) -> Any:
    """Return a class of Iceberg."""
    return jpype.JClass(f"org.apache.iceberg.{name}")


def java_list(values: Iterable[Any]) -> Any:
    """Return a list of Java."""
    result = jpype.JClass("java.util.ArrayList")()
    for value in values:
        result.add(value)
    return result


def java_type(name: str) -> Any:
    """Return a type by its name."""
    if name == "timestamp":
        return iceberg_class("types.Types$TimestampType").withoutZone()
    if name == "timestamp_ns":
        return iceberg_class("types.Types$TimestampNanoType").withoutZone()
    if name.startswith("decimal"):
        return iceberg_class("types.Types$DecimalType").of(9, 2)
    return iceberg_class(f"types.Types${_TYPES[name]}").get()


def java_record(schema: Any, row: Row) -> Any:
    """Return a row as a record."""
    record = iceberg_class("data.GenericRecord").create(schema)
    for field in schema.columns():
        value = row.get(str(field.name()))
        record.setField(field.name(), _to_java(value, str(field.type())))
    return record


def _to_java(value: Any, kind: str) -> Any:
    if value is None or isinstance(value, jpype.JObject):
        return value
    if kind in {"int", "long", "double"}:
        names = {"int": "Integer", "long": "Long", "double": "Double"}
        return jpype.JClass(f"java.lang.{names[kind]}")(value)
    if kind == "date":
        return jpype.java.time.LocalDate.parse(value.isoformat())
    if kind == "timestamp":
        return jpype.java.time.LocalDateTime.parse(value.isoformat())
    if kind == "timestamp_ns":
        return jpype.java.time.LocalDateTime.ofEpochSecond(
            *divmod(value, _NANOS), jpype.java.time.ZoneOffset.UTC
        )
    return jpype.java.math.BigDecimal(str(value)) if kind.startswith("decimal") else jpype.JString(value)


def python_value(value: Any, kind: str) -> Any:
    """Return a value of a record, of a type with this name; ``timestamp_ns`` as nanoseconds since 1970."""
    if value is None:
        return None
    if kind in {"int", "long"}:
        return int(value)
    if kind == "double":
        return float(value)
    if kind == "date":
        return date.fromisoformat(str(value))
    if kind == "timestamp":
        return datetime.fromisoformat(str(value))
    if kind == "timestamp_ns":
        return int(value.toEpochSecond(jpype.java.time.ZoneOffset.UTC)) * _NANOS + int(value.getNano())
    return Decimal(str(value)) if kind.startswith("decimal") else str(value)
