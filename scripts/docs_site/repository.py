"""Files of the repository outside of docs that pages of the site link to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

from scripts.docs_site.markdown import links, rewrite_links

__all__ = ["RepositoryFiles"]

_DOCS, _PROJECT, _SOURCE = "docs/", "project/", "source/"
_README = "README.md"
_LANGUAGES = {
    ".py": "python",
    ".sh": "bash",
    ".java": "java",
    ".toml": "toml",
    ".json": "json",
    ".yaml": "yaml",
}


class RepositoryFiles:
    """The files of the repository that are pages of the site, and the links to them.

    These are the Markdown files of the top folder but for README.md, and each file that a page links to.

    Args:
        root: The repository.
        docs: The pages below its folder docs.
    """

    def __init__(self, root: Path, docs: Iterable[str]) -> None:
        self._root = root
        self._page_of = {f"{_DOCS}{page}": page for page in docs}
        for path in sorted(root.glob("*.md")):
            if path.name != _README:
                self._page_of[path.name] = f"{_PROJECT}{path.name.lower()}"
        for page in list(self._page_of):
            for linked in links((root / page).read_text(encoding="utf-8"), page):
                if linked not in self._page_of and self._is_there(linked):
                    self._page_of[linked] = f"{_SOURCE}{linked}.md"
        self._path_of = {page: path for path, page in self._page_of.items()}

    def pages(self) -> dict[str, str]:
        """Return path and text of the pages that are not in docs."""
        return {page: self._text(path) for path, page in self._page_of.items() if not path.startswith(_DOCS)}

    def is_source(self, page: str) -> bool:
        """Whether a page is a file that is only published because others link to it."""
        return page.startswith(_SOURCE)

    def rewritten(self, text: str, page: str) -> str:
        """Return a page's text with each link to a file of the repository as one to the file's page.

        Args:
            text: The text.
            page: The page's path on the site.
        """

        def replace(path: str) -> str | None:
            target = self._page_of.get(path)
            return target and posixpath.relpath(target, posixpath.dirname(page) or ".")

        return rewrite_links(text, self._path_of[page], replace)

    def _is_there(self, path: str) -> bool:
        return not path.startswith(("..", _DOCS)) and (self._root / path).is_file()

    def _text(self, path: str) -> str:
        text = (self._root / path).read_text(encoding="utf-8")
        if path.endswith(".md"):
            return text
        language = _LANGUAGES.get(posixpath.splitext(path)[1], "text")
        fence = "`" * max([3, *(len(found) + 1 for found in re.findall("`+", text))])
        return f"# {path}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"
