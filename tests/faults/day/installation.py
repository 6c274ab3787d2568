"""Installations of the plugins: this checkout, and a later release."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controller_client._version import __version__

__all__ = ["Installation", "later_release", "this_release"]

_REPOSITORY = Path(__file__).parents[3]
_PACKAGES = (
    *("controller_client", "jvm_bridge", "minion_tasks", "pinot_airflow", "pyspark_pinot", "server_hooks"),
    "spark_connectors",
)
_LATER = "0.99.0"


@dataclass(frozen=True)
class Installation:
    """One release of all packages.

    Attributes:
        version: The version that its processes report.
        folder: Contains the packages.
    """

    version: str
    folder: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that make Python import this release; commands and hooks are found as before."""
        others = os.environ.get("PYTHONPATH")
        return {"PYTHONPATH": os.pathsep.join([str(self.folder), *([others] if others else [])])}


def this_release() -> Installation:
    """Return the checkout."""
    return Installation(__version__, _REPOSITORY)


def later_release(folder: Path) -> Installation:
    """Install a copy of the checkout as a later release."""
    for package in _PACKAGES:
        shutil.copytree(
            _REPOSITORY / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", ".*")
        )
    written = folder / "controller_client" / "_version.py"
    text = written.read_text(encoding="utf-8")
    assert text.count(f'"{__version__}"') == 1, text
    written.write_text(text.replace(f'"{__version__}"', f'"{_LATER}"'), encoding="utf-8")
    return Installation(_LATER, folder)
