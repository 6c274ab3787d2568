"""Entries of the site's navigation that stand for several pages."""

from __future__ import annotations

from scripts.docs_site.navigation import expand


def test_braces_keep_their_order_and_omit_what_is_missing() -> None:
    pages = ["tutorials/a.md", "tutorials/b.md", "tutorials/c.md", "other.md"]
    assert expand(["tutorials/{c,x,a}.md"], pages) == ["tutorials/c.md", "tutorials/a.md"]


def test_a_star_takes_the_order_of_the_pages() -> None:
    assert expand([{"API": ["api/*.md"]}], ["api/z.md", "index.md", "api/a.md"]) == [
        {"API": ["api/z.md", "api/a.md"]}
    ]


def test_a_section_without_pages_is_left_out() -> None:
    assert expand([{"Home": "index.md"}, {"Empty": ["nothing*.md"]}], ["index.md"]) == [{"Home": "index.md"}]


def test_a_plain_entry_stays_though_its_page_is_missing_so_that_mkdocs_reports_it() -> None:
    assert expand(["gone.md", {"Title": "gone.md"}], []) == ["gone.md", {"Title": "gone.md"}]
