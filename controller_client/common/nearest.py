"""What a name that is unknown may have been meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str) -> str:
    """Return what to do about an unknown name: the nearest right ones, else something else.

    Args:
        name: As it was given.
        known: The names that there are.
        otherwise: What to do where none is near.
    """
    by_folded = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(by_folded[each] for each in near)}?" if near else otherwise
