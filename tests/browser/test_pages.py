"""The pages as people see them: nothing is cut in any width or theme; tables sort, links are correct."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser.chromium import SIZES, THEMES
from tests.browser.samples import CONSOLE_URL, HOSTILE, LONG_TABLE, pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

pytestmark = pytest.mark.browser

CHECKS = Path(__file__).with_name("checks.js").read_text(encoding="utf-8")
NAMES = sorted(pages(Path()))


class Seen:
    """A page, with the browser's errors and requests."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._refuse)
        page.on("request", lambda request: self.requests.append(request.url))

    def _refuse(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def open(self, file: Path, size: str = "wide", theme: str = "light") -> None:
        width, height = SIZES[size]
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        self.page.goto(file.as_uri())

    def column(self, head: str, table: int = 0) -> list[str]:
        cells = self.page.locator("table").nth(table).locator(f'tbody td[data-head="{head}"]')
        return [text.strip() for text in cells.all_text_contents()]

    def evaluate(self, script: str) -> Any:
        return self.page.evaluate(script)


@pytest.fixture
def seen(browser: Browser) -> Iterator[Seen]:
    page = browser.new_page()
    yield Seen(page)
    page.close()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cut_links_lead_to_the_console_and_names_do_nothing(
    name: str, seen: Seen, files: Callable[[str], Path]
) -> None:
    file = files(name)
    seen.open(file)
    for size, (width, height) in SIZES.items():
        seen.page.set_viewport_size({"width": width, "height": height})
        for theme in THEMES:
            seen.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            # Collapsed content must fit too.
            seen.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
            assert seen.evaluate(CHECKS) == [], f"{name}, {size}, {theme}"
    assert seen.page.locator(".next pre code").count() or "watched" in name
    assert seen.complaints == []
    assert seen.requests == [file.as_uri()]
    links: list[tuple[str, str]] = seen.evaluate(
        "[...document.querySelectorAll('a')].map((each) => [each.href, each.textContent])"
    )
    assert links or name in ("audit-empty", "consumption-empty", "upsert-empty")
    for href, text in links:
        parts = urlsplit(href)
        assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{CONSOLE_URL}/"
        kind, *names = parts.fragment.removeprefix("/").split("/")
        assert kind in ("tenants", "instance")
        shown = unquote(names[-1]).replace("\u202e", r"\u202e").replace("\x1b", r"\x1b")
        assert shown == text
    assert "a-secret" not in seen.page.content()
    if "hostile" in name or "silent" in name:
        assert seen.evaluate("document.scripts.length") == 1
        assert r'<script>alert("1")</script>&\u202e' in seen.evaluate("document.body.innerText")
        assert HOSTILE not in seen.page.content()


def test_no_other_script_runs(seen: Seen, files: Callable[[str], Path]) -> None:
    seen.open(files("audit-clean"))
    seen.evaluate(
        "(() => { const added = document.createElement('script'); added.textContent = 'window.ran = 1';"
        " document.body.append(added) })()"
    )
    assert seen.evaluate("window.ran") is None
    assert "Content Security Policy" in seen.complaints[0]


@pytest.mark.parametrize("size", sorted(SIZES))
def test_a_click_sorts(size: str, seen: Seen, files: Callable[[str], Path]) -> None:
    seen.open(files("upsert-behind"), size)
    head = seen.page.locator("table").first.locator("th", has_text="versions behind")
    head.locator("button").click()
    assert seen.column("versions behind") == ["160", "120", "80", "40", "0"]
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert seen.column("versions behind") == ["0", "40", "80", "120", "160"]
    assert seen.column("mark") == ["48,200", "48,160", "48,120", "48,080", "48,040"], "whole rows move"
    assert head.get_attribute("aria-sort") == "ascending"
    assert seen.page.locator("th[aria-sort]").count() == 1
    head.locator("button").click()
    seen.page.reload()
    assert seen.column("versions behind") == ["160", "120", "80", "40", "0"], "the order stays"


def test_the_keyboard_sorts(seen: Seen, files: Callable[[str], Path]) -> None:
    seen.open(files("upsert-behind"))
    focused = "document.activeElement.textContent + ' ' + document.activeElement.tagName"
    for _ in range(20):
        seen.page.keyboard.press("Tab")
        if seen.evaluate(focused) == "mark BUTTON":
            break
    assert seen.evaluate(focused) == "mark BUTTON"
    assert seen.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    seen.page.keyboard.press("Space")
    seen.page.keyboard.press("Enter")
    assert seen.column("mark") == ["48,040", "48,080", "48,120", "48,160", "48,200"]


def test_texts_sort_as_people_count_and_what_is_unknown_is_last(
    seen: Seen, files: Callable[[str], Path]
) -> None:
    seen.open(files("consumption-many"))
    button = seen.page.locator("table").last.locator("th", has_text="table").locator("button")
    button.click()
    tables = list(dict.fromkeys(seen.column("table", -1)))
    assert tables == [f"table_{number}_REALTIME" for number in range(30)]
    button.click()
    assert list(dict.fromkeys(seen.column("table", -1))) == tables[::-1]
    seen.open(files("upsert-silent"))
    mark = seen.page.locator("table").first.locator("th", has_text="mark").first.locator("button")
    for _ in range(2):
        mark.click()
        assert seen.column("mark") == ["48,200", "-"]


def test_sizes_and_times_sort_by_what_they_are(seen: Seen, files: Callable[[str], Path]) -> None:
    seen.open(files("session-retried"))
    table = seen.page.locator("table", has=seen.page.locator("th", has_text="rows/s"))
    table.locator("th", has_text="source").locator("button").click()
    cells = table.locator('td[data-head="source"]')
    shown, values = cells.all_text_contents(), cells.evaluate_all("(all) => all.map((e) => +e.dataset.sort)")
    assert values == sorted(values, reverse=True)
    assert shown[0].endswith(" MiB")
    assert len(set(values)) > 5


def test_a_page_is_whole_without_script(browser: Browser, files: Callable[[str], Path]) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(files("audit-faults").as_uri())
    assert page.locator("button").count() == 0
    text = page.locator("main").inner_text()
    assert LONG_TABLE in text
    assert "What to do next" in text
    context.close()


def test_a_watched_page_shows_curves_and_who_paused(seen: Seen, files: Callable[[str], Path]) -> None:
    seen.open(files("consumption-watched"))
    assert seen.page.locator(".wide svg .curve").count() == 9, "6 and the others of one table, 2 of the other"
    assert seen.page.locator(".wide svg .paused").count() == 2
    assert "migration: the new topic is there at noon" in seen.page.locator("main").inner_text()
    assert seen.page.locator("meta[http-equiv=refresh]").count() == 0, "the watch has ended"
    seen.open(files("consumption-watched"), "narrow")
    assert seen.page.locator(".wide svg").first.is_hidden()
    assert seen.page.locator(".slim svg").first.is_visible()
