"""Values for the ``:name`` placeholders of a query, as SQL literals that Pinot reads back exactly.

=====================  ============================================================================
Python                 SQL
=====================  ============================================================================
str                    a string; see below
int                    a number; beyond 64 bits a string, for comparison with a BIG_DECIMAL
float                  a number; NaN and infinities have no literal and are refused
Decimal                a number up to 15 digits, which Pinot keeps; otherwise a string
bool                   ``true``, ``false``
datetime               epoch milliseconds, for comparison with a TIMESTAMP; UTC if it has no zone
date                   the same, for midnight UTC
bytes                  ``hexToBytes('...')``
list, tuple, set       comma-separated literals: ``where city in (:cities)``
=====================  ============================================================================

Pinot misreads two kinds of strings written in standard SQL, so they are written as ``decodeUrl('...')``,
which it evaluates before the query: the single-stage engine turns two quotes in a row into one, and treats
``option(...)`` at the end of a query as query options, quoted or not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from controller_client.common.sql_text import SqlText, Token, TokenKind
from controller_client.common.text import did_you_mean
from controller_client.errors import ConfigError

__all__ = ["bind", "literal", "placeholders"]

_MISREAD = re.compile(r"''|option\s*\(", re.IGNORECASE)
_NO_TEXT = re.compile("[\ud800-\udfff]")
_EXACT_DIGITS = 15
"""Number of decimal digits that a double keeps: Pinot parses literals with a decimal point as doubles."""
_GREATEST_LONG = 2**63 - 1
_MILLISECOND_US = 1000
_NO_PLACEHOLDER = "pass it as a parameter; a colon that does not start a placeholder needs a space after it"


def bind(sql: str, params: Mapping[str, Any]) -> str:
    """Replace ``:name`` placeholders with values, but not within quotes or comments.

    Raises:
        ConfigError: A placeholder has no value, a value has no placeholder or no literal, or the SQL has a
            comment or string that Pinot tokenizes differently (``//``, ``E'...'``).
        QueryError: A quote or a comment is not closed, or the parentheses do not match.
    """
    tokens = SqlText.of(sql).tokens
    _check_lexical(tokens)
    parts: list[str] = []
    used = set()
    at = 0
    for before, name in _placeholders(tokens):
        if name.text not in params:
            raise ConfigError(
                f"the placeholder :{name.text} has no value",
                expected=f"one of {', '.join(sorted(params)) or '(none)'}",
                remedy=did_you_mean(name.text, params, otherwise=_NO_PLACEHOLDER),
            )
        used.add(name.text)
        parts += [sql[at : name.start - 1], _written(name.text, params[name.text], before)]
        at = name.end
    unused = sorted(params.keys() - used)
    if unused:
        raise ConfigError(
            f"the SQL has no placeholder :{unused[0]}",
            expected=", ".join(f":{name}" for name in sorted(used)) or "placeholders in the SQL",
        )
    return "".join([*parts, sql[at:]])


def placeholders(sql: str) -> frozenset[str]:
    """Return the names of the placeholders in an SQL text.

    Raises:
        QueryError: A quote or a comment is not closed, or the parentheses do not match.
    """
    return frozenset(name.text for _, name in _placeholders(SqlText.of(sql).tokens))


def literal(value: Any) -> str:
    """Return the SQL literal of a value.

    Raises:
        ConfigError: The value has no literal.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return _number(str(value)) if abs(value) <= _GREATEST_LONG else f"'{value}'"
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, bytes | bytearray):
        return f"hexToBytes('{value.hex()}')"
    if isinstance(value, date):
        return _number(str(_epoch_ms(value)))
    if value is None:
        raise ConfigError(
            "None has no literal: '= NULL' is never true",
            remedy="use IS NULL or IS NOT NULL in the SQL",
        )
    raise ConfigError(
        f"a value of the type {type(value).__name__} has no literal",
        expected="str, int, float, Decimal, bool, datetime, date, bytes, or a list of these",
    )


def _placeholders(tokens: tuple[Token, ...]) -> Iterable[tuple[Token | None, Token]]:
    """Yield the words directly after a colon, each with the token before the colon."""
    for number, token in enumerate(tokens[:-1]):
        before = tokens[number - 1] if number else None
        name = tokens[number + 1]
        doubled = before is not None and before.is_sign(":") and before.end == token.start
        if token.is_sign(":") and name.kind is TokenKind.WORD and name.start == token.end and not doubled:
            yield before, name


def _check_lexical(tokens: tuple[Token, ...]) -> None:
    for token, following in pairwise(tokens):
        if token.end != following.start:
            continue
        if token.is_sign("/") and following.is_sign("/"):
            raise ConfigError(
                "the SQL has a comment that starts with //, in which placeholders cannot be recognized",
                expected="-- or /* */ for comments in SQL with parameters",
            )
        if token.is_word("E") and following.kind is TokenKind.STRING:
            raise ConfigError(
                "the SQL has a string with escapes, E'...', whose end cannot be determined",
                expected="'...' in SQL with parameters",
            )


def _written(name: str, value: Any, before: Token | None) -> str:
    try:
        if isinstance(value, list | tuple | set | frozenset):
            return _listed(value, before)
        return literal(value)
    except ConfigError as error:
        error.message = f"the parameter {name}: {error.message}"
        raise


def _listed(values: Iterable[Any], before: Token | None) -> str:
    written = [literal(value) for value in values]
    if not written:
        raise ConfigError("the list is empty, but SQL has no empty lists", remedy="omit the condition")
    if before is None or not (before.is_sign("(") or before.is_sign(",")):
        raise ConfigError(
            "a list is used in place of a single value", expected="parentheses, as in: in (:name)"
        )
    return ", ".join(written)


def _text(value: str) -> str:
    if _NO_TEXT.search(value):
        raise ConfigError("the string contains a lone surrogate", expected="valid Unicode")
    if _MISREAD.search(value):
        return f"decodeUrl('{quote(value, safe='')}')"
    return "'" + value.replace("'", "''") + "'"


def _number(text: str) -> str:
    # A space before the sign: "a-:n" must not become a comment, "a--1".
    return f" {text}" if text.startswith("-") else text


def _double(value: float) -> str:
    if not math.isfinite(value):
        raise ConfigError(f"{value} has no literal in SQL", expected="a finite number")
    return _number(repr(value).upper())


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ConfigError(f"{value} has no literal in SQL", expected="a finite number")
    plain = format(value, "f")
    digits = plain.strip("-0").replace(".", "")
    exact = len(digits) <= _EXACT_DIGITS and len(plain) <= 2 * _EXACT_DIGITS
    return _number(plain) if exact else f"'{plain}'"


def _epoch_ms(value: date) -> int:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time(), UTC)
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    if moment.microsecond % _MILLISECOND_US:
        raise ConfigError(
            f"{value} has microseconds, but Pinot's TIMESTAMP has milliseconds",
            remedy="round it to milliseconds",
        )
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // _MILLISECOND_US
