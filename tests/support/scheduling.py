"""Which process of pytest-xdist runs which tests.

Tests that need the same expensive thing (a Spark session, the hosted servers) run one after the other in one
process, as it exists once; all others are distributed by file. The parts of a long group may run in several.
Tests that disturb the cluster, by killing a role of it or keeping it from its work, run last, when no other
test does.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

__all__ = ["DISTURBS", "PART", "SchedulingPlugin"]

DISTURBS = pytest.mark.disturbs
"""Marks a test that kills a role which tests of other groups use, or keeps it from its work."""
PART = pytest.mark.part
"""Marks a test of one part of its group, with the part's name."""

# Fixtures of things that exist once, and what they are; a test belongs to the first that it needs. In the
# order in which they start: the longest first, so that all processes end at about the same time.
_SHARED = {
    "arena_of": "the cluster of random kills",
    "hosted_servers": "hosted roles",
    "hosted_broker": "hosted roles",
    "airflow": "Airflow",
    "spark": "Spark",
    "child": "a JVM that builds segments",
    "place_of": "places of faults",
    "place": "the cluster of pages",
    "schedulers": "schedulers",  # they run what is due in any table of the cluster
    "steered_scheduler": "schedulers",
    "later_minions": "minions of a later release",
    "wheel": "the wheel",
    "browser": "a browser",
}
_GROUPS = tuple(dict.fromkeys(_SHARED.values()))
_UNIT = "tests/unit"
_ALONE = "alone"
_SEPARATOR = ": "
_FILE = "pinot_plugins_groups"


def _group_of(item: pytest.Item) -> str:
    """Return the name of the tests that stay together with this one."""
    if item.get_closest_marker(DISTURBS.name):
        return _ALONE
    names = getattr(item, "fixturenames", ())
    file = item.nodeid.partition("::")[0]
    group = next((shared for fixture, shared in _SHARED.items() if fixture in names), file)
    part = item.get_closest_marker(PART.name)
    return f"{group}{_SEPARATOR}{part.args[0]}" if part else group


def _rank(group: str) -> int:
    """Return the place of a group in the order of a run."""
    group = group.partition(_SEPARATOR)[0]
    if group in _GROUPS:
        return _GROUPS.index(group)
    if group == _ALONE:
        return len(_GROUPS) + 2
    return len(_GROUPS) + group.startswith(_UNIT)


class SchedulingPlugin:
    """Sorts the tests, and has pytest-xdist distribute them by group."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._groups: Path | None = None

    # After the tests that are left out are gone.
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        groups = {item.nodeid: _group_of(item) for item in items}
        order = {group: number for number, group in enumerate(dict.fromkeys(groups.values()))}
        items.sort(key=lambda item: (_rank(groups[item.nodeid]), order[groups[item.nodeid]]))
        # The process that distributes the tests collects none, and the others tell it only their names.
        told: dict[str, Any] = getattr(self._config, "workerinput", {})
        if told.get("workerid") == "gw0":
            Path(told[_FILE]).write_text(json.dumps(groups), encoding="utf-8")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A process of pytest-xdist is about to start."""
        if self._groups is None:
            self._groups = Path(tempfile.mkstemp(prefix="pinot-plugins-groups-")[1])
        node.workerinput[_FILE] = str(self._groups)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
        """``--dist loadscope`` selects this scheduler; other modes are those of xdist."""
        if config.getoption("dist") != "loadscope":
            return None
        assert self._groups is not None
        config.option.loadscopereorder = False  # by the number of tests, which is unrelated to their time
        return _ByGroup(config, log, self._groups)

    def pytest_unconfigure(self) -> None:
        if self._groups is not None:
            self._groups.unlink(missing_ok=True)


class _ByGroup(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Distributes groups, and those tests that disturb others when all others are done."""

    def __init__(self, config: pytest.Config, log: Any, groups: Path) -> None:
        super().__init__(config, log)
        self._file = groups
        self._groups: dict[str, str] = {}

    def schedule(self) -> None:
        # It is empty if no process has collected a test: pytest then says why.
        self._groups = self._groups or json.loads(self._file.read_text(encoding="utf-8") or "{}")
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self._groups[nodeid]

    def remove_node(self, node: Any) -> str | None:
        """A process has ended: if it crashed, returns the test that it ran, and the others get the rest.

        Unlike xdist's own, this neither runs the crashed test again nor returns groups without tests, with
        which a process would wait forever.
        """
        groups = self.assigned_work.pop(node)
        crashed = None
        for group, tests in groups.items():
            rest = [test for test, is_completed in tests.items() if not is_completed]
            if crashed is None and rest:
                crashed = rest.pop(0)
            if rest:
                self.workqueue[group] = dict.fromkeys(rest, False)
        for other in self.nodes:
            self._reschedule(other)
        return crashed

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        if self._only_alone_left():
            for other in self.nodes:
                self._reschedule(other)

    def _reschedule(self, node: Any) -> None:
        if node not in self.registered_collections:
            return  # it has just replaced a crashed one; it gets its tests when it has collected them
        others = [other for other in self.nodes if other is not node]
        if self._only_alone_left() and not node.shutting_down and not all(o.shutting_down for o in others):
            if self._pending_of(self.assigned_work[node]) <= 2:
                node.shutdown()  # once it has completed what it has
            return
        super()._reschedule(node)

    def _assign_work_unit(self, node: Any) -> None:
        if _ALONE in self.workqueue:
            self.workqueue.move_to_end(_ALONE)  # what a crashed process has left comes before it
        if self._only_alone_left() and any(
            self._pending_of(work) for other, work in self.assigned_work.items() if other is not node
        ):
            return
        super()._assign_work_unit(node)

    def _only_alone_left(self) -> bool:
        return list(self.workqueue) == [_ALONE]
