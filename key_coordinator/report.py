"""The report on a version."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["VersionReport"]


@dataclass(frozen=True)
class VersionReport:
    """The contents of a version.

    Attributes:
        version: Its number.
        rows: Input rows, including those without a key.
        refused: Rows without a key.
        events: Inserts and deletes.
        keys: Keys in the state, including expired ones that have not been dropped yet.
        held_back: Whether the version's end is not sent because the generation has not caught up yet.
        lag: Input rows that were not in a version yet, a moment ago; None: not known yet.
        example: Where a row without a key is, and what is wrong with it; None: unknown.
    """

    version: int
    rows: int
    refused: int
    events: int
    keys: int
    held_back: bool
    lag: int | None = None
    example: str | None = None
