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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import grimp
import pytest

from pinotctl.commands import COMMANDS, SEGMENT_COMMANDS, SERVE_COMMANDS, UPSERT_COMMANDS

__all__ = ["Affected", "changed_files"]

_ROOT = Path(__file__).parents[2]
_TESTS = "tests"
_COMMANDS = {**SEGMENT_COMMANDS, **SERVE_COMMANDS, **UPSERT_COMMANDS, **COMMANDS}
_EXECUTORS = "pinot_plugins.task_executors"
_ROLES = "tests.support.session"
_WITH_ROLES = ("tests.faults", "tests.integration")
_AIRFLOW = "tests.airflow"
_PAGES = ("tests.docs.test_pages", "tests.docs.tutorials.test_tutorials")
# What runs the pages: a change affects all of them.
_RUNS_PAGES = ("tests/docs/", "tests/packaging/environments.py", "jvm_bridge/local_cluster/")
# They import all rooms: whoever uses one room imports that too.
_HUBS = frozenset({"controller_client.client", "pinotctl.commands", "pinotctl.root"})
_PACKAGING = "tests.packaging"
_CONFTEST = "tests.conftest"
# What all tests depend on, next to the modules that run them.
_EVERYTHING = frozenset({"pyproject.toml", "requirements/dev.txt", "scripts/venv.sh", "test.sh"})
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
        """Return the affected test files, relative to the project; tests of a page are as affected as it."""
        tests = [name for name in self._modules if name.rpartition(".")[2].startswith("test_")]
        return frozenset(self._file(module) for module in tests if self._affects(module))

    def pages(self) -> frozenset[str]:
        """Return the affected pages, relative to the project."""
        pages = {
            str(page.relative_to(_ROOT)): page for page in (*_ROOT.glob("*.md"), *_ROOT.glob("docs/**/*.md"))
        }
        if self._changes_everything or any(file.startswith(_RUNS_PAGES) for file in self.changed):
            return frozenset(pages)
        return frozenset(
            name
            for name, page in pages.items()
            if name in self.changed or not self._reached_of_pages.isdisjoint(self._used_on(page))
        )

    def _affects(self, module: str) -> bool:
        if self._changes_everything:
            return True
        if module in _PAGES:  # its tests that are not about one page
            return any(file.endswith(".md") for file in self.changed)
        if module.startswith(_PACKAGING):
            return self._changes_what_is_packed()
        reached = self._reached_of_pages if module.startswith(_AIRFLOW) else self._reached
        return not reached.isdisjoint(self._roots(module))

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
            yield from self._entry_points[_EXECUTORS].values()
        if module.startswith(_AIRFLOW):  # its processes import the operators
            yield from (other for other in self._modules if other.startswith("pinot_airflow."))

    @cached_property
    def _changes_everything(self) -> bool:
        return not self.changed.isdisjoint(_EVERYTHING | set(map(self._file, self._machinery)))

    @cached_property
    def _machinery(self) -> frozenset[str]:
        """The modules that run all tests, so that nothing has to be said of their own dependencies."""
        used = self._graph.find_modules_directly_imported_by(_CONFTEST) - {_ROLES}
        return frozenset({_CONFTEST, __name__, *(each for each in used if each.startswith(f"{_TESTS}."))})

    @cached_property
    def _reached(self) -> frozenset[str]:
        """The modules that the change reaches."""
        return self._reach(self._machinery)

    @cached_property
    def _reached_of_pages(self) -> frozenset[str]:
        """The modules that the change reaches, without detours by what imports all rooms."""
        return self._reach(self._machinery | _HUBS)

    def _reach(self, apart: frozenset[str]) -> frozenset[str]:
        users: dict[str, set[str]] = {}
        for module in self._modules - apart:
            for used in self._uses(module):
                users.setdefault(used, set()).add(module)
        reached: set[str] = set()
        left = [module for module in self._modules - self._machinery if self._is_changed(module)]
        while left:
            module = left.pop()
            if module not in reached:
                reached.add(module)
                left += users.get(module, ())
        return frozenset(reached)

    def _uses(self, module: str) -> Iterator[str]:
        yield from self._graph.find_modules_directly_imported_by(module)
        for text in self._texts[module]:
            yield from (name for name in _NAME.findall(text) if name in self._modules)
            yield from self._entry_points.get(text, {}).values()

    def _is_changed(self, module: str) -> bool:
        """Return whether a module, a package that it is in, or a file that belongs to it has changed."""
        packages = self._modules.intersection(_packages_of(module))
        if not self.changed.isdisjoint(map(self._file, (module, *packages))):
            return True
        folder, texts = str(Path(self._file(module)).parent), self._texts[module]
        return any(
            self._folder_of(file) == folder
            or Path(file).name in texts
            or file in texts
            or _top(file) in texts
            for file in self._other_files
        )

    @cached_property
    def _other_files(self) -> Sequence[str]:
        """The changed files that are not Python."""
        return [file for file in self.changed if not file.endswith(".py")]

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
                for command in filter(_COMMANDS.get, _words(line)):
                    yield _COMMANDS[command].partition(":")[0]
        if "FileIngestionTask" in text or "pinotctl task" in text:
            yield from self._entry_points[_EXECUTORS].values()
        if 'format("pinot")' in text:
            yield "pyspark_pinot"

    def _changes_what_is_packed(self) -> bool:
        """Return whether the wheel has other files, or its modules import others' packages differently."""
        packages = self._packages_in_wheel
        for file in self.changed:
            if file.startswith(
                (
                    "LICENSE",
                    "scripts/",
                    "requirements/",
                    "docker/requirements.txt",
                    "tests/packaging/",
                    "docs/licences.md",
                )
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
