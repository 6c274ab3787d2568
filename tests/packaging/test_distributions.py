"""What the wheel and the source distribution contain, and that the wheel runs in an empty environment."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from controller_client._version import __version__
from tests.packaging.environments import ROOT, Environment, Installed, build_wheel

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = frozenset(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
DOCUMENTS = {"CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"}
WRITTEN_BY_HATCHLING = {".gitignore", "PKG-INFO", "pyproject.toml"}


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    words = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="session")
def fresh(wheel: Installed, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return wheel.with_extras(tmp_path_factory.mktemp("fresh") / "environment", [])


def files_of_the_packages() -> set[str]:
    return {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def contents(wheel: Path) -> dict[str, int]:
    """The checksum of each file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"pinot_plugins-{__version__}.dist-info/METADATA").decode()
    return Parser().parsestr(text)


def run(environment: Environment, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program of an environment, in which nothing of this checkout can be imported."""
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PINOT"))
    }
    program, *rest = words
    return subprocess.run(
        [str(environment.folder / "bin" / program), *rest],
        capture_output=True,
        text=True,
        check=False,
        cwd=environment.folder,
        env=variables,
    )


@pytest.mark.parametrize(
    "kind", [".java", ".py", ".html", ".css", ".xml", ".yml", "py.typed", "pins/pinot-0.11.0.txt"]
)
def test_there_are_files_of_each_kind(wheel: Installed, kind: str) -> None:
    assert [name for name in contents(wheel.wheel) if name.endswith(kind)]


def test_the_wheel_has_all_files_of_the_packages_and_no_others(wheel: Installed) -> None:
    about = f"pinot_plugins-{__version__}.dist-info/"
    found = contents(wheel.wheel).keys()
    assert {name for name in found if not name.startswith(about)} == files_of_the_packages()
    assert f"{about}licenses/LICENSE" in found


def test_every_package_is_typed() -> None:
    assert {f"{package}/py.typed" for package in PACKAGES} <= files_of_the_packages()


def test_the_source_distribution_has_the_packages_and_their_documents_alone(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {member.name for member in archive.getmembers() if member.isfile()}
    root = f"pinot_plugins-{__version__}/"
    assert all(name.startswith(root) for name in names)
    found = {name.removeprefix(root) for name in names}
    assert found == files_of_the_packages() | DOCUMENTS | WRITTEN_BY_HATCHLING


def test_the_source_distribution_makes_the_same_wheel(wheel: Installed, sdist: Path, tmp_path: Path) -> None:
    assert contents(build_wheel(sdist, tmp_path)) == contents(wheel.wheel)


def test_the_metadata(wheel: Installed) -> None:
    found = metadata(wheel.wheel)
    assert wheel.wheel.name == f"pinot_plugins-{__version__}-py3-none-any.whl"
    assert (found["Name"], found["Version"]) == ("pinot-plugins", __version__)
    assert (found["License-Expression"], found["License-File"]) == ("Apache-2.0", "LICENSE")
    assert found["Requires-Python"] == PROJECT["project"]["requires-python"]
    assert found["Summary"] == PROJECT["project"]["description"]
    assert found["Description-Content-Type"] == "text/markdown"
    assert found.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(found.get_all("Provides-Extra", [])) == PROJECT["project"]["optional-dependencies"].keys()
    # An index refuses addresses, and some installers do not resolve a project's own extras.
    for line in found.get_all("Requires-Dist", []):
        assert "@" not in line
        assert not line.startswith("pinot-plugins")


def test_an_index_accepts_both(wheel: Installed, sdist: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(wheel.wheel), str(sdist)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


def test_the_commands_are_those_of_the_checkout(wheel: Installed) -> None:
    checkout = importlib.metadata.distribution("pinot-plugins").entry_points
    assert {(each.group, each.name, each.value) for each in wheel.distribution.entry_points} == {
        (each.group, each.name, each.value) for each in checkout
    }


def test_pinotctl_runs_in_an_empty_environment(fresh: Environment) -> None:
    place = run(fresh, "python", "-c", "import controller_client; print(controller_client.__file__)")
    assert Path(place.stdout).is_relative_to(fresh.folder), place.stdout + place.stderr
    shown = run(fresh, "pinotctl", "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("Usage: pinotctl")
    version = run(fresh, "pinotctl", "--version")
    assert (version.returncode, version.stderr) == (0, "")
    assert __version__ in version.stdout.split()


def test_nothing_but_the_core_is_in_the_empty_environment(fresh: Environment) -> None:
    assert fresh.installed.isdisjoint({"boto3", "jpype1", "numpy", "pandas", "pyarrow", "pyspark"})
