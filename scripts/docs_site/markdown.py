"""Changes to a page's text on its way from GitHub's Markdown to the site's."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence

__all__ = ["links", "prepare", "rewrite_links", "with_picture"]

_FENCE = re.compile(r"\s*(?P<fence>```+|~~~+)")
_LINK = re.compile(r"(?P<before>\]\()(?P<target>[^)\s]+)(?=\))")
_ITEM = re.compile(r"(?:[-*+]|\d+\.) +")
_FIRST_ITEM = re.compile(r"(?:[-*+]|1\.) +")
_CODE = re.compile(r"(`+)[^`].*?\1")


def prepare(text: str) -> str:
    """Remove the comments for the pages' tests, and write lists and tables in Python-Markdown's form.

    A comment starts at the beginning of a line. Python-Markdown, unlike GitHub, needs an empty line before a
    list and four spaces before the content of an item, and shows the backslash before a pipe in code.
    """
    kept: list[str] = []
    in_comment = False
    indent = 0  # of the content of the item above; 0 outside of lists
    for line, in_code in _lines(text):
        if in_comment or (not in_code and line.startswith("<!--")):
            in_comment = not line.rstrip().endswith("-->")
            continue
        item = None if in_code else _item(line, after=kept[-1:], in_list=bool(indent))
        if item:
            if kept and kept[-1] and (not indent or _has_paragraphs(kept)):
                kept.append("")
            indent = len(item[0])
        elif indent and line.startswith(" " * indent):
            line = " " * (4 - indent) + line
        elif line:
            indent = 0
        kept.append(_with_pipes(line) if not in_code and line.startswith("|") else line)
    return "\n".join(kept)


def links(text: str, page: str) -> Iterator[str]:
    """Yield the files of the repository that a page links to.

    Args:
        text: The page's text.
        page: The page's path in the repository.
    """
    targets: list[str] = []

    def note(path: str) -> str | None:
        targets.append(path)
        return None

    rewrite_links(text, page, note)
    yield from targets


def rewrite_links(text: str, page: str, replace: Callable[[str], str | None]) -> str:
    """Change the links of a page that lead to files of the repository.

    Args:
        text: The page's text.
        page: The page's path in the repository.
        replace: Returns the new target for a path in the repository, or None to keep the link.
    """

    def replaced(match: re.Match[str]) -> str:
        path, hash_sign, heading = match["target"].partition("#")
        if not path or ":" in path or path.startswith("/"):
            return match[0]
        new = replace(posixpath.normpath(posixpath.join(posixpath.dirname(page), path)))
        return match[0] if new is None else f"{match['before']}{new}{hash_sign}{heading}"

    return "\n".join(line if in_code else _outside_code(line, replaced) for line, in_code in _lines(text))


def with_picture(page: str, address: str, svg: str) -> str:
    """Replace the image of an SVG file by the file's elements.

    Args:
        page: The page's HTML.
        address: The image's address in it.
        svg: The file's text.

    Raises:
        ValueError: The page has no such image.
    """
    image = rf'<p>\s*<img [^>]*src="{re.escape(address)}"[^>]*>\s*</p>'
    with_svg, found = re.subn(image, lambda _: svg.strip(), page)
    if not found:
        raise ValueError(f"the page has no image {address} in a paragraph of its own")
    return with_svg


def _outside_code(line: str, replaced: Callable[[re.Match[str]], str]) -> str:
    spans = [code.span() for code in _CODE.finditer(line)]

    def replaced_there(link: re.Match[str]) -> str:
        return link[0] if any(begin <= link.start() < end for begin, end in spans) else replaced(link)

    return _LINK.sub(replaced_there, line)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with whether it is one of a block of code."""
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            yield line, True
            if line.strip() == fence:
                fence = ""
        elif found:
            fence = found["fence"]
            yield line, True
        else:
            yield line, False


def _item(line: str, after: Sequence[str], in_list: bool) -> re.Match[str] | None:
    """Match the marker of a list's item. In the middle of a paragraph only a first item begins a list."""
    in_paragraph = not in_list and after and after[0]
    return (_FIRST_ITEM if in_paragraph else _ITEM).match(line)


def _has_paragraphs(kept: Sequence[str]) -> bool:
    """Whether the item that the text ends with has an empty line in it."""
    for line in reversed(kept):
        if not line:
            return True
        if not line.startswith(" "):
            return False
    return False


def _with_pipes(row: str) -> str:
    def code(match: re.Match[str]) -> str:
        if r"\|" not in match[0]:
            return match[0]
        text = match[0].strip("`").replace(r"\|", "|")
        return f"<code>{html.escape(text).replace('|', '&#124;')}</code>"

    return _CODE.sub(code, row)
