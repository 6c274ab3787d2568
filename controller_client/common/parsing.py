"""Parsers for text from outside. Those for option values raise ValueError with what they expected."""

from __future__ import annotations

import re
from collections.abc import Callable

_WHOLE_NUMBER = re.compile("-?[0-9]{1,19}")
_JAVA_LONG = range(-(2**63), 2**63)


def whole_number(value: str | bytes | None, *, signed: bool = False) -> int | None:
    """Parse a whole number that a header, record, reply or file contains; None for anything else.

    It accepts ASCII digits alone, at most as many as a Java long has. ``int()`` also accepts blanks,
    underscores and the digits of other scripts, and raises for thousands of digits; ``str.isdigit()`` is true
    for characters that ``int()`` refuses, such as a superscript.

    Args:
        value: The text.
        signed: Whether a minus sign may precede the digits.
    """
    # Each byte becomes one character, so that none but a digit becomes a digit.
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if text is None or not _WHOLE_NUMBER.fullmatch(text) or (text[0] == "-" and not signed):
        return None
    number = int(text)
    return number if number in _JAVA_LONG else None


def text(value: str) -> str:
    """Accept any text that is not empty."""
    if not value.strip():
        raise ValueError("it is empty")
    return value.strip()


def boolean(value: str) -> bool:
    """Parse true or false."""
    if value.strip().lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return value.strip().lower() == "true"


def count(value: str) -> int:
    """Parse an integer of at least 1."""
    number = whole_number(value.strip())
    if number is None or number < 1:
        raise ValueError("expected an integer, at least 1")
    return number


def count_or_all(value: str) -> int | None:
    """Parse an integer of at least 1, or ``all`` for None."""
    return None if value.strip().lower() == "all" else count(value)


def period_s(value: str) -> int:
    """Parse a period such as 4h, in seconds."""
    match = re.fullmatch(r"\s*([0-9]{1,12})\s*([smhd])\s*", value.lower())
    if match is None:
        raise ValueError("expected a period such as 30m, 4h or 1d")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]


_SIZE_UNITS = {
    "": 1,
    "b": 1,
    "k": 2**10,
    "kb": 2**10,
    "m": 2**20,
    "mb": 2**20,
    "g": 2**30,
    "gb": 2**30,
    "t": 2**40,
    "tb": 2**40,
}


def size_bytes(value: str) -> int:
    """Parse a size such as 500M, in bytes."""
    match = re.fullmatch(r"\s*([0-9]{1,19}(?:\.[0-9]{1,19})?)\s*([a-zA-Z]*)\s*", value)
    if match is None or match[2].lower() not in _SIZE_UNITS:
        raise ValueError("expected a size such as 500M or 1G")
    size = int(float(match[1]) * _SIZE_UNITS[match[2].lower()])
    if size < 1:
        raise ValueError("expected a size greater than 0")
    return size


def one_of(*names: str) -> Callable[[str], str]:
    """Return a parser that accepts one of the names, ignoring case."""

    def parse(value: str) -> str:
        for name in names:
            if value.strip().lower() == name.lower():
                return name
        raise ValueError("expected one of " + ", ".join(names))

    return parse
