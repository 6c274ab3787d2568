"""This release, a later one that is derived from it, and processes of both."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from controller_client._version import __version__
from controller_client.common.formats import Format
from tests.support.pinotctl import pinotctl

__all__ = ["LATER_VERSION", "THIS", "Release", "make_later"]

LATER_VERSION = "9.9.9"

_REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Release:
    """The code of a release; its commands and executors are read from the installed metadata.

    Attributes:
        folder: Folder with its packages.
        version: Its version number.
    """

    folder: Path
    version: str

    def environment(self) -> dict[str, str]:
        """Return the environment in which a Python process uses this code, wherever it is started."""
        path = [str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path),
            "PYTHONSAFEPATH": "1",  # otherwise the folder in which it is started takes precedence
            "PINOTCTL_CONFIG": "/no/such/file",
        }

    def start(self, *words: str, controller: str | None = None) -> subprocess.Popen[str]:
        """Start ``pinotctl``."""
        return subprocess.Popen(
            pinotctl(*words, controller=controller),
            env=self.environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


THIS = Release(_REPOSITORY, __version__)


def make_later(folder: Path, raised: Iterable[Format] = ()) -> Release:
    """Create a later release from this checkout: a copy of its packages with another version.

    Args:
        folder: An empty folder.
        raised: Formats of which it writes the next version; it also reads those that this release reads.

    Raises:
        AssertionError: The text to change is not in exactly one place in the code.
    """
    for package in _packages():
        shutil.copytree(_REPOSITORY / package, folder / package)
    _edit(folder, f'__version__ = "{__version__}"', f'__version__ = "{LATER_VERSION}"')
    for each in raised:
        _edit(folder, _call(each), _call(replace(each, version=each.version + 1)))
    return Release(folder, LATER_VERSION)


def _packages() -> list[str]:
    """The packages that are distributed."""
    project = tomllib.loads((_REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[str] = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return found


def _call(each: Format) -> str:
    """The call that creates a format, as written in the code."""
    defaults = Format("")
    named = {
        name: json.dumps(getattr(each, name))
        for name in ("version", "oldest", "field")
        if getattr(each, name) != getattr(defaults, name)
    }
    words = [json.dumps(each.name), *(f"{name}={value}" for name, value in named.items())]
    return f"Format({', '.join(words)})"


def _edit(folder: Path, old: str, new: str) -> None:
    texts = {file: file.read_text(encoding="utf-8") for file in folder.rglob("*.py")}
    found = {file: text.count(old) for file, text in texts.items() if old in text}
    assert sum(found.values()) == 1, f"{old!r} is to be in one place, and is in {found or 'none'}"
    (file,) = found
    file.write_text(texts[file].replace(old, new), encoding="utf-8")
