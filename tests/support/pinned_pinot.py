"""Other versions of Pinot than the one that the suite runs with: as much of each as Maven Central has.

These jars build, load and read segments. They are no cluster, and have no readers of input files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from jvm_bridge.jars import JarCache, Repository, cache_folder, parse_pins
from jvm_bridge.jars.download import MIRROR_VARIABLE
from tests.support.full import FULL

__all__ = ["EACH_RUN", "pinned_home", "pinot_versions"]

EACH_RUN = "1.5.1"
"""The version that each run has, too; without ``--full`` no other."""

_PINS = Path(__file__).parents[1] / "pins"


def pinot_versions(*others: str) -> list[Any]:
    """Return the values of a parameter: None for the Pinot of this run, and versions beside it.

    Args:
        others: The versions; those but :data:`EACH_RUN` are for ``--full``.
    """
    this = [pytest.param(None, id="this")]
    if os.environ.get("PINOT_HOME"):
        return this  # whoever names a Pinot wants that one
    return [*this, *(each if each == EACH_RUN else pytest.param(each, marks=FULL) for each in others)]


def pinned_home(version: str, folder: Path) -> Path:
    """Make a folder that ``PINOT_HOME`` may name; its jars are fetched at the first call on a machine.

    Args:
        version: E.g. ``1.5.1``.
        folder: An existing folder to make it in.
    """
    lib = folder / f"pinot-{version}" / "lib"
    lib.mkdir(parents=True)
    for jar in _jars(version):
        (lib / jar.name).symlink_to(jar)
    return lib.parent


def _jars(version: str) -> tuple[Path, ...]:
    name = f"pinot-{version}"
    pins = parse_pins(name, (_PINS / f"{name}.txt").read_text(encoding="utf-8"))
    return JarCache(cache_folder(), Repository(os.environ.get(MIRROR_VARIABLE) or None)).ensure(pins)


if __name__ == "__main__":
    _jars(EACH_RUN)
