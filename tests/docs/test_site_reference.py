"""Which modules have a page of the API reference, and what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from scripts.docs_site.docstrings import as_markdown
from scripts.docs_site.reference import ReferencePage, exported_names, public_modules, reference_pages

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {
        "one/__init__.py": (
            "from one.inner import First, Second as Renamed\n__all__ = ['First', 'Own', 'Renamed']\nOwn = 1\n"
        ),
        "one/inner/__init__.py": (
            "__all__ = ['First', 'Second', 'Third']\nclass First: ...\nclass Second: ...\nclass Third: ...\n"
        ),
        "one/all_shown/__init__.py": "from one import First\n__all__ = ['First']\n",
        "one/internal/__init__.py": "",
        "one/module.py": "__all__ = ['Own']\nOwn = 2\n",
        "two/__init__.py": (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from one.inner import First\n"
            "__all__ = ['First', 'Two']\n"
        ),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_packages_with_public_names_and_listed_modules(repository: Path) -> None:
    assert public_modules(repository, ["two", "one"], ["one.module"]) == [
        "two",
        "one",
        "one.all_shown",
        "one.inner",
        "one.module",
    ]


def test_each_object_is_on_one_page_and_its_other_names_link_there(repository: Path) -> None:
    assert reference_pages(repository, ["one", "two"], ["one.module"]) == [
        ReferencePage("one", ("First", "Own", "Renamed"), {}),
        ReferencePage("one.inner", ("Third",), {"First": "one", "Second": "one"}),
        ReferencePage("one.module", ("Own",), {}),
        ReferencePage("two", ("Two",), {"First": "one"}),
    ]


def test_a_listed_but_missing_module_is_an_error(repository: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.py"):
        reference_pages(repository, ["one"], ["one.gone"])


def test_the_text_of_a_page() -> None:
    page = ReferencePage("one.inner", ("Third",), {"First": "one"})
    assert page.path == "api/one.inner.md"
    assert (
        page.markdown()
        == """\
---
title: inner
search:
  boost: 0.2
---

# one.inner

::: one.inner
    options:
      show_root_heading: false
      show_root_toc_entry: false
      members:
        - Third

Also here: [`First`](one.md#one.First).
"""
    )


def test_a_module_without_all_exports_nothing() -> None:
    assert exported_names("x = 1\n") == ()
    assert exported_names("__all__ = ['x', 'y']\n") == ("x", "y")


def test_the_projects_own_reference_has_what_its_packages_export() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = yaml.safe_load(text[text.index("  reference:\n") : text.index("\nextra_css")])["reference"]
    pages = {page.module: page for page in reference_pages(ROOT, **listed)}
    for module in ("controller_client", "spark_connectors", "pinot_airflow", "jvm_bridge.builder"):
        source = ROOT.joinpath(*module.split("."), "__init__.py").read_text(encoding="utf-8")
        assert pages[module].names == exported_names(source)


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        ("Text::\n\n    code", "Text:\n\n    code"),
        ("Text.\n\n    ::\n\n        code", "Text.\n\n\n\n        code"),
        ("A :class:`Name` and :func:`~module.name`.", "A `Name` and `module.name`."),
        ("``a::b`` stays.", "``a::b`` stays."),
    ],
)
def test_docstrings_become_markdown(docstring: str, markdown: str) -> None:
    assert as_markdown(docstring) == markdown
