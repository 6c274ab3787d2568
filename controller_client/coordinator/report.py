"""What a version came to."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["VersionReport"]


@dataclass(frozen=True)
class VersionReport:
    """What a version came to.

    Attributes:
        version: The version.
        rows: Rows of the input, with those that have no key.
        refused: Those that have none.
        events: Inserts and deletes.
        keys: In the state, those included that are not known any more and not dropped yet.
        held_back: Whether the version's end is not sent, as the generation has not caught up yet.
        lag: Rows of the input that were there and in no version, a moment ago; None: not known yet.
        example: Where one of the rows without a key is, and what is wrong with it; None: not known.
    """

    version: int
    rows: int
    refused: int
    events: int
    keys: int
    held_back: bool
    lag: int | None = None
    example: str | None = None
