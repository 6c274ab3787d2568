"""Parses a broker's response: fast, and with all digits of a BIG_DECIMAL."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from controller_client.common.collection import collection_paused

__all__ = ["parse_answer"]

_DECIMALS = ("BIG_DECIMAL", "BIG_DECIMAL_ARRAY")


def _fastest() -> Callable[[bytes], Any]:
    try:
        import orjson
    except ModuleNotFoundError:
        return json.loads
    return orjson.loads


_LOADS = _fastest()


def parse_answer(content: bytes) -> Any:
    """Parse a broker's response.

    Pinot writes a BIG_DECIMAL as a string, or as a number (0.11), of which a double would keep only 15
    digits: a response with such numbers is parsed again.

    Raises:
        ValueError: It is not JSON.
    """
    with collection_paused():
        try:
            document = _LOADS(content)
        except ValueError:
            # orjson refuses lone surrogates, which Java may write.
            document = json.loads(content)
        return json.loads(content, parse_float=Decimal) if _has_numbers(document) else document


def _has_numbers(document: Any) -> bool:
    """Whether a BIG_DECIMAL is written as a number."""
    table = document.get("resultTable") if isinstance(document, dict) else None
    if not table:
        return False
    kinds = table["dataSchema"]["columnDataTypes"]
    positions = [number for number, kind in enumerate(kinds) if kind in _DECIMALS]
    return any(_is_number({type(row[at]) for row in table["rows"]}, at, table) for at in positions)


def _is_number(types: set[type], position: int, table: Any) -> bool:
    if list in types:
        types = types | {type(item) for row in table["rows"] for item in row[position] or ()}
    return not types.isdisjoint((int, float))
