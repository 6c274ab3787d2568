"""Faults of the site that MkDocs itself does not find."""

from __future__ import annotations

from pathlib import Path

import griffe
import pytest

from scripts.docs_site.checks import foreign_resources, missing_docstrings


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<script src="https://cdn.example.com/a.js"></script>', ["https://cdn.example.com/a.js"]),
        ('<img src="//example.com/a.png">', ["//example.com/a.png"]),
        ('<link rel="stylesheet" href="http://fonts.example.com/css">', ["http://fonts.example.com/css"]),
        ('<link rel="canonical" href="https://example.com/page">', []),
        ('<a href="https://pinot.apache.org">Pinot</a><img src="a.png"><script src="../a.js"></script>', []),
    ],
)
def test_what_a_page_loads_from_other_hosts(html: str, found: list[str]) -> None:
    assert foreign_resources(html) == found


def test_public_names_and_methods_without_a_docstring(tmp_path: Path) -> None:
    package = tmp_path / "sample"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from sample.inner import Bare\n__all__ = ['Bare', 'CONSTANT', 'DOCUMENTED', 'Full']\n"
        "CONSTANT = 1\nDOCUMENTED = 2\n'''What it is.'''\n"
        "class Full:\n    '''Full.'''\n    def bare(self): ...\n    def _own(self): ...\n"
        "    @property\n    def seen(self): ...\n    def full(self):\n        '''Full.'''\n"
    )
    (package / "inner.py").write_text("'''Inner.'''\nclass Bare: ...\n")
    loader = griffe.GriffeLoader(search_paths=[tmp_path])
    module = loader.load("sample")
    loader.resolve_aliases()
    assert isinstance(module, griffe.Module)
    assert list(missing_docstrings(module, ("Bare", "CONSTANT", "DOCUMENTED", "Full"))) == [
        "sample",
        "sample.Bare",
        "sample.CONSTANT",
        "sample.Full.bare",
        "sample.Full.seen",
    ]
