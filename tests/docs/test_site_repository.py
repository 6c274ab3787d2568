"""Files outside of docs that are pages of the site."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.docs_site.repository import RepositoryFiles


@pytest.fixture
def files(tmp_path: Path) -> RepositoryFiles:
    texts = {
        "README.md": "Not a page.",
        "CONTRIBUTING.md": "See [faults](docs/faults.md#roles), [rules](pyproject.toml), [licence](LICENSE).",
        "pyproject.toml": "[project]\n",
        "LICENSE": "Free.\n",
        "docs/faults.md": "[How](../CONTRIBUTING.md#set-up), [this](../examples/a.py), [gone](../gone.py).",
        "docs/tutorials/files.md": "[Faults](../faults.md), [how](../../CONTRIBUTING.md)",
        "examples/a.py": "print('`````')\n",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return RepositoryFiles(tmp_path, ["faults.md", "tutorials/files.md"])


def test_markdown_of_the_top_folder_and_what_is_linked_are_pages(files: RepositoryFiles) -> None:
    pages = files.pages()
    assert pages.keys() == {
        "project/contributing.md",
        "source/pyproject.toml.md",
        "source/LICENSE.md",
        "source/examples/a.py.md",
    }
    assert pages["source/pyproject.toml.md"] == "# pyproject.toml\n\n```toml\n[project]\n```\n"
    assert files.is_source("source/LICENSE.md")
    assert not files.is_source("project/contributing.md")


def test_the_fence_is_longer_than_any_in_the_file(files: RepositoryFiles) -> None:
    assert files.pages()["source/examples/a.py.md"].splitlines()[2] == "``````python"


@pytest.mark.parametrize(
    ("page", "text", "rewritten"),
    [
        ("faults.md", "[a](../CONTRIBUTING.md#set-up)", "[a](project/contributing.md#set-up)"),
        ("faults.md", "[a](../examples/a.py)", "[a](source/examples/a.py.md)"),
        ("faults.md", "[a](../gone.py)", "[a](../gone.py)"),
        ("tutorials/files.md", "[a](../faults.md)", "[a](../faults.md)"),
        ("tutorials/files.md", "[a](../../CONTRIBUTING.md)", "[a](../project/contributing.md)"),
        ("project/contributing.md", "[a](docs/faults.md#roles)", "[a](../faults.md#roles)"),
        ("project/contributing.md", "[a](LICENSE)", "[a](../source/LICENSE.md)"),
    ],
)
def test_links_lead_to_the_pages(files: RepositoryFiles, page: str, text: str, rewritten: str) -> None:
    assert files.rewritten(text, page) == rewritten
