"""The locked requirements fit pyproject.toml; after a change of it: ``scripts/lock.sh``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from jvm_bridge.builder.sources import file_columns
from tests.packaging.environments import ROOT

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_LOCKED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def _required(texts: list[str]) -> Iterator[Requirement]:
    """The requirements, and those of the project's own extras among them."""
    for text in texts:
        requirement = Requirement(text)
        if requirement.name == "pinot-plugins":
            for extra in requirement.extras:
                yield from _required(_PROJECT["optional-dependencies"][extra])
        else:
            yield requirement


@pytest.mark.parametrize(
    ("file", "extras"),
    [
        ("requirements/demo.txt", "demo"),
        ("requirements/demo-spark.txt", "demo,spark"),
        ("requirements/unit.txt", "unit"),
        ("requirements/dev.txt", "dev"),
        ("docker/requirements.txt", "minion,server"),
    ],
)
def test_they_satisfy_the_project(file: str, extras: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    locked = {canonicalize_name(package): version for package, version in _LOCKED.findall(text)}
    for requirement in _required([*_PROJECT["dependencies"], f"pinot-plugins[{extras}]"]):
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is not locked"
        assert requirement.specifier.contains(version), f"{requirement} is locked as {version}"
    assert text.count("--hash=sha256:") >= len(locked)


def test_files_are_read_with_each_pyarrow_that_the_project_allows_and_no_other() -> None:
    (pyarrow,) = (entry for entry in _required(["pinot-plugins[jvm]"]) if entry.name == "pyarrow")
    oldest = file_columns._OLDEST_PYARROW
    assert pyarrow.specifier.contains(f"{oldest}.0.0")
    assert not pyarrow.specifier.contains(f"{oldest - 1}.99.0")
