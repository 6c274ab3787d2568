"""Pinot's types of Arrow's, for the tables that benchmarks make."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

__all__ = ["dimensions"]

_TYPES = {
    pa.int32(): "INT",
    pa.int64(): "LONG",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
}


def dimensions(fields: Iterable[pa.Field]) -> list[dict[str, str]]:
    """Return the ``dimensionFieldSpecs`` of a schema with a column for each field."""
    return [{"name": field.name, "dataType": _TYPES[field.type]} for field in fields]
