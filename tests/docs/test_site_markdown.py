"""The changes to a page's text for the site."""

from __future__ import annotations

import pytest

from scripts.docs_site.markdown import links, prepare, rewrite_links, with_picture

CONSOLE = """\
```console
$ ls
<!-- not a comment -->
- not a list
[not](a-link.md)
```
"""
PAGE = f"""\
Text.
<!-- output: shape -->
{CONSOLE}<!-- run python
hidden = 1
-->
Text with a list:
- one,
  continued
- two

  with a paragraph

      and code
- three
1. not a list of its own

| `a\\|b<c` | `row` |
"""


def test_comments_lists_and_tables() -> None:
    assert (
        prepare(PAGE)
        == f"""\
Text.
{CONSOLE}Text with a list:

- one,
    continued
- two

    with a paragraph

        and code

- three
1. not a list of its own

| <code>a&#124;b&lt;c</code> | `row` |
"""
    )


def test_a_number_in_a_line_of_text_begins_no_list() -> None:
    text = "It was in the year\n2026. Then"
    assert prepare(text) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](../CONTRIBUTING.md#set-up), [b](b.md)", ["CONTRIBUTING.md", "docs/b.md"]),
        ("![picture](images/parts.svg)", ["docs/images/parts.svg"]),
        ("[`code`](code.md)", ["docs/code.md"]),
        ("`[x](y.md)` and ``[x](y.md)``", []),
        ("[a](https://pinot.apache.org) [b](#here) [c](mailto:a@b.c) [d](/absolute)", []),
        ("```\n[a](b.md)\n```", []),
        ("~~~~\n[a](b.md)\n~~~\n[a](b.md)\n~~~~\n[c](c.md)", ["docs/c.md"]),
    ],
)
def test_links_to_files(text: str, found: list[str]) -> None:
    assert list(links(text, "docs/page.md")) == found


def test_links_are_rewritten_with_their_headings() -> None:
    text = "[a](../LICENSE), [b](b.md#part) and [c](../other/c.py)"
    pages = {"LICENSE": "source/LICENSE.md", "docs/b.md": "x/b.md"}
    assert rewrite_links(text, "docs/page.md", pages.get) == (
        "[a](source/LICENSE.md), [b](x/b.md#part) and [c](../other/c.py)"
    )


def test_a_picture_is_put_in_place_of_its_image() -> None:
    html = '<p>a</p>\n<p><img alt="Parts" src="images/parts.svg" /></p>'
    assert with_picture(html, "images/parts.svg", "<svg>\\1</svg>\n") == "<p>a</p>\n<svg>\\1</svg>"


def test_a_page_without_the_picture_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no image images/parts\.svg"):
        with_picture("<p>a</p>", "images/parts.svg", "<svg/>")
