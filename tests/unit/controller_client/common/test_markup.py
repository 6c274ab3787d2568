"""What keeps the pages readable on a narrow screen, as far as markup and style show it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from controller_client.common.markup import commands, document, table
from minion_tasks.file_ingestion.report.page import page
from tests.unit.controller_client.deepstore.test_next_steps import FAULTY_REPORT
from tests.unit.minion_tasks.test_report import BEGAN, counted

VOID = {"meta", "br", "line", "rect", "path"}


class Elements(HTMLParser):
    """Collects each element with those that it is in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], list[tuple[str, dict[str, str | None]]]]] = []
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), list(self._open)))
        if tag not in VOID - {"line", "rect", "path"}:
            self._open.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass


PAGES = {
    "audit": FAULTY_REPORT.page(),
    "session": page(counted(), now_ms=BEGAN, next_does="begins anew"),
}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_has_the_width_of_the_screen(name: str) -> None:
    elements = Elements(PAGES[name]).found
    (viewport,) = (attributes for tag, attributes, _ in elements if attributes.get("name") == "viewport")
    assert viewport["content"] == "width=device-width, initial-scale=1"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_tables_scroll_by_themselves_and_name_their_columns_in_each_cell(name: str) -> None:
    elements = Elements(PAGES[name]).found
    tables = [inside for tag, _, inside in elements if tag == "table"]
    assert tables
    assert all(inside[-1] == ("div", {"class": "scroll"}) for inside in tables)
    cells = [attributes for tag, attributes, _ in elements if tag == "td"]
    assert cells
    assert all(attributes.get("data-head") for attributes in cells)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_nothing_has_a_width_that_a_narrow_screen_has_not(name: str) -> None:
    style = PAGES[name].partition("<style>")[2].partition("</style>")[0]
    wide = re.compile(r"([^{};]*)\{[^{}]*?(?<!max-)\b(?:min-)?width:\s*(\d+)px")
    found = [(selector.strip(), int(width)) for selector, width in wide.findall(style) if int(width) > 350]
    assert found == [(".scroll > svg", 700)], "only in what scrolls by itself"
    assert "@media (max-width: 640px)" in style


def test_commands_are_a_block_of_their_own_and_escaped() -> None:
    assert commands(["a --b 'c'", "d > e"]) == "<pre>a --b &#x27;c&#x27;\nd &gt; e</pre>"
    assert commands([]) is None


def test_an_empty_table_is_a_table() -> None:
    assert "<tbody></tbody>" in document("t", table((("a", False),), []))
