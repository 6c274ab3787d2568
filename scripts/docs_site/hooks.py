"""Hooks of MkDocs for the documentation site: mkdocs.yml names this file.

They add the API reference and those files of the repository that pages link to, and report as warnings what
the site must not have. ``strict`` in mkdocs.yml makes each warning an error.
"""

from __future__ import annotations

import logging
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from scripts.docs_site.checks import foreign_resources, missing_docstrings
from scripts.docs_site.markdown import prepare, with_picture
from scripts.docs_site.navigation import expand
from scripts.docs_site.reference import ReferencePage, reference_pages
from scripts.docs_site.repository import RepositoryFiles

logger = logging.getLogger("mkdocs.hooks.docs_site")

_HOME = "index.md"
_PARTS = "images/parts.svg"


class _Site:
    """The state of one build: created by `on_files`, used by later hooks."""

    def __init__(self, config: MkDocsConfig, docs: list[str]) -> None:
        root = Path(config.config_file_path).parent
        pages = reference_pages(root, **config.extra["reference"])
        self.reference: dict[str, ReferencePage] = {page.path: page for page in pages}
        self.repository = RepositoryFiles(root, docs)


_sites: dict[str, _Site] = {}


def _site(config: MkDocsConfig) -> _Site:
    return _sites[config.config_file_path]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, then complete the navigation."""
    site = _Site(config, [file.src_uri for file in files.documentation_pages()])
    _sites[config.config_file_path] = site
    generated = {path: page.markdown() for path, page in site.reference.items()} | site.repository.pages()
    for path, text in generated.items():
        inclusion = InclusionLevel.NOT_IN_NAV if site.repository.is_source(path) else InclusionLevel.UNDEFINED
        files.append(File.generated(config, path, content=text, inclusion=inclusion))
    config.nav = expand(config.nav or [], [file.src_uri for file in files.documentation_pages()])
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make the text of a page fit for the site."""
    if page.file.src_uri == _HOME:
        page.meta["hide"] = ["navigation", "toc"]
    if page.file.src_uri in _site(config).reference:
        return markdown
    return _site(config).repository.rewritten(prepare(markdown), page.file.src_uri)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the picture of the parts into the first page: there it follows the theme that a reader chose."""
    picture = files.get_file_from_path(_PARTS)
    if page.file.src_uri != _HOME or picture is None:
        return html
    return with_picture(html, _PARTS, picture.content_string)


def on_env(env: object, config: MkDocsConfig, files: Files) -> None:
    """Report public names without a docstring. mkdocstrings has read the packages by now."""
    handler = config.plugins["mkdocstrings"].get_handler("python")  # type: ignore[attr-defined]
    for page in _site(config).reference.values():
        module = handler.collect(page.module, handler.get_options({}))
        for path in missing_docstrings(module, page.names):
            logger.warning("%s is public and has no docstring", path)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> None:
    """Report what a page would load from another host."""
    for address in foreign_resources(output):
        logger.warning("%s loads %s from another host", page.file.src_uri, address)
