"""Which process of pytest-xdist runs which tests: those of a folder stay together, the longest folders first.

The tests of a folder share what takes long to start (a Spark session, hosted servers, Kafka), once per
process. Unit tests share nothing: they run last, file by file, so that all processes end at about the same
time.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

__all__ = ["SchedulingPlugin", "folder_of", "rank_of", "unit_of_work"]

# By the seconds in the last lines of a run.
_LONGEST = (
    "tests/faults/random_kills",  # none without --full
    "tests/faults/day",  # the same
    "tests/integration/upsert",
    "tests/integration/file_ingestion",
    "tests/contract",
    "tests/integration/spark_connectors",
    "tests/docs",
    "tests/docs/tutorials",
    "tests/integration/jvm_bridge",
    "tests/airflow",
    "tests/integration/consumption",
    "tests/faults/file_ingestion",
    "tests/integration/server_hooks",
    "tests/integration/controller_client",
    "tests/faults/spark_connectors",
    "tests/integration/deepstore",
    "tests/faults",
)
# Fewer folders would not keep the processes busy.
_ENOUGH_FOLDERS = 8


def folder_of(test: str) -> str:
    """Return the folder of a test, three levels deep: ``tests/integration/upsert``."""
    return "/".join(test.partition("::")[0].split("/")[:-1][:3])


def unit_of_work(test: str) -> str:
    """Return what stays together with a test: its folder, or its file if its tests share nothing."""
    folder = folder_of(test)
    return test.partition("::")[0] if folder.startswith(("tests/unit", "tests/packaging")) else folder


def rank_of(test: str) -> tuple[bool, int]:
    """Return a key to sort tests by: those of the longest folders first, unit tests last."""
    unit = unit_of_work(test)
    known = _LONGEST.index(unit) if unit in _LONGEST else len(_LONGEST)
    return unit.startswith("tests/unit"), known


class SchedulingPlugin:
    """Sorts the tests, and has pytest-xdist distribute them by folder."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: rank_of(item.nodeid))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
        """``--dist loadfile`` selects this scheduler; other modes are those of xdist."""
        if config.getoption("dist") != "loadfile":
            return None
        config.option.loadscopereorder = False  # by the number of tests, which is unrelated to their time
        return _ByFolder(config, log)


class _ByFolder(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Distributes folders to processes, or files if only a few folders are tested."""

    def schedule(self) -> None:
        tests = next(iter(self.registered_collections.values()))
        self._by_folder = len({folder_of(test) for test in tests}) >= _ENOUGH_FOLDERS
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return unit_of_work(nodeid) if self._by_folder else nodeid.partition("::")[0]
