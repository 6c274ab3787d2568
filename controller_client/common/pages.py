"""Report pages: single HTML files from Jinja2 templates with a shared base and automatic escaping."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from controller_client.common.text import counted_text, visible

__all__ = ["Cell", "PageColumn", "PageStep", "Table", "page_templates"]


@dataclass(frozen=True)
class PageColumn:
    """A column of a table on a page.

    Attributes:
        head: Its name.
        is_number: Whether it holds numbers: aligned right, and sorted by value.
        is_short: Whether its texts stay on one line, such as times.
    """

    head: str
    is_number: bool = False
    is_short: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell of a table in a page, where it is more than its text.

    Attributes:
        text: What it shows.
        href: Where it links to.
        sort: The number by which rows are sorted, where the text is none.
        percent: Length of the bar below the text, 0 to 100.
    """

    text: str
    href: str | None = None
    sort: int | None = None
    percent: int | None = None


@dataclass(frozen=True)
class Table:
    """A table on a page, rendered by ``table`` of ``pieces.html`` and sorted by the page's script."""

    columns: Sequence[PageColumn]
    rows: Sequence[Sequence[str | Cell]]

    def cells(self) -> Iterator[list[tuple[PageColumn, Cell]]]:
        """Yield each row's cells with their columns."""
        for row in self.rows:
            cells = [Cell(each) if isinstance(each, str) else each for each in row]
            yield list(zip(self.columns, cells, strict=True))


@dataclass(frozen=True)
class PageStep:
    """One thing to do: ``steps`` of ``pieces.html`` draws it.

    Attributes:
        text: What and why, in a sentence or two.
        commands: To copy into a shell, in this order.
    """

    text: str
    commands: tuple[str, ...] = ()


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
    # The browser runs this script and no other, should one ever get in.
    script = environment.get_template("page.js").render()
    environment.globals["script_hash"] = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
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
