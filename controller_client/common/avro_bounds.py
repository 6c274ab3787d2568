"""How large a value of an Avro type may become, judging by its schema alone.

Avro's decoders trust the schema and the counts in the data. A recursive schema lets a few kilobytes nest
deeper than a stack, and items without bytes let a count of five bytes make billions of values. So a schema is
measured before data are decoded with it. Pure: no IO.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["MAX_LEVELS", "VALUES_PER_BYTE", "AvroSize", "avro_size"]

MAX_LEVELS = 100
"""Maximum depth of a value: Avro's own limit since 1.12.2."""
VALUES_PER_BYTE = 16
_MAX_VALUES_WITHOUT_BYTES = 10_000
_BYTES = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1}
_ONE_BYTE = 1


@dataclass(frozen=True)
class AvroSize:
    """The size of a type's values.

    Attributes:
        least_bytes: The fewest bytes that a value takes.
        excess: The most by which a value's own number of values, those within it included, exceeds
            :data:`VALUES_PER_BYTE` times its bytes. Values of arrays and maps never do.
        levels: The greatest depth of a value: 1 if there are no values within it.
    """

    least_bytes: int
    excess: int
    levels: int = 1


_UNKNOWN_RECURSION = AvroSize(1, 1 - VALUES_PER_BYTE)
"""A record within itself: its finite values end with a union, array or map, which takes a byte."""


def avro_size(schema: Any, *, strict: bool = True) -> AvroSize:
    """Measure the values of a schema.

    Args:
        schema: A schema, parsed from JSON.
        strict: Whether to refuse also items that may take no bytes, and a record within itself, which
            ``levels`` does not count. Without them, data make at most 10,000 values and 16 for each of their
            bytes.

    Raises:
        ValueError: It is refused, or invalid, or nested deeper than 100 levels, or a value has more than
            10,000 fields without bytes.
    """
    size = _Sizes(strict).of(schema, "", 0)
    if size.excess > _MAX_VALUES_WITHOUT_BYTES:
        raise ValueError(f"a value has more than {_MAX_VALUES_WITHOUT_BYTES:,} fields that take no bytes")
    return size


class _Sizes:
    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._named: dict[str, AvroSize | None] = {}
        """By full name; None while the type is being measured."""

    def of(self, schema: Any, namespace: str, level: int) -> AvroSize:
        if level > MAX_LEVELS:
            raise ValueError(f"it is nested deeper than {MAX_LEVELS} levels")
        if isinstance(schema, list):
            branches = [self.of(branch, namespace, level + 1) for branch in schema]
            return AvroSize(
                _ONE_BYTE + min((branch.least_bytes for branch in branches), default=0),
                max((branch.excess for branch in branches), default=0) - VALUES_PER_BYTE * _ONE_BYTE,
                max((branch.levels for branch in branches), default=1),
            )
        if isinstance(schema, str):
            return self._by_name(schema, namespace)
        kind = schema.get("type") if isinstance(schema, dict) else None
        if isinstance(kind, list | dict):
            return self.of(kind, namespace, level + 1)
        if kind in ("array", "map"):
            return self._many(schema, kind, namespace, level)
        if kind in ("record", "error", "enum", "fixed"):
            return self._definition(schema, kind, namespace, level)
        if isinstance(kind, str):
            return self._by_name(kind, namespace)
        raise ValueError("a part of it is not a type")

    def _by_name(self, name: str, namespace: str) -> AvroSize:
        if name in _BYTES:
            return _leaf(_BYTES[name])
        full_name = _full_name(name, namespace)
        if full_name not in self._named:
            raise ValueError(f"it has no type {full_name!r}")
        size = self._named[full_name]
        if size is None and self._strict:
            raise ValueError(f"{full_name!r} is within itself, so that data may nest to any depth")
        return size or _UNKNOWN_RECURSION

    def _many(self, schema: Mapping[str, Any], kind: str, namespace: str, level: int) -> AvroSize:
        items = self.of(schema.get("items" if kind == "array" else "values"), namespace, level + 1)
        key_bytes = _ONE_BYTE if kind == "map" else 0
        if self._strict and items.excess > VALUES_PER_BYTE * key_bytes:
            raise ValueError(
                f"the items of {'an array' if kind == 'array' else 'a map'} have too few bytes for their"
                " number of values"
            )
        return AvroSize(_ONE_BYTE, _leaf(_ONE_BYTE).excess, _deeper(items.levels))

    def _definition(self, schema: Mapping[str, Any], kind: str, namespace: str, level: int) -> AvroSize:
        given = schema.get("namespace")
        full_name = _full_name(str(schema.get("name")), given if isinstance(given, str) else namespace)
        self._named[full_name] = None
        if kind == "enum":
            size = _leaf(_ONE_BYTE)
        elif kind == "fixed":
            length = schema.get("size")
            size = _leaf(length if isinstance(length, int) and length > 0 else 0)
        else:
            size = self._record(schema, full_name.rpartition(".")[0], level)
        self._named[full_name] = size
        return size

    def _record(self, schema: Mapping[str, Any], namespace: str, level: int) -> AvroSize:
        fields = schema.get("fields")
        if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
            raise ValueError("a record has no list of fields")
        sizes = [self.of(field.get("type"), namespace, level + 1) for field in fields]
        return AvroSize(
            sum(size.least_bytes for size in sizes),
            1 + sum(size.excess for size in sizes),
            _deeper(max((size.levels for size in sizes), default=0)),
        )


def _leaf(least_bytes: int) -> AvroSize:
    return AvroSize(least_bytes, 1 - VALUES_PER_BYTE * least_bytes)


def _deeper(levels: int) -> int:
    if levels >= MAX_LEVELS:
        raise ValueError(f"its values may be nested deeper than {MAX_LEVELS} levels")
    return levels + 1


def _full_name(name: str, namespace: str) -> str:
    return f"{namespace}.{name}" if namespace and "." not in name else name
