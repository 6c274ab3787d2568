"""Which tests a run leaves out, and what it says about them in its last lines.

Every run leaves out tests marked ``full``, which are permutations of what is proved once, and long waits; and
those folders whose tests take minutes and concern a part that few changes touch. ``--full`` runs all,
``--since`` only those that a change can affect, and ``--also-since`` those of these folders.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.summary import SUMMARY

__all__ = ["FULL", "WHEN_TOUCHED", "TiersPlugin"]

FULL = pytest.mark.full
"""Marks a test, or a set of parameters, that runs only with ``--full`` or if it is named."""

WHEN_TOUCHED = {
    "tests/airflow": "Airflow",
    "tests/browser": "report pages in a browser",
    "tests/docs": "examples of the documentation",
    "tests/integration/images": "the image",
    "tests/packaging": "packaging",
}
"""Folders that a run leaves out unless a change affects them, and what their tests are about."""

_AFFECTED = "pinot_plugins_affected"
_ROOT = Path(__file__).parents[2]


class TiersPlugin:
    """Leaves tests out."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._affected = _affected(config)
        SUMMARY.append(self._line)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A process of pytest-xdist is about to start."""
        node.workerinput[_AFFECTED] = self._affected

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        named = _named(self._config)
        left_out = set()
        for item in items:
            reason = self._reason(item, named)
            if reason is not None:
                self._left_out[reason] += 1
                left_out.add(item)
        if left_out:
            items[:] = [item for item in items if item not in left_out]
            self._config.hook.pytest_deselected(items=list(left_out))

    def _reason(self, item: pytest.Item, named: list[str]) -> tuple[str, str] | None:
        """Return why a test is left out and how it is run, or None."""
        options = self._config.option
        if options.since and not self._is_affected(item):
            return "not affected by the change", ""
        if options.full or any(item.nodeid == name or item.nodeid.startswith(f"{name}[") for name in named):
            return None
        if item.get_closest_marker(FULL.name):
            return "permutations and long waits", ""
        if options.since or (options.also_since and self._is_affected(item)):
            return None
        for folder, what in WHEN_TOUCHED.items():
            if item.nodeid.startswith(f"{folder}/") and not any(name.startswith(folder) for name in named):
                return what, f" (./test.sh {folder})"
        return None

    def _is_affected(self, item: pytest.Item) -> bool:
        callspec = getattr(item, "callspec", None)
        page = callspec.params.get("page") if callspec is not None else None
        return (page or item.nodeid.partition("::")[0]) in self._affected

    def _line(self, _config: pytest.Config) -> str:
        parts = [f"{what} {count:,}{command}" for (what, command), count in self._left_out.most_common()]
        return f"tests left out (./test.sh --full runs all): {'; '.join(parts)}" if parts else ""


def _affected(config: pytest.Config) -> list[str]:
    """Return the test files and pages that the change since a revision affects."""
    given: dict[str, Any] | None = getattr(config, "workerinput", None)
    if given is not None:
        inherited: list[str] = given[_AFFECTED]
        return inherited
    revision = config.option.since or config.option.also_since
    if not revision:
        return []
    from tests.support.affected import Affected, changed_files

    affected = Affected(changed_files(revision), revision)
    return sorted(affected.files() | affected.pages())


def _named(config: pytest.Config) -> list[str]:
    """Return the files, folders and tests on the command line, relative to the project."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        return []
    names = []
    for argument in config.args:
        path, separator, test = argument.partition("::")
        file = Path(config.invocation_params.dir, path).resolve()
        if file.is_relative_to(_ROOT):
            names.append(f"{file.relative_to(_ROOT)}{separator}{test}")
    return names
