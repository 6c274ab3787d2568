"""Types of Iceberg, and their values in Python and in Java."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import jpype

from tests.contract.lakehouse.iceberg_library import iceberg_class, java_list

__all__ = ["Row", "java_record", "java_type", "python_value"]

Row = Mapping[str, Any]
"""The values of a row, by column."""

_NANOS = 10**9


@dataclass(frozen=True)
class _Kind:
    """A type.

    Attributes:
        java_type: Returns it.
        to_java: Converts a value to that of a record.
        to_python: Converts a value of a record.
    """

    java_type: Callable[[], Any]
    to_java: Callable[[Any], Any]
    to_python: Callable[[Any], Any]


def _type(name: str, how: str = "get", *arguments: Any) -> Callable[[], Any]:
    return lambda: getattr(iceberg_class(f"types.Types${name}"), how)(*arguments)


def _boxed(name: str) -> Callable[[Any], Any]:
    return lambda value: jpype.JClass(f"java.lang.{name}")(value)


def _parsed(name: str) -> Callable[[Any], Any]:
    return lambda value: jpype.JClass(f"java.time.{name}").parse(value.isoformat())


def _bytes(value: bytes) -> Any:
    return jpype.JArray(jpype.JByte)(value)


def _content(buffer: Any) -> bytes:
    content = jpype.JArray(jpype.JByte)(int(buffer.remaining()))
    buffer.duplicate().get(content)
    return bytes(content)


def _list_type() -> Any:
    return iceberg_class("types.Types$ListType").ofOptional(100, java_type("int"))


def _utc() -> Any:
    return jpype.java.time.ZoneOffset.UTC


_KINDS: Mapping[str, _Kind] = {
    "boolean": _Kind(_type("BooleanType"), _boxed("Boolean"), bool),
    "int": _Kind(_type("IntegerType"), _boxed("Integer"), int),
    "long": _Kind(_type("LongType"), _boxed("Long"), int),
    "float": _Kind(_type("FloatType"), _boxed("Float"), float),
    "double": _Kind(_type("DoubleType"), _boxed("Double"), float),
    "decimal(9, 2)": _Kind(
        _type("DecimalType", "of", 9, 2),
        lambda value: jpype.java.math.BigDecimal(str(value)),
        lambda value: Decimal(str(value)),
    ),
    "string": _Kind(_type("StringType"), jpype.JString, str),
    "date": _Kind(_type("DateType"), _parsed("LocalDate"), lambda value: date.fromisoformat(str(value))),
    "time": _Kind(_type("TimeType"), _parsed("LocalTime"), lambda value: time.fromisoformat(str(value))),
    "timestamp": _Kind(
        _type("TimestampType", "withoutZone"),
        _parsed("LocalDateTime"),
        lambda value: datetime.fromisoformat(str(value)),
    ),
    "timestamptz": _Kind(
        _type("TimestampType", "withZone"),
        _parsed("OffsetDateTime"),
        lambda value: datetime.fromisoformat(str(value)),
    ),
    # In Python, nanoseconds since 1970.
    "timestamp_ns": _Kind(
        _type("TimestampNanoType", "withoutZone"),
        lambda value: jpype.java.time.LocalDateTime.ofEpochSecond(*divmod(value, _NANOS), _utc()),
        lambda value: int(value.toEpochSecond(_utc())) * _NANOS + int(value.getNano()),
    ),
    "uuid": _Kind(
        _type("UUIDType"),
        lambda value: jpype.java.util.UUID.fromString(str(value)),
        lambda value: UUID(str(value)),
    ),
    "fixed[3]": _Kind(_type("FixedType", "ofLength", 3), _bytes, bytes),
    "binary": _Kind(
        _type("BinaryType"),
        lambda value: jpype.java.nio.ByteBuffer.wrap(_bytes(value)),
        _content,
    ),
    "list<int>": _Kind(
        _list_type,
        lambda values: java_list(map(_boxed("Integer"), values)),
        lambda values: [int(value) for value in values],
    ),
}


def java_type(name: str) -> Any:
    """Return a type by its name."""
    return _KINDS[name].java_type()


def java_record(schema: Any, row: Row) -> Any:
    """Return a row as a record."""
    record = iceberg_class("data.GenericRecord").create(schema)
    for field in schema.columns():
        value = row.get(str(field.name()))
        if value is not None and not isinstance(value, jpype.JObject):
            value = _KINDS[str(field.type())].to_java(value)
        record.setField(field.name(), value)
    return record


def python_value(value: Any, name: str) -> Any:
    """Return a value of a record, of a type with this name."""
    return None if value is None else _KINDS[name].to_python(value)
