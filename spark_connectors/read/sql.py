"""Builds the SQL queries that read rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller_client.common.sql_text import quoted
from spark_connectors.read.columns import ReadColumn

__all__ = [
    "DOC_ID",
    "NO_LIMIT",
    "SEGMENT",
    "all_of",
    "count_by_segment",
    "select_nulls",
    "select_rows",
]

NO_LIMIT = 2**31 - 1
"""Used because Pinot returns 10 rows without a LIMIT."""

SEGMENT = '"$segmentName"'
DOC_ID = '"$docId"'


def all_of(*predicates: str | None) -> str | None:
    """Join predicates with AND, so that a comment at the end of one does not hide the rest."""
    given = [f"({predicate}\n)" for predicate in predicates if predicate]
    return " AND ".join(given) or None


def select_rows(
    table: str,
    columns: Sequence[ReadColumn],
    where: str | None,
    limit: int | None = None,
    *,
    with_position: bool,
    times_as_long: bool = False,
) -> str:
    """Return a query for the values of columns.

    Args:
        table: Table name with type, or the raw name for a broker.
        columns: The columns to select.
        where: The predicate.
        limit: Maximum number of rows; None: all.
        with_position: Whether to select segment name and row number after the columns.
        times_as_long: Whether to select timestamps as numbers, since brokers format timestamps in their own
            time zone.
    """
    selected = [
        f"CAST({quoted(each.name)} AS LONG)"
        if times_as_long and each.pinot_type == "TIMESTAMP"
        else quoted(each.name)
        for each in columns
    ]
    if with_position:
        selected += [SEGMENT, DOC_ID]
    return _select(selected, table, where, limit)


def select_nulls(table: str, column: ReadColumn, where: str | None) -> str:
    """Return a query for the positions of a column's nulls.

    Selecting ``is_null(column)`` would return them with the rows, but in 0.11.0 it misses the first null
    after each 10,000 rows. The predicate does not.
    """
    return _select([SEGMENT, DOC_ID], table, all_of(where, f"{quoted(column.name)} IS NULL"), None)


def count_by_segment(table: str, where: str | None) -> str:
    """Return a query for the number of rows by segment."""
    rest = f" WHERE {where}" if where else ""
    return (
        f"SELECT {SEGMENT}, COUNT(*) FROM {quoted(table)}{rest}"  # noqa: S608 - see _select
        f" GROUP BY {SEGMENT} LIMIT {NO_LIMIT}"
    )


def _select(selected: Iterable[str], table: str, where: str | None, limit: int | None) -> str:
    rest = f" WHERE {where}" if where else ""
    return f"SELECT {', '.join(selected)} FROM {quoted(table)}{rest} LIMIT {limit or NO_LIMIT}"  # noqa: S608 - names are quoted, predicates are the user's own
