"""kill -9 of an apply at each of its writes, which the next one completes; and two applies at once."""

from __future__ import annotations

import copy
import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from controller_client.as_code import Kind, ObjectRef
from controller_client.as_code.inventory import Inventory
from controller_client.errors import PinotPluginError
from controller_client.rest.paths import path_of
from controller_client.zookeeper import ClusterLock
from tests.integration.as_code.table_files import LOCK_WAIT_S, TableFiles, table_files
from tests.support.cluster import PinotCluster
from tests.support.program import HANGS_AFTER_S

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

_SOME_POINTS = 2
_LEAST_POINTS = 20


class _World:
    """A table with segments, whose files get one new version after the other."""

    def __init__(self, pinot: PinotCluster, files: TableFiles) -> None:
        self.files = files
        self._pinot = pinot
        self._numbers = itertools.count()
        self._number = 0

    def next_version(self) -> None:
        """Add a new column with an index, and a new table, to the files."""
        files, self._number = self.files, next(self._numbers)
        column, name = f"c{self._number}", f"{files.name}_{self._number}"
        files.schema["dimensionFieldSpecs"].append({"name": column, "dataType": "INT"})
        files.config["tableIndexConfig"]["invertedIndexColumns"] = [column]
        files.further[ObjectRef(Kind.SCHEMA, name)] = {**copy.deepcopy(files.schema), "schemaName": name}
        table = f"{name}_OFFLINE"
        files.further[ObjectRef(Kind.TABLE, table)] = {**copy.deepcopy(files.config), "tableName": table}
        files.write()

    def start(self, kill_at: int = -1, lock_wait_s: float = LOCK_WAIT_S) -> subprocess.Popen[str]:
        """Start an apply as a child process."""
        words = [self._pinot.controller_url, self._pinot.zookeeper_address, self._pinot.cluster_name]
        words += [str(self.files.folder), str(kill_at), str(lock_wait_s)]
        command = [sys.executable, "-m", "tests.faults.as_code.apply_program", *words]
        return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def require_finished(self) -> None:
        """Assert that everything matches the files, segments included, and that no steps are left."""
        files = self.files
        assert files.plan().steps == ()
        entries = Inventory(files.store, files.name).entries()
        assert {ref for ref, entry in entries.items() if entry.pending} == set()
        assert {ref for ref, entry in entries.items() if entry.applied} == {
            ObjectRef(Kind.SCHEMA, files.name),
            ObjectRef(Kind.TABLE, files.table),
            *files.further,
        }
        column = f"c{self._number}"
        segments = files.client.segments.list(files.table)
        assert len(segments) == 3
        for segment in segments:  # for all at once, Pinot 1.5 returns only the segments of one server
            path = path_of("segments", files.table, segment, "metadata")
            found = files.client._transport.get_json(path, dict, params={"columns": column})
            assert found["indexes"][column]["inverted-index"] == "YES", (segment, found)


@pytest.fixture(scope="module")
def world(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_World]:
    with table_files(pinot, tmp_path_factory.mktemp("files")) as files:
        files.fill(tmp_path_factory.mktemp("segments"))
        yield _World(pinot, files)


def test_one_of_two_concurrent_applies_does_everything(world: _World) -> None:
    world.next_version()
    both = [world.start(), world.start()]
    assert sorted(_ended(each)["done"] for each in both) == [0, 5]
    world.require_finished()


def test_an_apply_does_not_wait_for_another_unless_asked(world: _World) -> None:
    world.next_version()
    with ClusterLock(world.files.store, "as_code", "the cluster's configuration", "a test") as lock:
        lock.acquire(wait_s=LOCK_WAIT_S)
        refused = world.start(lock_wait_s=0)
        _, said = refused.communicate(timeout=HANGS_AFTER_S)
    assert refused.returncode == 1
    assert "LockHeldError" in said
    assert "a test" in said


def test_a_plan_is_rejected_if_the_cluster_has_changed(world: _World) -> None:
    world.next_version()
    files = world.files
    applier = files.applier()
    plan = applier.plan().plan
    changed = {**files.client.configs.tables(files.name)[files.table], "query": {"timeoutMs": 7}}
    files.client.configs.update_table(files.table, changed)
    with pytest.raises(PinotPluginError, match="have changed since plan"):
        applier.apply(plan)
    new = [ref.name for ref in files.further if ref.kind is Kind.SCHEMA][-1]
    assert new not in files.client.schemas.list()


def test_the_next_apply_completes_a_killed_one(world: _World, full: bool) -> None:
    world.next_version()
    _ended(world.start())
    world.next_version()
    points = _ended(world.start())["points"]
    world.require_finished()
    assert points >= _LEAST_POINTS
    for point in itertools.count() if full else range(points // 4, points, points // _SOME_POINTS):
        world.next_version()
        killed = world.start(kill_at=point)
        _, said = killed.communicate(timeout=HANGS_AFTER_S)
        # On a busy machine an apply repeats a call, so that not all have the same number of points.
        if killed.returncode == 0 and point >= _LEAST_POINTS:
            break
        assert killed.returncode == -signal.SIGKILL, (point, said)
        _ended(world.start())
        world.require_finished()


def _ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    said, errors = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 0, errors
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found
