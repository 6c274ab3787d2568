"""What SECURITY.md promises is held by tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.unit.named_tests import ROOT, exists

_TABLE = re.compile(r"^\| who or what \|.*\n\| ---.*\n((?:\|.*\n)+)", re.MULTILINE)


def _rows() -> list[list[str]]:
    """The cells of the table of who is trusted with what."""
    (table,) = _TABLE.findall((ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines()]


def _tests_of(cell: str) -> list[str]:
    return re.findall(r"`(tests/[^`]+::[^`]+)`", cell)


def test_each_limit_is_held_by_a_test() -> None:
    limited = [row for row in _rows() if len(row) > 2]
    assert len(limited) > 5
    assert [row[0] for row in limited if len(row) != 4 or not _tests_of(row[3])] == []


@pytest.mark.parametrize("test", sorted({test for row in _rows() for test in _tests_of(row[-1])}))
def test_the_test_exists(test: str) -> None:
    assert exists(test)
