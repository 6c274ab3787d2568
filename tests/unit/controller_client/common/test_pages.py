"""Common properties of all pages: values are escaped, and a narrow screen is wide enough."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from controller_client.common.console import Console
from controller_client.common.pages import Cell, PageColumn, PageStep, Table, page_templates
from minion_tasks.file_ingestion.report.page import page
from pinotctl.pages.upsert import upsert_page
from tests.unit.controller_client.deepstore.test_next_steps import FAULTY_REPORT
from tests.unit.minion_tasks.test_report import BEGAN, counted
from tests.unit.pinotctl.test_consumption_page import watched_page
from tests.unit.pinotctl.test_upsert_page import BEHIND

VOID = {"meta", "br", "line", "rect", "path"}


class Elements(HTMLParser):
    """Collects each element with its ancestors."""

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
    "consumption": watched_page(),
    "session": page(counted(), now_ms=BEGAN, next_does="begins anew"),
    "upsert": upsert_page(BEHIND, Console()),
}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_pages_fit_a_narrow_screen_run_their_own_script_alone_and_name_a_next_command(name: str) -> None:
    page, elements = PAGES[name], Elements(PAGES[name]).found
    (viewport,) = (attributes for tag, attributes, _ in elements if attributes.get("name") == "viewport")
    assert viewport["content"] == "width=device-width, initial-scale=1"
    style = page.partition("<style>")[2].partition("</style>")[0]
    wide = re.compile(r"([^{};]*)\{[^{}]*?(?<!max-)\b(?:min-)?width:\s*(\d+)px")
    found = [(selector.strip(), int(width)) for selector, width in wide.findall(style) if int(width) > 350]
    assert found == []
    assert "@media (max-width: 640px)" in style

    # Tables scroll by themselves and name their columns in each cell.
    tables = [inside for tag, _, inside in elements if tag == "table"]
    assert tables
    assert all(inside[-1] == ("div", {"class": "scroll"}) for inside in tables)
    cells = [attributes for tag, attributes, _ in elements if tag == "td"]
    assert cells
    assert all(attributes.get("data-head") for attributes in cells)

    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy.startswith("default-src 'none'")
    assert policy.endswith(f"script-src 'sha256-{digest}'")
    assert not re.search(r"\bon\w+=|https?://|src=", page.replace(script, ""))

    after = page.partition("What to do next")[2].partition("</section>")[0]
    assert "<code>pinotctl " in after


PIECES = '{% import "pieces.html" as pieces %}'


def rendered(source: str, **values: object) -> str:
    return page_templates("controller_client.common").from_string(source).render(values)


def test_commands_are_separate_blocks_and_escaped() -> None:
    source = PIECES + "{{ pieces.commands(lines) }}"
    made = rendered(source, lines=["a --b 'c'", "d > e"]).strip()
    assert made == "<pre><code>a --b &#39;c&#39;</code><code>d &gt; e</code></pre>"
    assert rendered(source, lines=[]).strip() == ""


def test_a_table_escapes_its_cells_and_may_be_empty() -> None:
    source = PIECES + "{{ pieces.table(made) }}"
    columns = (PageColumn("name"), PageColumn("<n>", is_number=True))
    made = rendered(source, made=Table(columns, [("<a>", "1")]))
    assert '<td data-head="name">&lt;a&gt;</td>\n<td class="number" data-head="&lt;n&gt;">1</td>' in made
    assert "<tbody>\n</tbody>" in rendered(source, made=Table(columns, []))


def test_a_cell_may_link_sort_and_show_a_bar() -> None:
    cells = [Cell("<a>", 'http://host/#/?a=1&b="2"'), Cell("1 KiB", sort=1024), Cell("7", percent=70)]
    columns = (PageColumn("name"), PageColumn("size", is_number=True), PageColumn("lag", is_number=True))
    made = rendered(PIECES + "{{ pieces.table(made) }}", made=Table(columns, [cells]))
    assert '<a href="http://host/#/?a=1&amp;b=&#34;2&#34;">&lt;a&gt;</a></td>' in made
    assert '<td class="number" data-sort="1024" data-head="size">1 KiB</td>' in made
    assert '7<span class="meter"><i style="width: 70%"></i></span></td>' in made


def test_one_step_is_no_list_and_several_are_one() -> None:
    source = PIECES + "{{ pieces.steps(made) }}"
    one = rendered(source, made=[PageStep("Do <this>.", ("a",))])
    assert "<p>Do &lt;this&gt;.</p>" in one
    assert "<ol" not in one
    assert rendered(source, made=[PageStep("a"), PageStep("b")]).count("<li>") == 2
    many = rendered(source, made=[PageStep(f"{number}.") for number in range(20)])
    assert many.count("<li>") == 20
    assert many.index("<li>7.") < many.index("<summary>12 steps more</summary>") < many.index("<li>8.")


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="shorter"):
        rendered(
            PIECES + "{{ pieces.table(made) }}", made=Table((PageColumn("a"), PageColumn("b")), [("1",)])
        )


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("{{ value }}", "&lt;b&gt;\\x1b[31m\n\\u202e&#34;"),
        ('<p title="{{ value }}">', '<p title="&lt;b&gt;\\x1b[31m\n\\u202e&#34;">'),
        ('{{ "%s" | format(value) }}', "&lt;b&gt;\\x1b[31m\n\\u202e&#34;"),
        ("{{ [value] | join }}", "&lt;b&gt;\\x1b[31m\n\\u202e&#34;"),
        ("{{ value | e }}", "&lt;b&gt;\\x1b[31m\n\\u202e&#34;"),
        ("{% set made %}<i>{{ value }}</i>{% endset %}{{ made }}", "<i>&lt;b&gt;\\x1b[31m\n\\u202e&#34;</i>"),
        ("{{ value | visible }}", "&lt;b&gt;\\x1b[31m\\n\\u202e&#34;"),
    ],
)
def test_a_value_cannot_become_active_in_a_page(source: str, shown: str) -> None:
    assert rendered(source, value='<b>\x1b[31m\n\u202e"') == shown


@pytest.mark.parametrize(("value", "shown"), [(1.26, "1.3"), (2.0, "2"), (12345, "12345"), ("", "")])
def test_numbers_are_written_short(value: object, shown: str) -> None:
    assert rendered("{{ value }}", value=value) == shown


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        rendered("{{ value }}")
    with pytest.raises(TypeError, match="NoneType cannot be shown on a page"):
        rendered("{{ value }}", value=None)


def test_no_template_trusts_a_value() -> None:
    templates = sorted(Path(__file__).parents[4].glob("*/**/templates/*.html"))
    assert len(templates) >= 4
    for template in templates:
        assert not re.search(r"\bsafe\b|autoescape", template.read_text(encoding="utf-8")), template
