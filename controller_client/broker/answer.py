"""A broker's answer parsed: fast, and with each digit of a BIG_DECIMAL."""

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
    """Parse what a broker answered.

    Pinot writes a BIG_DECIMAL as text, or as a number (0.11), of which doubles would keep 15 digits: an
    answer with such numbers is parsed anew.

    Raises:
        ValueError: It is no JSON.
    """
    with collection_paused():
        try:
            document = _LOADS(content)
        except ValueError:
            # orjson refuses half a character, which Java may write.
            document = json.loads(content)
        return json.loads(content, parse_float=Decimal) if _has_numbers(document) else document


def _has_numbers(document: Any) -> bool:
    """Whether a BIG_DECIMAL is a number."""
    table = document.get("resultTable") if isinstance(document, dict) else None
    if not table:
        return False
    kinds = table["dataSchema"]["columnDataTypes"]
    places = [number for number, kind in enumerate(kinds) if kind in _DECIMALS]
    return any(_is_number({type(row[place]) for row in table["rows"]}, place, table) for place in places)


def _is_number(types: set[type], place: int, table: Any) -> bool:
    if list in types:
        types = types | {type(item) for row in table["rows"] for item in row[place] or ()}
    return not types.isdisjoint((int, float))
