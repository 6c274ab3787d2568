"""The rows and columns of a query's result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from controller_client.common.collection import collection_paused
from controller_client.errors import ConfigError, QueryError

__all__ = ["Column", "ResultRows"]

_CONVERT: Mapping[str, Callable[[Any], Any]] = {
    # Including NaN and infinities, which Pinot writes as strings.
    "FLOAT": float,
    "DOUBLE": float,
    # A string in one version of Pinot, a number in another.
    "BIG_DECIMAL": Decimal,
}


@dataclass(frozen=True)
class Column:
    """A column of a result: its name and Pinot's type, e.g. ``LONG`` or ``STRING_ARRAY``."""

    name: str
    data_type: str


@dataclass(frozen=True)
class ResultRows:
    """Rows; iterating yields them.

    Attributes:
        columns: The columns; empty if the table has no segments.
        cells: The parsed values of the rows; see ``rows``.
    """

    columns: tuple[Column, ...]
    cells: Sequence[Sequence[Any]] = field(repr=False)

    @functools.cached_property
    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """The rows.

        BIG_DECIMAL is Decimal, arrays are lists, null is None; BYTES (hexadecimal) and TIMESTAMP are strings,
        as written by Pinot.
        """
        with collection_paused():
            if not any(_converter(column) for column in self.columns):
                return tuple(map(tuple, self.cells))
            return tuple(zip(*(self.values(number) for number in range(len(self.columns))), strict=True))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def values(self, number: int) -> list[Any]:
        """Return a column's values, as in ``rows``.

        Args:
            number: Index of the column, from 0.
        """
        raw = [row[number] for row in self.cells]
        convert = _converter(self.columns[number])
        if convert is None:
            return raw
        if self.columns[number].data_type.endswith("_ARRAY"):
            return [None if value is None else list(map(convert, value)) for value in raw]
        return [None if value is None else convert(value) for value in raw]

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dicts by column name.

        Raises:
            ConfigError: Two columns have the same name.
        """
        names = self.names()
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def names(self) -> list[str]:
        """Return the names of the columns, which must be unique.

        Raises:
            ConfigError: Two columns have the same name.
        """
        names = [column.name for column in self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ConfigError(
                f"the result has several columns with the name {', '.join(twice)}",
                remedy="give them different names with AS in the query",
            )
        return names

    def scalar(self) -> Any:
        """Return the value of a result with one row and one column.

        Raises:
            QueryError: The result has another shape.
        """
        if len(self.cells) != 1 or len(self.cells[0]) != 1:
            raise QueryError(
                f"the result has {len(self.cells)} rows and {len(self.columns)} columns",
                expected="a single value",
            )
        return self.values(0)[0]


def _converter(column: Column) -> Callable[[Any], Any] | None:
    return _CONVERT.get(column.data_type.removesuffix("_ARRAY"))
