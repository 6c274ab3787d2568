"""The tests that a change can affect (``--since REV``).

A module depends on the modules that it imports, on those whose names it has in its texts (programs that it
starts), on those of the groups of entry points that it opens, and on the files whose names it has in its
texts or that stand beside it (Java sources, templates). A test depends on the modules in its folder, on the
conftest modules above it, and if it has a cluster, on what the cluster's roles run. An example of the
documentation depends on its page, and on the commands and modules that the page uses instead of all.
"""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import grimp
import pytest

__all__ = ["Affected", "changed_files"]

_ROOT = Path(__file__).parents[2]
_TESTS = "tests"
_COMMANDS = "pinotctl."
_EXECUTORS = "pinot_plugins.task_executors"
_ROLES = "tests.support.session"
_WITH_ROLES = ("tests.faults", "tests.integration")
_PAGES = ("tests.docs.test_pages", "tests.docs.tutorials.test_tutorials")
_PACKAGING = "tests.packaging"
# What all tests depend on.
_EVERYTHING = {"pyproject.toml", "tests/conftest.py", "test.sh", "scripts/venv.sh"}
_NAME = re.compile(r"\b\w+(?:\.\w+)+\b")


def changed_files(revision: str) -> frozenset[str]:
    """Return the files that differ from a revision, also those that git does not know yet.

    Raises:
        pytest.UsageError: The checkout has no such revision.
    """
    try:
        names = [
            _git("diff", "--name-only", "--no-renames", revision, "--"),
            _git("ls-files", "--others", "--exclude-standard"),
        ]
    except subprocess.CalledProcessError as error:
        raise pytest.UsageError(f"--since {revision}: git says: {error.stderr.strip()}") from error
    return frozenset(line for text in names for line in text.splitlines())


@dataclass(frozen=True)
class Affected:
    """What a change affects.

    Attributes:
        changed: The changed files, relative to the project.
        revision: The revision before the change.
    """

    changed: frozenset[str]
    revision: str

    def files(self) -> frozenset[str]:
        """Return the affected test files, relative to the project; those of pages are not among them."""
        return frozenset(
            self._file(module)
            for module in self._modules
            if module.rpartition(".")[2].startswith("test_")
            and module not in _PAGES
            and self._affects(module)
        )

    def pages(self) -> frozenset[str]:
        """Return the affected pages, relative to the project."""
        names = [*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md")]
        runners = self._reached(_PAGES, all_commands=False)
        if self.changed & _EVERYTHING or self._any_changed(runners, texts=False):
            return frozenset(str(name.relative_to(_ROOT)) for name in names)
        return frozenset(
            str(name.relative_to(_ROOT))
            for name in names
            if str(name.relative_to(_ROOT)) in self.changed
            or self._any_changed(self._reached(self._used_on(name), all_commands=False), texts=True)
        )

    def _affects(self, module: str) -> bool:
        if self.changed & _EVERYTHING:
            return True
        if module.startswith(_PACKAGING):
            return self._changes_what_is_packed()
        # Airflow's operators use clients, and the commands only to prepare.
        all_commands = not module.startswith("tests.airflow")
        return self._any_changed(self._reached(self._roots(module), all_commands=all_commands), texts=True)

    def _roots(self, module: str) -> Iterator[str]:
        """The modules of a test itself: its folder's, the conftest modules above, the cluster's roles."""
        folder = module.rpartition(".")[0]
        yield module
        # The helpers beside a test may be programs; other tests are not among them.
        for other in self._modules:
            if other.startswith(f"{folder}.") and not other.rpartition(".")[2].startswith("test_"):
                yield other
        while folder != _TESTS:
            yield f"{folder}.conftest"
            folder = folder.rpartition(".")[0]
        if module.startswith(_WITH_ROLES):
            yield _ROLES
            yield from self._entry_points.get(_EXECUTORS, {}).values()

    def _reached(self, roots: Iterable[str], *, all_commands: bool) -> set[str]:
        """Return modules and all that they depend on.

        Args:
            roots: The modules; those that do not exist are left out.
            all_commands: Whether ``pinotctl`` depends on all its commands.
        """
        reached: set[str] = set()
        left = [module for module in roots if module in self._modules]
        while left:
            module = left.pop()
            if module in reached:
                continue
            reached.add(module)
            left += self._graph.find_modules_directly_imported_by(module)
            for text in self._texts[module]:
                left += (name for name in _NAME.findall(text) if name in self._modules)
                if all_commands or not text.startswith(_COMMANDS):
                    left += self._entry_points.get(text, {}).values()
        return reached

    def _any_changed(self, modules: set[str], *, texts: bool) -> bool:
        """Return whether a module, a package that it is in, or a file that belongs to it has changed."""
        packages = {package for module in modules for package in _packages_of(module)}
        if not self.changed.isdisjoint(map(self._file, modules | (packages & self._modules))):
            return True
        folders = {str(Path(self._file(module)).parent) for module in modules}
        words = {word for module in modules for word in self._texts[module]} if texts else set()
        return any(
            self._folder_of(file) in folders
            or Path(file).name in words
            or file in words
            or _top(file) in words
            for file in self.changed
            if not file.endswith(".py")
        )

    def _folder_of(self, file: str) -> str | None:
        """Return the folder of the package that a file which is not Python belongs to."""
        for folder in Path(file).parents:
            if f"{folder}/__init__.py" in self._packages:
                return str(folder)
        return None

    def _used_on(self, page: Path) -> Iterator[str]:
        """The modules that a page uses: of its commands, its Python, the executors of its tasks."""
        from tests.docs.blocks import read_blocks

        text = page.read_text(encoding="utf-8")
        for block in read_blocks(text):
            if block.language == "python":
                yield from _imports(block.text)
            for line in re.findall(r"pinotctl\s+(.*)", block.text.replace("\\\n", " ")):
                for group, points in self._entry_points.items():
                    if group.startswith(_COMMANDS):
                        yield from (points[word] for word in _words(line) if word in points)
        if "FileIngestionTask" in text or "pinotctl task" in text:
            yield from self._entry_points[_EXECUTORS].values()
        if 'format("pinot")' in text:
            yield "pyspark_pinot"

    def _changes_what_is_packed(self) -> bool:
        """Return whether the wheel has other files, or its modules import others' packages differently."""
        packages = self._packages_in_wheel
        for file in self.changed:
            if file.startswith(
                ("LICENSE", "scripts/", "requirements/", "tests/packaging/", "docs/licences.md")
            ):
                return True
            if not file.startswith(packages):
                continue
            if not file.endswith(".py") or not (_ROOT / file).exists():
                return True
            before = _shown(self.revision, file)
            now = (_ROOT / file).read_text(encoding="utf-8")
            if before is None or _tops(before) != _tops(now):
                return True
        return False

    @cached_property
    def _packages_in_wheel(self) -> tuple[str, ...]:
        packages = _project()["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
        return tuple(f"{package}/" for package in packages)

    @cached_property
    def _graph(self) -> grimp.ImportGraph:
        packages = [package.rstrip("/") for package in self._packages_in_wheel]
        return grimp.build_graph(*packages, _TESTS, "scripts")

    @cached_property
    def _modules(self) -> frozenset[str]:
        return frozenset(self._graph.modules)

    @cached_property
    def _packages(self) -> frozenset[str]:
        return frozenset(file for file in map(self._file, self._modules) if file.endswith("__init__.py"))

    @cached_property
    def _texts(self) -> Mapping[str, frozenset[str]]:
        """The texts in each module."""
        return {
            module: frozenset(
                node.value
                for node in ast.walk(ast.parse((_ROOT / self._file(module)).read_text(encoding="utf-8")))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            )
            for module in self._modules
        }

    @cached_property
    def _entry_points(self) -> Mapping[str, Mapping[str, str]]:
        """The modules of each group of entry points, by name."""
        groups = _project()["project"]["entry-points"]
        return {
            group: {name: value.partition(":")[0] for name, value in points.items()}
            for group, points in groups.items()
        }

    def _file(self, module: str) -> str:
        path = module.replace(".", "/")
        return f"{path}/__init__.py" if (_ROOT / path).is_dir() else f"{path}.py"


def _packages_of(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def _top(file: str) -> str:
    return file.partition("/")[0]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _imports(code: str) -> Iterator[str]:
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


def _tops(code: str) -> set[str]:
    return {name.partition(".")[0] for name in _imports(code)}


def _project() -> Mapping[str, Any]:
    return tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _shown(revision: str, file: str) -> str | None:
    try:
        return _git("show", f"{revision}:{file}")
    except subprocess.CalledProcessError:
        return None


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=_ROOT, capture_output=True, text=True, check=True).stdout
