"""Versions of Pinot other than the one of the run, as far as Maven Central has their jars.

These jars build, load and read segments. They cannot run a cluster, and have no readers for input files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jvm_bridge.jars import JarCache, Repository, cache_folder, parse_pins
from jvm_bridge.jars.download import MIRROR_VARIABLE
from tests.support.tiers import FULL

__all__ = ["home_variables", "pinned_home", "pinot_versions"]

_PINS = Path(__file__).parents[1] / "pins"


def pinot_versions(*others: str) -> list[Any]:
    """Return the values of a parameter: None for the Pinot of this run, and with ``--full`` other versions.

    A run that names a Pinot (``PINOT_HOME``) tests only that one.
    """
    this = [pytest.param(None, id="this")]
    if os.environ.get("PINOT_HOME"):
        return this
    return [*this, *(pytest.param(each, marks=FULL) for each in others)]


def pinned_home(version: str, folder: Path) -> Path:
    """Create a folder for ``PINOT_HOME``; its jars are fetched at the first call on a machine.

    Args:
        version: E.g. ``1.5.1``.
        folder: An existing folder in which to create it.
    """
    lib = folder / f"pinot-{version}" / "lib"
    lib.mkdir(parents=True)
    for jar in _jars(version):
        (lib / jar.name).symlink_to(jar)
    return lib.parent


def home_variables(version: str | None, folder: Path) -> Mapping[str, str]:
    """Return the environment variables that select a child process's Pinot; None: that of this run."""
    return {} if version is None else {"PINOT_HOME": str(pinned_home(version, folder))}


def _jars(version: str) -> tuple[Path, ...]:
    name = f"pinot-{version}"
    pins = parse_pins(name, (_PINS / f"{name}.txt").read_text(encoding="utf-8"))
    return JarCache(cache_folder(), Repository(os.environ.get(MIRROR_VARIABLE) or None)).ensure(pins)
