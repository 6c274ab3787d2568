"""An extension of griffe that reads the docstrings' literal blocks and references as Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["MarkdownDocstrings", "as_markdown"]

_LITERAL_ALONE = re.compile(r"^[ \t]*::$", re.MULTILINE)
_LITERAL_BEHIND_TEXT = re.compile(r"(?<=\S)::$", re.MULTILINE)
_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):`~?([^`]+)`")


def as_markdown(docstring: str) -> str:
    """Return a docstring's text as Markdown.

    A literal block is an indented block in both, but begins with ``::`` in a docstring. A reference such as
    ``:class:`Name``` becomes code.

    Args:
        docstring: The text.
    """
    text = _LITERAL_BEHIND_TEXT.sub(":", _LITERAL_ALONE.sub("", docstring))
    return _ROLE.sub(r"`\1`", text)


class MarkdownDocstrings(griffe.Extension):
    """Changes each docstring that griffe has read. mkdocs.yml names this class."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of one object below a package."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Change the docstring of a package, for which griffe does not call `on_object`."""
        self.on_object(obj=pkg)
