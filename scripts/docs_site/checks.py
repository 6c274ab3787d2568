"""Faults of the site that MkDocs itself does not find."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urlsplit

import griffe

__all__ = ["foreign_resources", "missing_docstrings"]

# What a browser loads automatically, by tag and attribute. A plain link to another host is fine.
_LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("source", "srcset"),
    ("video", "src"),
    ("object", "data"),
    ("link", "href"),
}
_LINKS_NOT_LOADED = {"canonical", "next", "prev", "alternate"}


def foreign_resources(html: str) -> list[str]:
    """Return the addresses on other hosts from which a page loads something.

    Args:
        html: The page.
    """
    reader = _Resources()
    reader.feed(html)
    return reader.found


def missing_docstrings(module: griffe.Object, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the public names of a module, and the public methods of its classes, that have no docstring.

    Args:
        module: The module, as griffe has read it.
        names: Those of its names that are on its page.
    """
    if not module.has_docstring:
        yield module.path
    for name in names:
        member = module.members[name]
        found = member.final_target if isinstance(member, griffe.Alias) else member
        if not found.has_docstring:
            yield f"{module.path}.{name}"
        if isinstance(found, griffe.Class):
            yield from _missing_in_class(found)


def _missing_in_class(found: griffe.Class) -> Iterator[str]:
    for name, member in found.members.items():
        if name.startswith("_") or member.is_alias or member.has_docstring:
            continue
        if isinstance(member, griffe.Function | griffe.Class) or "property" in member.labels:
            yield member.path


class _Resources(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "link" and (values.get("rel") or "") in _LINKS_NOT_LOADED:
            return
        for name, value in attrs:
            if (tag, name) in _LOADED and value and urlsplit(value).netloc:
                self.found.append(value)
