"""Tests that a document or a list names as the proof of something."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def exists(test: str) -> bool:
    """Whether there is one function of this name in the file, e.g. ``tests/unit/test_a.py::test_b``."""
    path, _, name = test.partition("::")
    if not (ROOT / path).is_file():
        return False
    module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = [node.name for node in module.body if isinstance(node, ast.FunctionDef)]
    return functions.count(name) == 1
