"""Entries of the navigation that stand for several pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

__all__ = ["expand"]

_BRACES = re.compile(r"\{([^{}]*)\}")


def expand(nav: Sequence[Any], pages: Iterable[str]) -> list[Any]:
    """Replace each entry with a brace or a star by those of its pages that exist.

    Args:
        nav: The navigation of mkdocs.yml, or one section of it.
        pages: The pages that exist. Those that a star matches keep this order.

    Returns:
        The navigation without such entries. Sections that become empty are left out.
    """
    pages = list(pages)
    expanded: list[Any] = []
    for entry in nav:
        if isinstance(entry, dict):
            ((title, content),) = entry.items()
            if isinstance(content, list):
                content = expand(content, pages)
            if content:
                expanded.append({title: content})
        elif "{" in entry or "*" in entry:
            expanded += _matching(entry, pages)
        else:
            expanded.append(entry)
    return expanded


def _matching(pattern: str, pages: Sequence[str]) -> list[str]:
    braces = _BRACES.search(pattern)
    alternatives = braces[1].split(",") if braces else [""]
    found: dict[str, None] = {}
    for each in alternatives:
        wanted = pattern[: braces.start()] + each + pattern[braces.end() :] if braces else pattern
        found |= dict.fromkeys(page for page in pages if fnmatchcase(page, wanted))
    return list(found)
