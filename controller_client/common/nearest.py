"""Suggestions for unknown names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str) -> str:
    """Return a remedy for an unknown name: the most similar known names, or another remedy.

    Args:
        name: The given name.
        known: The known names.
        otherwise: The remedy if no name is similar.
    """
    by_folded = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(by_folded[each] for each in near)}?" if near else otherwise
