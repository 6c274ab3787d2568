"""Report pages: single HTML files from Jinja2 templates with a shared base and automatic escaping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from controller_client.common.counted_text import counted_text
from controller_client.common.visible_text import visible

__all__ = ["Column", "Table", "page_templates"]


@dataclass(frozen=True)
class Column:
    """A column of a table on a page."""

    head: str
    is_number: bool = False


@dataclass(frozen=True)
class Table:
    """A table on a page, rendered by ``table`` of ``pieces.html``."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]

    def cells(self) -> Iterator[list[tuple[Column, str]]]:
        """Yield each row's cells with their columns."""
        for row in self.rows:
            yield list(zip(self.columns, row, strict=True))


def page_templates(package: str) -> Environment:
    """Return the templates of a package, which may use the shared ``base.html`` and ``pieces.html``.

    Args:
        package: The package, with templates in its folder ``templates``.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("controller_client.common")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # In names, line breaks are made visible too.
    environment.filters |= {"counted": counted_text, "number": "{:,}".format, "visible": visible}
    return environment


def _shown(value: object) -> str:
    """Return a value as shown on a page; called by Jinja2 for each value, before escaping.

    Invisible and control characters are replaced; only line breaks are kept.
    """
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    if not isinstance(value, str | int):
        # In particular None, and undefined values, for which str() raises an error.
        raise TypeError(f"{str(value)!r} of type {type(value).__name__} cannot be shown on a page")
    shown = "\n".join(map(visible, str(value).split("\n")))
    return Markup(shown) if isinstance(value, Markup) else shown  # noqa: S704 - it was markup before
