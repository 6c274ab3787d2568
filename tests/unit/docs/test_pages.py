"""Rules that all pages follow, the measured figures that they cite, and the notebook."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.blocks import RUN_LANGUAGES, commands_of, read_blocks
from tests.docs.notebook import NOTEBOOK, PAGE, notebook_text

ROOT = Path(__file__).parents[3]
OWN = ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in OWN), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_can_be_run_and_its_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for block in read_blocks(text):
        assert block.language not in {"bash", "sh", "shell"}, f"line {block.line}: write console"
        for name in ("not run", "full"):
            assert block.marks.get(name, "a reason"), f"line {block.line}: why is it {name}?"
        if block.language == "console":
            commands_of(block)
        assert not block.hidden or block.language in RUN_LANGUAGES
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text) + re.findall(r'<img src="([^"]+)"', text):
        file, _, heading = target.partition("#")
        linked = path.parent / file if file else path
        assert linked.exists(), target
        assert not heading or heading in _headings(linked), target


def _headings(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


BENCHMARKS = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
_COMMAND = re.compile(r"python -m benchmarks\.(\w+)")
_WITHOUT_A_MODULE = {"Quickstart": "./quickstart.sh"}
_ABOUT_THE_PAGE = "How to cite a figure"


def sections() -> dict[str, str]:
    """The text of each second-level section, including its subsections, by title."""
    _, *parts = re.split(r"^## (.+)$", BENCHMARKS, flags=re.MULTILINE)
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
    assert set(_COMMAND.findall(BENCHMARKS)) == programs()


def test_the_notebook_is_that_of_the_page() -> None:
    written = NOTEBOOK.read_text(encoding="utf-8")
    assert written == notebook_text(), "run 'python -m tests.docs.notebook' and commit it"


def test_its_cells_of_code_are_the_blocks_of_the_page() -> None:
    cells = json.loads(notebook_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    blocks = read_blocks(PAGE.read_text(encoding="utf-8"))
    assert code == [block.text.rstrip("\n") for block in blocks if block.language == "python"]
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert "pinotctl cluster up" in text
    assert "<!--" not in text
