"""Counts the reads of table configs by the scheduler."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from controller_client.common.names import TableName
from controller_client.errors import UnreachableError
from controller_client.helix.table_config import table_config_path
from controller_client.zookeeper import Children, ZNRecord
from minion_tasks.schedules import Schedules
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryPropertyStore

TABLES = [TableName(f"t{number}_OFFLINE") for number in range(50)]
FIRST, SECOND = TABLES[:2]


class Cluster:
    """50 OFFLINE tables with schedules, and one realtime table."""

    def __init__(self) -> None:
        self.store = MemoryPropertyStore()
        for table in [*TABLES, TableName("t0_REALTIME")]:
            self.write(table, {"schedule": "1"})
        self.schedules = Schedules(self.store, clock=FakeClock())

    def write(self, table: TableName, configs: dict[str, str] | None, **fields: str) -> None:
        path = table_config_path(table)
        config = {"tableName": table, "tableType": table.type, "segmentsConfig": "{}", "tenants": "{}"}
        tasks = {} if configs is None else {"FileIngestionTask": configs}
        config |= {"tableIndexConfig": "{}", "task": json.dumps({"taskTypeConfigsMap": tasks}), **fields}
        found = self.store.get(path)
        record = ZNRecord(table, simple_fields=config)
        if found is None:
            self.store.create(path, record)
        else:
            self.store.set(path, record, found.version)

    def reads_of(self, work: Callable[[], object]) -> int:
        counts = self.store.zookeeper.read_counts
        before = counts.total()
        work()
        return counts.total() - before


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_all_configs_are_read_once_and_then_only_changed_ones(cluster: Cluster) -> None:
    read = cluster.schedules.read
    assert cluster.reads_of(read) == 1 + len(TABLES)
    assert cluster.reads_of(lambda: [read() for _ in range(100)]) == 0
    cluster.write(FIRST, {"schedule": "2"})
    assert cluster.reads_of(read) == 1
    assert read() == {**dict.fromkeys(TABLES, "1"), FIRST: "2"}


def test_added_and_deleted_tables(cluster: Cluster) -> None:
    read, new = cluster.schedules.read, TableName("db.new_OFFLINE")
    assert new not in read()
    cluster.write(new, {"cronSchedule": "3"})
    assert cluster.reads_of(read) == 2
    assert read()[new] == "3"
    cluster.store.delete(table_config_path(new))
    assert new not in read()
    cluster.write(new, {"schedule": "4"})
    assert read()[new] == "4"
    cluster.write(new, None)
    assert new not in read()


@pytest.mark.parametrize("broken", [{"task": "{x"}, {"tableIndexConfig": "true"}])
def test_an_unreadable_config_does_not_affect_other_tables(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, broken: dict[str, str]
) -> None:
    cluster.schedules.read()
    cluster.write(FIRST, {"schedule": "2"}, **broken)
    for _ in range(3):
        assert cluster.schedules.read() == dict.fromkeys(TABLES[1:], "1")
    assert len(caplog.records) == 1
    cluster.write(FIRST, {"schedule": "2"})
    assert cluster.schedules.read()[FIRST] == "2"


def test_changes_during_an_outage_of_zookeeper_are_read_afterwards(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.schedules.read()

    def away(*_: object) -> Children:
        raise UnreachableError("ZooKeeper is unreachable")

    with monkeypatch.context() as patch:
        patch.setattr(cluster.store.zookeeper, "read_children", away)
        cluster.store.zookeeper.cut()
        with pytest.raises(UnreachableError):
            cluster.schedules.read()
    cluster.write(SECOND, {"schedule": "5"})
    assert cluster.schedules.read()[SECOND] == "5"
