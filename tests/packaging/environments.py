"""Environments that hold the built wheel, what extras of it require, and nothing else.

The wheel is installed once, by pip. It and its requirements, which are read from its metadata, are linked
into each environment, the requirements from the environment that runs the tests: no index is asked, and an
environment takes a second instead of a minute.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import venv
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
_LIBRARY = Path("lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")


@dataclass(frozen=True)
class Environment:
    """A virtual environment.

    Attributes:
        folder: Where it is.
        installed: Names of the distributions in it, beside the wheel's.
    """

    folder: Path
    installed: frozenset[str]

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"


@dataclass(frozen=True)
class Installed:
    """The wheel of this checkout, installed into an environment of its own, without its requirements.

    Attributes:
        folder: Of the environment.
    """

    folder: Path

    @classmethod
    def build(cls, folder: Path) -> Installed:
        """Build the wheel and install it."""
        _pip("wheel", str(ROOT), "--wheel-dir", str(folder), "--no-deps", "--no-build-isolation")
        (wheel,) = folder.glob("pinot_plugins-*.whl")
        environment = folder / "environment"
        venv.create(environment, with_pip=False, symlinks=True)
        _pip(
            "--python", str(environment / "bin" / "python"), "install", "--no-deps", "--no-index", str(wheel)
        )
        return cls(environment)

    @property
    def distribution(self) -> importlib.metadata.Distribution:
        """Its metadata."""
        library = [str(self.folder / _LIBRARY)]
        (found,) = importlib.metadata.distributions(name="pinot-plugins", path=library)
        return found

    @property
    def extras(self) -> list[str]:
        """The extras that it has."""
        return self.distribution.metadata.get_all("Provides-Extra") or []

    def with_extras(self, folder: Path, extras: Collection[str], besides: Iterable[str] = ()) -> Environment:
        """Make an environment that has it with extras.

        Args:
            folder: Where to.
            extras: The extras; without any it has what is always required.
            besides: Distributions that are there without an extra.
        """
        venv.create(folder, with_pip=False, symlinks=True)
        required = [*(self.distribution.requires or ()), *besides]
        names = frozenset(
            name for extra in extras or [""] for name in _closure(map(Requirement, required), extra)
        )
        for distribution in (self.distribution, *map(importlib.metadata.distribution, names)):
            _link(distribution, folder / _LIBRARY)
        script = (self.folder / "bin" / "pinotctl").read_text()
        made = folder / "bin" / "pinotctl"
        made.write_text(script.replace(str(self.folder), str(folder)))
        made.chmod(0o755)
        return Environment(folder, names)


def _pip(*words: str) -> None:
    options = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", *options, *words], check=True)


def _closure(requirements: Iterable[Requirement], extra: str) -> Iterator[str]:
    """The names of the distributions that requirements bring, in the versions that are here."""
    seen: set[tuple[str, str]] = set()
    left = [(requirement, extra) for requirement in requirements]
    while left:
        requirement, wanted_by = left.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": wanted_by}):
            continue
        found = importlib.metadata.distribution(requirement.name)
        assert requirement.specifier.contains(found.version, prereleases=True), (requirement, found.version)
        for each in ("", *requirement.extras):
            if (requirement.name, each) not in seen:
                seen.add((requirement.name, each))
                left += [(Requirement(line), each) for line in found.requires or ()]
        yield canonicalize_name(requirement.name)


@lru_cache(maxsize=1)
def _owners() -> Mapping[str, list[str]]:
    """The distributions that have files in each top-level package here."""
    return importlib.metadata.packages_distributions()


def _link(distribution: importlib.metadata.Distribution, library: Path) -> None:
    # Neither scripts nor compiled single modules.
    files = [file for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")]
    shared = {file for file in files if len(set(_owners().get(file.parts[0], ()))) > 1}
    for name in {file.parts[0] for file in files if file not in shared} | {str(file) for file in shared}:
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        (library / name).symlink_to(Path(str(distribution.locate_file(name))).absolute())
