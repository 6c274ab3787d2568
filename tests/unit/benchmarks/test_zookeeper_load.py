"""The counts of the ZooKeeper load benchmark: on znodes in memory, with a fake clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from benchmarks.zookeeper_load import CountedConnection, Fleet, World, row, run
from controller_client.common.names import TableName
from controller_client.zookeeper import Znode, ZooKeeperConnection
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryPropertyStore

SERVERS, TABLES, PAUSED = 20, 10, 2


@pytest.fixture
def phases() -> dict[str, dict[str, object]]:
    """Run it on znodes in memory and count the reads, except those of the changes themselves."""
    store = MemoryPropertyStore()
    counts, own = store.zookeeper.read_counts, Counter[str]()

    class UncountedWorld(World):
        def commit_segments(self, tables: Sequence[TableName]) -> None:
            before = counts.copy()
            super().commit_segments(tables)
            own.update(counts - before)

    world = UncountedWorld(store, TABLES, SERVERS, segments=5)
    world.fill()

    def requests() -> Counter[str]:
        return Counter(reads=counts.total() - own.total())

    fleet = Fleet(world, [store], requests, begun_per_s=1, clock=FakeClock())
    return {str(each["phase"]): each for each in run(fleet, world, paused=PAUSED, seconds=60)}


def test_idle_costs_no_more_than_the_segments_that_start(phases: dict[str, dict[str, object]]) -> None:
    assert phases["idle"]["reads"] == 60
    assert phases["idle"]["requests/s"] == 1.0


def test_the_start_reads_each_list_and_session_once(phases: dict[str, dict[str, object]]) -> None:
    # Two per server; the scheduler's list of tables and each config; two segments that start.
    assert phases["start"]["reads"] == 2 * SERVERS + 1 + TABLES + 2


def test_each_server_reads_paused_tables_once(phases: dict[str, dict[str, object]]) -> None:
    # The list and the two ideal states; segments that start in these tables cause a second read.
    assert phases["paused"]["reads"] == SERVERS * (1 + PAUSED) + 60 + 60 * PAUSED // TABLES
    assert phases["paused"]["paused tables seen"] == SERVERS * PAUSED


def test_busy_costs_one_read_per_change_server_and_paused_table(
    phases: dict[str, dict[str, object]],
) -> None:
    least = 60 * SERVERS * PAUSED
    reads = phases["busy"]["reads"]
    assert isinstance(reads, int)
    assert least <= reads <= least + 60 * (2 + PAUSED)
    assert phases["after"]["paused tables seen"] == 0


def test_a_row_counts_all_kinds() -> None:
    counted = row("idle", Counter(reads=30, watches=10, writes=20), 2, 2.5, 0)
    assert counted["requests/s"] == 30.0
    assert (counted["reads"], counted["lists"], counted["watches"], counted["writes"]) == (30, 0, 10, 20)


def test_a_connection_counts_what_it_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ZooKeeperConnection, "read", lambda *_: Znode(b"", 0, 0))
    monkeypatch.setattr(ZooKeeperConnection, "read_children", lambda *_: None)
    monkeypatch.setattr(ZooKeeperConnection, "watch", lambda *_: None)
    monkeypatch.setattr(ZooKeeperConnection, "get_many", lambda _self, paths: [None] * len(paths))
    monkeypatch.setattr(ZooKeeperConnection, "commit", lambda *_: None)
    requests: Counter[str] = Counter()
    connection = CountedConnection("127.0.0.1:1", requests)
    connection.read("/a")
    connection.read_children("/a")
    connection.watch("/a", lambda _event: None)
    connection.get_many(["/a", "/b"])
    connection.commit([])
    assert requests == Counter(reads=3, lists=1, watches=1, writes=1)
