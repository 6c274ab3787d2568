"""kill -9 of an apply at each of its writes, which the next one completes; and two applies at once."""

from __future__ import annotations

import copy
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller_client.as_code import Applier, Kind, ObjectRef, References, read_folder
from controller_client.as_code.files import FolderSettings, write_folder
from controller_client.as_code.inventory import Inventory
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import PinotPluginError
from controller_client.rest.transport import path_of
from controller_client.zookeeper import PropertyStore
from tests.integration.as_code.table_files import segment_tars, table_documents
from tests.support.cluster import PinotCluster
from tests.support.program import HANGS_AFTER_S

pytestmark = pytest.mark.cluster

_LOCK_WAIT_S = 60.0
_SOME_POINTS = 4


@dataclass
class _World:
    pinot: PinotCluster
    client: ControllerClient
    store: PropertyStore
    name: str
    folder: Path
    config: dict[str, Any] = field(default_factory=dict)
    schema: dict[str, Any] = field(default_factory=dict)
    further: dict[ObjectRef, dict[str, Any]] = field(default_factory=dict)

    @property
    def table(self) -> TableName:
        return TableName(f"{self.name}_OFFLINE")

    def write(self) -> None:
        documents = {
            ObjectRef(Kind.SCHEMA, self.name): self.schema,
            ObjectRef(Kind.TABLE, self.table): self.config,
            **self.further,
        }
        write_folder(self.folder, FolderSettings(owner=self.name), documents)

    def next_version(self, number: int) -> None:
        """Add a new column with an index, and a new table, to the files."""
        column = f"c{number}"
        self.schema["dimensionFieldSpecs"].append({"name": column, "dataType": "INT"})
        self.config["tableIndexConfig"]["invertedIndexColumns"] = [column]
        name = f"{self.name}_{number}"
        schema, config = copy.deepcopy(self.schema), copy.deepcopy(self.config)
        schema["schemaName"], config["tableName"] = name, f"{name}_OFFLINE"
        self.further[ObjectRef(Kind.SCHEMA, name)] = schema
        self.further[ObjectRef(Kind.TABLE, f"{name}_OFFLINE")] = config
        self.write()

    def start(self, kill_at: int = -1, lock_wait_s: float = _LOCK_WAIT_S) -> subprocess.Popen[str]:
        words = [self.pinot.controller_url, self.pinot.zookeeper_address, self.pinot.cluster_name]
        words += [str(self.folder), str(kill_at), str(lock_wait_s)]
        command = [sys.executable, "-m", "tests.faults.as_code.apply_program", *words]
        return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def require_finished(self, number: int) -> None:
        """Assert that everything matches the files, segments included, and that no steps are left."""
        applier = Applier(self.client, self.store, read_folder(self.folder), References({}, self.folder))
        assert applier.plan().plan.steps == ()
        entries = Inventory(self.store, self.name).entries()
        assert {ref for ref, entry in entries.items() if entry.pending} == set()
        assert {ref for ref, entry in entries.items() if entry.applied} == {
            ObjectRef(Kind.SCHEMA, self.name),
            ObjectRef(Kind.TABLE, self.table),
            *self.further,
        }
        column = f"c{number}"
        segments = self.client.segments.list(self.table)
        assert len(segments) == 3
        for segment in segments:  # for all at once, Pinot 1.5 returns only the segments of one server
            path = path_of("segments", self.table, segment, "metadata")
            found = self.client._transport.get_json(path, params={"columns": column})
            assert found["indexes"][column]["inverted-index"] == "YES", (segment, found)


@pytest.fixture(scope="module")
def tars(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return segment_tars(tmp_path_factory.mktemp("segments"))


@pytest.fixture
def world(pinot: PinotCluster, unique_table: str, tars: list[Path], tmp_path: Path) -> Iterator[_World]:
    with (
        pinot.client() as client,
        PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
    ):
        made = _World(pinot, client, store, unique_table, tmp_path)
        made.config, made.schema = table_documents(unique_table)
        made.write()
        applier = Applier(client, store, read_folder(tmp_path), References({}, tmp_path))
        applier.apply(applier.plan().plan)
        for tar in tars:
            client.segments.upload_tar(made.table, tar)
        client.segments.wait_online(made.table, [f"s{number}" for number in range(len(tars))], 60)
        try:
            yield made
        finally:
            for ref in made.further:
                if ref.kind is Kind.TABLE and client.tables.exists(ref.name):
                    client.tables.delete(ref.name)


def test_the_next_apply_completes_a_killed_one(world: _World, full: bool) -> None:
    world.next_version(0)
    points = _ended(world.start())["points"]
    world.require_finished(0)
    assert points >= 20
    chosen = range(points) if full else range(1, points, points // _SOME_POINTS)
    for number, point in enumerate(chosen, 1):
        world.next_version(number)
        killed = world.start(kill_at=point)
        killed.communicate(timeout=HANGS_AFTER_S)
        assert killed.returncode == -signal.SIGKILL, point
        _ended(world.start())
        world.require_finished(number)


def test_one_of_two_concurrent_applies_does_everything(world: _World) -> None:
    world.next_version(0)
    both = [world.start(), world.start()]
    done = sorted(_ended(each)["done"] for each in both)
    assert done == [0, 5]
    world.require_finished(0)


def test_an_apply_does_not_wait_for_another_unless_asked(world: _World) -> None:
    world.next_version(0)
    from controller_client.zookeeper import ClusterLock

    with ClusterLock(world.store, "as_code", "the cluster's configuration", "a test") as lock:
        lock.acquire(wait_s=10)
        refused = world.start(lock_wait_s=0)
        _, said = refused.communicate(timeout=HANGS_AFTER_S)
    assert refused.returncode == 1
    assert "LockHeldError" in said
    assert "a test" in said


def test_a_plan_is_rejected_if_the_cluster_has_changed(world: _World) -> None:
    world.next_version(0)
    applier = Applier(world.client, world.store, read_folder(world.folder), References({}, world.folder))
    plan = applier.plan().plan
    changed = {**world.client.configs.tables(world.name)[world.table], "query": {"timeoutMs": 7}}
    world.client.configs.update_table(world.table, changed)
    with pytest.raises(PinotPluginError, match="have changed since plan"):
        applier.apply(plan)
    assert ObjectRef(Kind.SCHEMA, f"{world.name}_0").name not in world.client.schemas.list()


def _ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    said, errors = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 0, errors
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found
