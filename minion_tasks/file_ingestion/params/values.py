"""Parsers for the values of a task's parameters; each raises ValueError with what it expected."""

from __future__ import annotations

from controller_client.common.parsing import count, whole_number
from jvm_bridge.input_rules import text_encoding

_INT_MAX = 2**31 - 1


def count_or_no_bound(value: str) -> int | None:
    """Parse a whole number of at least 1, or -1 for None."""
    return None if value.strip() == "-1" else count(value)


def retries(value: str) -> int:
    """Parse a whole number up to Java's INT_MAX."""
    number = whole_number(value.strip())
    if number is None or number > _INT_MAX:
        raise ValueError(f"expected a whole number from 0 to {_INT_MAX}")
    return number


def encoding(value: str) -> str:
    """Check the name of a text encoding."""
    text_encoding(value)
    return value.strip()
