"""The columns that an upsert table has in addition to the user's."""

from __future__ import annotations

__all__ = ["NIL", "OFFSET", "SYSTEM_COLUMNS", "VALID_FROM", "VALID_UNTIL"]

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
