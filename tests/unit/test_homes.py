"""Steps that have one home each, where their rules are kept; all other code has to go through it."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_HATCH = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
PACKAGES = tuple(_HATCH["build"]["targets"]["wheel"]["packages"])

Finder = Callable[[ast.AST], bool]
_IMPORTS = {"import_module", "__import__"}
_DIGIT_TESTS = {"isdigit", "isdecimal", "isnumeric"}
_FOLDERS = {"TemporaryDirectory", "mkdtemp"}
_REQUESTS = {"Session", "get", "post", "put", "delete", "head", "patch", "request"}
_WORDS = re.compile("|".join([*_IMPORTS, *_DIGIT_TESTS, *_FOLDERS, r"\brequests\b"]))


def _name(node: ast.AST) -> str:
    """The last part of a name: of ``tempfile.TemporaryDirectory`` the second."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def imports_by_name(node: ast.AST) -> bool:
    """Whether it imports a module whose name is not in the code, or hides the function that does."""
    if isinstance(node, ast.ImportFrom):
        return any(each.name in _IMPORTS and each.asname for each in node.names)
    if not isinstance(node, ast.Call) or _name(node.func) not in _IMPORTS:
        return False
    return not (node.args and isinstance(node.args[0], ast.Constant))


def makes_a_temporary_folder(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) in _FOLDERS


def opens_a_session(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "requests" and any(each.name in _REQUESTS for each in node.names)
    called = (
        [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
    )
    return any(
        isinstance(each, ast.Attribute) and _name(each.value) == "requests" and each.attr in _REQUESTS
        for each in called
    )


def asks_for_digits(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _DIGIT_TESTS


_OWN_MODULES = "the names are in a table of this file"
HOMES: Mapping[Finder, Mapping[str, str]] = {
    imports_by_name: {
        "controller_client/__init__.py": _OWN_MODULES,
        "controller_client/consumption/__init__.py": _OWN_MODULES,
        "pinot_airflow/__init__.py": _OWN_MODULES,
        "spark_connectors/__init__.py": _OWN_MODULES,
        "pinot_airflow/conditions/base.py": "Airflow imports triggers by names of the same database",
    },
    makes_a_temporary_folder: {
        "controller_client/common/folders.py": "scratch_folder, which deletes what killed processes left",
        "jvm_bridge/jars/cache.py": "within a folder that each holder of the cache's lock empties",
        "jvm_bridge/builder/one_file.py": "within the work folder of its caller",
        "minion_tasks/file_ingestion/engine/staging_builder.py": "within the scratch folder of its caller",
        "controller_client/filestore/local.py": "within the work folder of its caller",
    },
    opens_a_session: {
        "controller_client/common/http_session.py": "the session of all transports",
    },
    asks_for_digits: {},
}
"""What code does, and the files that may do it, each with its reason."""

INSTEAD: Mapping[Finder, str] = {
    imports_by_name: "an entry point that the operator installs",
    makes_a_temporary_folder: "controller_client.common.folders.scratch_folder",
    opens_a_session: "the transport of that peer",
    asks_for_digits: "controller_client.common.parsing.whole_number",
}


def test_each_step_is_taken_in_its_homes_alone() -> None:
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    assert len(files) > 500
    faults = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        if not _WORDS.search(text):
            continue  # parsing all files would take long
        file = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(text)):
            faults += [
                f"{file}:{node.lineno}: use {INSTEAD[finder]}"  # type: ignore[attr-defined]
                for finder, homes in HOMES.items()
                if file not in homes and finder(node)
            ]
    assert faults == []


@pytest.mark.parametrize(
    ("finder", "code"),
    [
        (imports_by_name, "importlib.import_module(name)"),
        (imports_by_name, "import_module(f'a.{name}')"),
        (imports_by_name, "__import__(name)"),
        (imports_by_name, "from importlib import import_module as load"),
        (makes_a_temporary_folder, "tempfile.TemporaryDirectory()"),
        (makes_a_temporary_folder, "TemporaryDirectory(dir=folder)"),
        (opens_a_session, "requests.Session()"),
        (opens_a_session, "class Mine(requests.Session): pass"),
        (opens_a_session, "from requests import Session"),
        (opens_a_session, "requests.get(url, timeout=5)"),
        (asks_for_digits, "text.isdigit()"),
        (asks_for_digits, "map(str.isdecimal, texts)"),
    ],
)
def test_a_step_is_seen(finder: Finder, code: str) -> None:
    assert any(map(finder, ast.walk(ast.parse(code))))


@pytest.mark.parametrize(
    "code",
    [
        "importlib.import_module('jpype')",
        "scratch_folder('pinot-')",
        "session: requests.Session | None = None",
        "except_ = requests.RequestException",
        "whole_number(text)",
    ],
)
def test_other_code_is_left_alone(code: str) -> None:
    for finder in HOMES:
        assert not any(map(finder, ast.walk(ast.parse(code))))
