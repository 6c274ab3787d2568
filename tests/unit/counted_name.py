"""Names that count operations on them, to measure the cost of code without a clock."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["CountedName", "cost"]


class CountedName(str):
    """A segment's name that counts how often names are hashed or compared.

    A lookup in a set or a dictionary hashes one name; a search in a list compares many.
    """

    __slots__ = ()
    used = 0

    def __hash__(self) -> int:
        CountedName.used += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        CountedName.used += 1
        return super().__eq__(other)


def cost(work: Callable[[], object]) -> int:
    """Return how often names were hashed or compared."""
    CountedName.used = 0
    work()
    return CountedName.used
