"""What parameters and options ``checks.*`` require of what is staged. No IO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from controller_client.errors import ConfigError
from controller_client.models import Schema

__all__ = ["ALL_COLUMNS", "RANGE", "Checks", "ValueRange", "column_names", "percentage", "value_ranges"]

RANGE = "checks.range."
"""The prefix of the keys that give a column's range."""

ALL_COLUMNS = "*"
"""In place of names of columns."""

_NUMBERS = ("INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL", "TIMESTAMP")
_MAX_DIGITS = 40


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The smallest and the largest value that a column may have; None: no bound."""

    least: Decimal | None
    most: Decimal | None

    @classmethod
    def parse(cls, text: str) -> ValueRange:
        """Parse ``0..100``, ``0..`` or ``..100``.

        Raises:
            ValueError: It is not a range.
        """
        first, dots, last = text.strip().partition("..")
        if not dots or not (first.strip() or last.strip()):
            raise ValueError("expected a range such as 0..100, 0.. or ..100")
        least, most = (_number(end.strip()) if end.strip() else None for end in (first, last))
        if least is not None and most is not None and least > most:
            raise ValueError("expected the smaller number first")
        return cls(least, most)

    def contains(self, value: Decimal) -> bool:
        """Whether a value is in the range; NaN is in none."""
        if value.is_nan():
            return False
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        """Return the range as it is written in a parameter."""
        return "..".join("" if end is None else str(end) for end in (self.least, self.most))


@dataclass(frozen=True)
class Checks:
    """The checks of a table's task, or of a write.

    Attributes:
        min_rows: Fewest rows that the table may have after a switch; None: any number.
        max_rows_change: By how many percent of its rows a switch may change their number; None: any.
        may_become_empty: Columns that may lose all of their values; ``*``: all columns.
        ranges: Column -> the range of its values.
    """

    min_rows: int | None = None
    max_rows_change: Decimal | None = None
    may_become_empty: frozenset[str] = frozenset()
    ranges: Mapping[str, ValueRange] = field(default_factory=dict)

    def check_schema(self, schema: Schema) -> None:
        """Refuse checks of columns that the table does not have, or that are not numbers.

        Raises:
            ConfigError: There is such a check.
        """
        types = {spec.name: spec.data_type for spec in schema.fields}
        for column in sorted({*self.ranges, *self.may_become_empty} - {ALL_COLUMNS}):
            key = f"{RANGE}{column}" if column in self.ranges else "checks.mayBecomeEmpty"
            if column not in types:
                raise ConfigError(
                    f"{key}: the schema has no column {column!r}",
                    expected=f"one of {', '.join(sorted(types))}",
                )
            if column in self.ranges and types[column] not in _NUMBERS:
                raise ConfigError(
                    f"{key}: the column is of type {types[column]}",
                    expected=f"a column of type {', '.join(_NUMBERS)}",
                )


def value_ranges(texts: Mapping[str, str]) -> Mapping[str, ValueRange]:
    """Parse the ranges of columns.

    Args:
        texts: Column -> its range.

    Raises:
        ConfigError: A text is not a range.
    """
    ranges = {}
    for column, text in texts.items():
        try:
            ranges[column] = ValueRange.parse(text)
        except ValueError as error:
            raise ConfigError(
                f"{RANGE}{column} is {text!r}: {error}", expected="a range of values, such as 0.. or 0..100"
            ) from error
    return ranges


def percentage(text: str) -> Decimal:
    """Parse a share such as 20% or 0.5%, in percent.

    Raises:
        ValueError: It is not a share.
    """
    number, sign, rest = text.strip().partition("%")
    share = _number(number.strip()) if sign and not rest else None
    if share is None or share < 0:
        raise ValueError("expected a share such as 20%")
    return share


def column_names(text: str) -> frozenset[str]:
    """Parse names of columns between commas, or ``*``, which is all of them.

    Raises:
        ValueError: There is no name.
    """
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not names or (ALL_COLUMNS in names and len(names) > 1):
        raise ValueError("expected names of columns between commas, or * for all columns")
    return names


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text) if len(text) <= _MAX_DIGITS else Decimal("NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise ValueError(f"{text[:_MAX_DIGITS]!r} is not a number")
    return number
