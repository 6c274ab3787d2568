"""JSON messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

__all__ = ["read_json"]


def read_json(values: Sequence[bytes]) -> list[Mapping[str, Any] | None]:
    """Read messages; None for one that is not a JSON object."""
    try:
        rows = list(map(orjson.loads, values))
    except orjson.JSONDecodeError:
        rows = [_one(value) for value in values]
    if set(map(type, rows)) == {dict}:
        return rows
    return [row if type(row) is dict else None for row in rows]


def _one(value: bytes) -> Any:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
