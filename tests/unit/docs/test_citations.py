"""Each measured figure can be measured again: its section of docs/benchmarks.md has the command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
_COMMAND = re.compile(r"python -m benchmarks\.(\w+)")
_WITHOUT_A_MODULE = {"Quickstart": "./quickstart.sh"}
_ABOUT_THE_PAGE = "How to cite a figure"


def sections() -> dict[str, str]:
    """The text of each second-level section, including its subsections, by title."""
    _, *parts = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def programs() -> set[str]:
    """The benchmarks that can be started."""
    folder = ROOT / "benchmarks"
    modules = {path.stem for path in folder.glob("*.py") if "\ndef main(" in path.read_text(encoding="utf-8")}
    packages = {path.parent.name for path in folder.glob("*/__main__.py")}
    # Other benchmarks start these programs.
    return {name for name in modules | packages if not name.endswith("_program")}


@pytest.mark.parametrize("title", [title for title in sections() if title != _ABOUT_THE_PAGE])
def test_a_section_has_its_command(title: str) -> None:
    text = sections()[title]
    assert _COMMAND.search(text) or _WITHOUT_A_MODULE[title] in text


def test_the_commands_of_the_page_exist_and_each_benchmark_is_on_it() -> None:
    assert set(_COMMAND.findall(PAGE)) == programs()
