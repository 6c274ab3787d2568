"""docs/architecture.md: the modules and paths that it names exist, and it names each package."""

from __future__ import annotations

import re

import pytest

from tests.unit.named_tests import ROOT
from tests.unit.test_homes import PACKAGES

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMES = sorted(
    name for name in set(re.findall(r"`([\w./]+)`", PAGE)) if name.split(".")[0].split("/")[0] in PACKAGES
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_that_of_a_module_or_a_path(name: str) -> None:
    path = ROOT / name.replace(".", "/")
    assert path.is_dir() or path.with_suffix(".py").is_file(), name


def test_each_package_and_room_is_named() -> None:
    rooms = {
        f"controller_client.{folder.name}"
        for folder in (ROOT / "controller_client").iterdir()
        if (folder / "__init__.py").is_file()
    }
    assert {*PACKAGES, *rooms} <= set(NAMES)
