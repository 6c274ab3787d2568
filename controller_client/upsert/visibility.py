"""Which rows a query of an upsert table sees."""

from __future__ import annotations

from controller_client.upsert.columns import VALID_FROM, VALID_UNTIL

__all__ = ["invisible_at"]


def invisible_at(version: int) -> str:
    """Return, in Pinot's SQL, the condition that a row is *not* there at a version; queries add its negation.

    A row is there from the version that inserted it to the one that deleted it. It is said in the negative
    because servers leave out segments by the columns' greatest and least value in the segment's metadata,
    which do not change when a row is inserted or deleted; under a NOT they do not.

    Args:
        version: The version, 0 or more.
    """
    return (
        f'"{VALID_FROM}" < 0 OR "{VALID_FROM}" > {version:d} '
        f'OR ("{VALID_UNTIL}" >= 0 AND "{VALID_UNTIL}" <= {version:d})'
    )
