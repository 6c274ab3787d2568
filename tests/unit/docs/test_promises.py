"""Each promise of the documentation has a test that runs by default on a real cluster."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.tiers import WHEN_TOUCHED

ROOT = Path(__file__).parents[3]
PROMISES = (ROOT / "tests/promises.md").read_text(encoding="utf-8")
TESTS = sorted(set(re.findall(r"`(tests/[^`]+::[^`]+)`", PROMISES)))


def first_cells(text: str, header: str) -> list[str]:
    """Return the first column of each table whose header begins so, without the marks of footnotes."""
    cells: list[str] = []
    for table in re.findall(rf"^\| {re.escape(header)}.*\n\| ---.*\n((?:\|.*\n)+)", text, re.MULTILINE):
        cells += [re.sub(r"[¹²]", "", row.split("|")[1]).strip() for row in table.splitlines()]
    return cells


@pytest.mark.parametrize(
    ("page", "header", "listed"),
    [("README.md", "you want to", "you want to"), ("docs/versions.md", "| 0.11.0", "feature")],
)
def test_each_row_of_the_page_is_listed(page: str, header: str, listed: str) -> None:
    rows = first_cells((ROOT / page).read_text(encoding="utf-8"), header)
    assert len(rows) > 5
    assert list(dict.fromkeys(first_cells(PROMISES, listed))) == rows


@pytest.mark.parametrize("test", TESTS)
def test_its_test_runs_by_default(test: str) -> None:
    path, _, name = test.partition("::")
    assert path.startswith(("tests/integration/", "tests/faults/"))
    assert not path.startswith(tuple(WHEN_TOUCHED))
    module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for node in module.body:
        if isinstance(node, ast.Assign) and "pytestmark" in map(ast.unparse, node.targets):
            assert "FULL" not in ast.unparse(node.value)
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == name]
    assert len(functions) == 1
    assert "FULL" not in map(ast.unparse, functions[0].decorator_list)
