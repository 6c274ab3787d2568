"""Conditions that servers evaluate with an index, and the rows that meet them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any

from tests.integration.jvm_bridge.served.stored_rows import StoredColumn, as_text

__all__ = ["KINDS", "Filter", "filters"]

_LISTS = {
    "invertedIndexColumns": "inverted",
    "rangeIndexColumns": "range",
    "bloomFilterColumns": "bloom",
    "jsonIndexColumns": "json",
    "noDictionaryColumns": "raw",
    "varLengthDictionaryColumns": "dictionary of any lengths",
}
KINDS = frozenset({*_LISTS.values(), "text", "fst", "partition", "star-tree", "null", "dictionary"})
_QUOTED = ("STRING", "BYTES", "BIG_DECIMAL")
_ORDERED = ("INT", "LONG", "FLOAT", "DOUBLE", "TIMESTAMP", "STRING")
_VALUES = 3
_STOP_WORD = "a"  # Lucene ignores it; random texts can contain no other stop word


@dataclass(frozen=True)
class Filter:
    """A condition.

    Attributes:
        kinds: The indexes that it uses.
        condition: SQL.
        rows: Numbers of the rows that meet it.
    """

    kinds: frozenset[str]
    condition: str
    rows: Sequence[int]


def _kinds_of(config: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the kinds of index that a column has."""
    indexing = config["tableIndexConfig"]
    kinds = {kind for key, kind in _LISTS.items() if name in indexing.get(key, ())}
    fields = [field for field in config.get("fieldConfigList", ()) if name == field["name"]]
    kinds |= {str(field["indexType"]).lower() for field in fields if "indexType" in field}
    if name in indexing.get("segmentPartitionConfig", {}).get("columnPartitionMap", {}):
        kinds.add("partition")
    if indexing.get("nullHandlingEnabled"):
        kinds.add("null")
    return frozenset(kinds if "raw" in kinds else kinds | {"dictionary"})


def filters(config: Mapping[str, Any], column: StoredColumn, random: Random) -> Iterator[Filter]:
    """Return conditions on a column for each of its indexes."""
    kinds = _kinds_of(config, column.name)
    lookup = kinds & {"inverted", "bloom", "raw", "partition", "dictionary", "dictionary of any lengths"}
    name = f'"{column.name}"'
    for value in _picked(column, random):
        rows = column.rows_where(lambda each, value=value: each == value)
        yield Filter(lookup, f"{name} = {_literal(column, value)}", rows)
    if absent := _absent(column):
        yield Filter(lookup, f"{name} = {absent}", [])
    bounds = [] if _misleads_ranges(column, kinds) else _picked(column, random)
    if column.data_type in _ORDERED and bounds:
        least, most = min(bounds, key=_order), max(bounds, key=_order)
        condition = f"{name} BETWEEN {_literal(column, least)} AND {_literal(column, most)}"
        inside = column.rows_where(lambda each: _order(least) <= _order(each) <= _order(most))
        yield Filter(kinds & {"range", "inverted", "raw", "dictionary"}, condition, inside)
    if "null" in kinds:
        rows = [row for row, is_null in enumerate(column.nulls) if is_null]
        yield Filter(frozenset({"null"}), f"{name} IS NULL", rows)
    if "json" in kinds:
        yield from _json_filters(column, random)
    if "text" in kinds:
        yield from _text_filters(column, random)
    if "fst" in kinds:
        yield from _prefix_filters(column, random)


def _picked(column: StoredColumn, random: Random) -> list[Any]:
    """Return some of the values that can be written in SQL and are equal to no others.

    Zeros differ by their sign where Pinot looks them up in a dictionary, and where it compares them they do
    not; so do decimals by zeros at their end.
    """
    if column.data_type == "JSON":
        return []
    values = dict.fromkeys(column.flat())
    if column.data_type in ("FLOAT", "DOUBLE"):
        values = {value: None for value in values if value != 0 and math.isfinite(value)}
    elif column.data_type == "BIG_DECIMAL":
        forms = Counter(Decimal(form) for form in {str(value) for value in column.flat()})
        values = {value: None for value in values if forms[value] == 1}
    elif column.data_type == "LONG":  # SQL has no literal for the lowest: its digits alone are out of range
        values.pop(-(2**63), None)
    sample: list[Any] = random.sample(list(values), min(_VALUES, len(values)))
    return sample


def _misleads_ranges(column: StoredColumn, kinds: frozenset[str]) -> bool:
    """Return whether Pinot's own range index misses rows: that of raw lists does where there is a NaN."""
    return (
        not column.is_single
        and {"range", "raw"} <= kinds
        and any(isinstance(value, float) and math.isnan(value) for value in column.flat())
    )


def _absent(column: StoredColumn) -> str | None:
    """Return a value of a column's range that it does not have, as SQL writes it."""
    if column.data_type not in ("INT", "LONG", "STRING"):
        return None
    there = set(column.flat())
    if column.data_type == "STRING":
        return "'aaab'" if "aaab" not in there else None
    middle = sorted(there)[len(there) // 2]
    return next((str(each) for each in range(middle + 1, middle + 1_000) if each not in there), None)


def _literal(column: StoredColumn, value: Any) -> str:
    if column.data_type in _QUOTED:
        text = value if column.data_type == "STRING" else as_text(column.data_type, value)
        return "'" + text.replace("'", "''") + "'"
    return repr(value).lower()


def _order(value: Any) -> Any:
    """Return what Java sorts a value by: of a text its UTF-16 units."""
    return value.encode("utf-16-be") if isinstance(value, str) else value


def _json_filters(column: StoredColumn, random: Random) -> Iterator[Filter]:
    def asked(path: str, value: Any, holds: Callable[[Any], bool]) -> Filter:
        rows = column.rows_where(lambda each: isinstance(each, dict) and holds(each))
        literal = f"''{value}''" if isinstance(value, str) else value
        condition = f'JSON_MATCH("{column.name}", \'"$.{path}" = {literal}\')'
        return Filter(frozenset({"json"}), condition, rows)

    yield asked("a", 1, lambda each: each.get("a") == 1)
    yield asked("a", "ü", lambda each: each.get("a") == "ü")
    yield asked("a.b[*]", 1, lambda each: isinstance(each.get("a"), dict) and 1 in each["a"]["b"])
    numbers = sorted({each["n"] for each in column.values if isinstance(each, dict) and "n" in each})
    for number in random.sample(numbers, min(_VALUES, len(numbers))):
        yield asked("n", number, partial(_has_number, number))


def _has_number(number: int, document: Mapping[str, Any]) -> bool:
    return document.get("n") == number


def _text_filters(column: StoredColumn, random: Random) -> Iterator[Filter]:
    """Search for words: texts that are one word for Lucene and start with a letter."""
    words = sorted({each.lower() for each in column.flat() if _is_word(each)})
    for word in random.sample(words, min(_VALUES, len(words))):
        rows = column.rows_where(lambda each, word=word: _is_word(each) and each.lower() == word)
        yield Filter(frozenset({"text"}), f"TEXT_MATCH(\"{column.name}\", '{word}')", rows)


def _is_word(text: str) -> bool:
    return text.isascii() and text.isalnum() and text[0].isalpha() and text.lower() != _STOP_WORD


def _prefix_filters(column: StoredColumn, random: Random) -> Iterator[Filter]:
    begins = sorted({each[:2] for each in column.flat() if each.isascii() and each.isalnum()})
    for begin in random.sample(begins, min(_VALUES, len(begins))):
        rows = column.rows_where(lambda each, begin=begin: each.startswith(begin))
        yield Filter(frozenset({"fst"}), f"REGEXP_LIKE(\"{column.name}\", '^{begin}.*')", rows)
