"""The columns that an upsert table has in addition to the user's, and which rows a query sees by them."""

from __future__ import annotations

__all__ = ["NIL", "OFFSET", "SYSTEM_COLUMNS", "VALID_FROM", "VALID_UNTIL", "visible_at"]


VALID_FROM = "$validFrom"
"""LONG: the version that inserted the row; :data:`NIL` until that version arrives."""

VALID_UNTIL = "$validUntil"
"""LONG: the version that deleted the row; :data:`NIL` while it is valid."""

OFFSET = "$kafkaOffset"
"""LONG: the offset of the row's message in its partition of the table's input topic."""

NIL = -1
"""No version."""

SYSTEM_COLUMNS = (VALID_FROM, VALID_UNTIL, OFFSET)
"""A leading ``$`` keeps them out of ``SELECT *``."""


def visible_at(version: int) -> str:
    """Return, in Pinot's SQL, the condition that a row is visible at a version; an AND of two conditions.

    A row is visible from the version that inserted it until the one that deleted it; -1 means none. Both
    conditions are under a NOT, the first under two, because servers prune segments by the minimum and maximum
    of a column in the segment's metadata, which do not change when a row is inserted or deleted; they do not
    prune by conditions under a NOT. Each column has one range, from 0 to the version, for which the hook
    ``upsert`` of servers keeps bitmaps.

    Args:
        version: The version, 0 or more.
    """
    return (
        f'NOT (NOT ("{VALID_FROM}" BETWEEN 0 AND {version:d})) AND '
        f'NOT ("{VALID_UNTIL}" BETWEEN 0 AND {version:d})'
    )
