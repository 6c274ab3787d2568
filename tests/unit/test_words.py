"""One word for one thing: names of public classes and of variables, and the style of error messages."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.named_tests import ROOT
from tests.unit.test_homes import PACKAGES

MODULES = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
# How a message may begin beside lower case: a name of others, or what is typed.
_NAMES = re.compile(
    r"[A-Z]+[A-Z_0-9]|[A-Z]\d|None\b|(Pinot|Kafka|Kerberos|Java|Arrow|Spark|Avro|Airflow|Helix|Maven|Python|Groovy|Docker|Quartz"
    r"|Zoo[A-Z]\w+|Web[A-Z]\w+|J[A-Z]\w+|File[A-Z]\w+|Data[A-Z]\w+|Parquet)\b"
)

_VAGUE = frozenset({"each", "found", "known", "made", "wanted"})


def test_each_public_class_has_a_name_of_its_own() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for module in MODULES:
        for node in _parsed(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(module.relative_to(ROOT)))
    assert not {name: files for name, files in homes.items() if len(files) > 1}


def test_messages_begin_in_lower_case_and_remedies_end_without_a_full_stop() -> None:
    assert not [
        f"{module.relative_to(ROOT)}:{line}: {text}"
        for module in MODULES
        for line, text in _odd_texts(_parsed(module))
    ]


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("ConfigError('The file is odd')", 1),
        ("ConfigError(f'The file {name} is odd')", 1),
        ("ConfigError('the file is odd', remedy='Correct it')", 1),
        ("ConfigError('the file is odd', remedy=f'correct {name}.')", 1),
        ("ConfigError('Pinot rejects it', remedy='set PINOT_HOME', expected='CONSUMING')", 0),
    ],
)
def test_odd_texts_are_seen(code: str, count: int) -> None:
    assert len(list(_odd_texts(ast.parse(code)))) == count


def test_a_name_that_says_nothing_lives_for_at_most_three_lines() -> None:
    assert not [
        f"{module.relative_to(ROOT)}:{line}: {name}"
        for module in MODULES
        for line, name in _vague_names(_parsed(module))
    ]


@pytest.mark.parametrize(("lines", "count"), [(2, 0), (3, 1)])
def test_a_vague_name_is_seen(lines: int, count: int) -> None:
    code = "def f(x):\n  found = x\n" + "  g()\n" * lines + "  return found\n"
    assert len(list(_vague_names(ast.parse(code)))) == count


def _vague_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for function in functions:
        lines: defaultdict[str, set[int]] = defaultdict(set)
        for node in ast.walk(function):
            if isinstance(node, ast.Name):
                lines[node.id].add(node.lineno)
        for name in _VAGUE.intersection(lines):
            if max(lines[name]) - min(lines[name]) > 3:
                yield min(lines[name]), name


def _odd_texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        # A KeyError has a key, no message.
        if not isinstance(node, ast.Call) or not re.search(r"(?<!Key)Error$", _called(node.func)):
            continue
        texts = [
            *node.args[:1],
            *(each.value for each in node.keywords if each.arg in {"remedy", "expected"}),
        ]
        for text in texts:
            first, last = _ends(text)
            if (first[:1].isupper() and not _NAMES.match(first)) or (
                text not in node.args and last.endswith(".")
            ):
                yield node.lineno, first or last


def _called(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _ends(node: ast.AST) -> tuple[str, str]:
    """Return the constant text at the beginning and at the end of an expression."""
    if isinstance(node, ast.Constant):
        return (node.value, node.value) if isinstance(node.value, str) else ("", "")
    if isinstance(node, ast.JoinedStr) and node.values:
        return _ends(node.values[0])[0], _ends(node.values[-1])[1]
    if isinstance(node, ast.BinOp):
        return _ends(node.left)[0], _ends(node.right)[1]
    return "", ""


@functools.cache
def _parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))
