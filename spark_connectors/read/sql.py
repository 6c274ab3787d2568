"""The queries that read rows, in Pinot's SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spark_connectors.read.columns import ReadColumn

__all__ = [
    "DOC_ID",
    "NO_LIMIT",
    "SEGMENT",
    "all_of",
    "count_by_segment",
    "quoted",
    "select_nulls",
    "select_rows",
]

NO_LIMIT = 2**31 - 1
"""Without a LIMIT, Pinot returns 10 rows."""

SEGMENT = '"$segmentName"'
DOC_ID = '"$docId"'


def quoted(name: str) -> str:
    """Quote a name of a table or column."""
    return '"' + name.replace('"', '""') + '"'


def all_of(*predicates: str | None) -> str | None:
    """Join predicates; a comment at the end of one does not swallow the rest."""
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
    """Select the columns' values.

    Args:
        table: Name with type, or the raw name for a broker.
        columns: What to select.
        where: Predicate.
        limit: Most rows; None: all.
        with_position: Segment name and row number in it come after the columns.
        times_as_long: Brokers write timestamps in their own time zone, but not numbers.
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
    """Select where the nulls of a column are.

    ``is_null(column)`` in the list of what is selected would return it with the rows, but in 0.11.0 it misses
    the first null after each 10,000 rows; the predicate does not.
    """
    return _select([SEGMENT, DOC_ID], table, all_of(where, f"{quoted(column.name)} IS NULL"), None)


def count_by_segment(table: str, where: str | None) -> str:
    """Count rows by segment."""
    rest = f" WHERE {where}" if where else ""
    return (
        f"SELECT {SEGMENT}, COUNT(*) FROM {quoted(table)}{rest}"  # noqa: S608 - see _select
        f" GROUP BY {SEGMENT} LIMIT {NO_LIMIT}"
    )


def _select(selected: Iterable[str], table: str, where: str | None, limit: int | None) -> str:
    rest = f" WHERE {where}" if where else ""
    return f"SELECT {', '.join(selected)} FROM {quoted(table)}{rest} LIMIT {limit or NO_LIMIT}"  # noqa: S608 - names are quoted, predicates are the user's own
