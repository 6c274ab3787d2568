"""Checks of the text of the hooks' Java sources."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from controller_client.upsert import columns
from jvm_bridge.java import JavaSources

_ROOT = Path(str(files("server_hooks"))) / "java"
_SHARED = "io.pinotplugins.upsert"
_BROKERS = "io.pinotplugins.broker"
_TABLES = "io.pinotplugins.v1_5.tables"
_PACKAGES = sorted({file.parent for file in _ROOT.rglob("*.java")})


@pytest.mark.parametrize("folder", _PACKAGES, ids=lambda folder: str(folder.name))
def test_a_file_is_where_its_package_is(folder: Path) -> None:
    package = ".".join(folder.relative_to(_ROOT).parts)
    sources = JavaSources.of("server_hooks", package)
    assert sources.files
    for file in sources.files:
        text = file.read_text(encoding="utf-8")
        assert text.startswith(f"package {package};\n"), file
        assert max(map(len, text.splitlines())) <= 110, file
        # Each is compiled alone or with the common sources, so a failure does not affect other versions.
        # The providers of tables of each version are compiled with the tables.
        used = {"provider": _TABLES, "broker": _BROKERS}.get(folder.name, _SHARED)
        assert set(re.findall(r"import (io\.pinotplugins\.[\w.]+)\.\w+;", text)) <= {used}, file


def test_java_and_python_use_the_same_column_names() -> None:
    text = (_ROOT / "io/pinotplugins/upsert/SystemColumns.java").read_text(encoding="utf-8")
    names = dict(re.findall(r'String (\w+) = "([^"]*)";', text))
    assert names == {name: getattr(columns, name) for name in ("VALID_FROM", "VALID_UNTIL", "OFFSET")}
    assert tuple(names.values()) == columns.SYSTEM_COLUMNS
    assert re.findall(r"long NIL = (-?\d+);", text) == [str(columns.NIL)]
