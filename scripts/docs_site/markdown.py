"""Changes to a page's text on its way from GitHub's Markdown to the site's."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

__all__ = ["links", "prepare", "rewrite_links", "with_picture"]

_FENCE = re.compile(r"\s*(?P<fence>```+|~~~+)")
_LINK = re.compile(r"(?P<before>\]\()(?P<target>[^)\s]+)(?=\))")
_ITEM = re.compile(r"(?:[-*+]|1\.)\s")
_ANY_ITEM = re.compile(r"(?:[-*+]|\d+\.)\s")
_CODE = re.compile(r"(`+)[^`].*?\1")


def prepare(text: str) -> str:
    """Leave out the comments for the pages' tests, and begin each list with an empty line.

    A comment begins a line of its own. Python-Markdown takes a list that follows a line of text for a part of
    its paragraph; GitHub does not.
    """
    kept: list[str] = []
    in_comment = False
    for line, in_code in _lines(text):
        if in_comment or (not in_code and line.startswith("<!--")):
            in_comment = not line.rstrip().endswith("-->")
            continue
        if not in_code and _ITEM.match(line) and kept and _is_text(kept[-1]):
            kept.append("")
        kept.append(line)
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


def with_picture(html: str, address: str, svg: str) -> str:
    """Replace the image of an SVG file by the file's elements.

    Args:
        html: The page's HTML.
        address: The image's address in it.
        svg: The file's text.

    Raises:
        ValueError: The page has no such image.
    """
    image = rf'<p>\s*<img [^>]*src="{re.escape(address)}"[^>]*>\s*</p>'
    with_svg, found = re.subn(image, lambda _: svg.strip(), html)
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


def _is_text(line: str) -> bool:
    return bool(line.strip()) and line[0] not in " \t#|>" and not _ANY_ITEM.match(line)
