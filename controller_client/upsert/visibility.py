"""Which rows a query of an upsert table sees."""

from __future__ import annotations

from controller_client.upsert.columns import VALID_FROM, VALID_UNTIL

__all__ = ["visible_at"]


def visible_at(version: int) -> str:
    """Return, in Pinot's SQL, the condition that a row is there at a version; an AND of two.

    A row is there from the version that inserted it to the one that deleted it; -1 is none. Both are stated
    under a NOT, the first under two, because servers leave out segments by the columns' greatest and least
    value in the segment's metadata, which do not change when a row is inserted or deleted; what is under a
    NOT they leave in. There is one range of each column, from 0 up to the version: for that the hook
    ``upsert`` of servers keeps bitmaps.

    Args:
        version: The version, 0 or more.
    """
    return (
        f'NOT (NOT ("{VALID_FROM}" BETWEEN 0 AND {version:d})) AND '
        f'NOT ("{VALID_UNTIL}" BETWEEN 0 AND {version:d})'
    )
