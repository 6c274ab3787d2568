"""The version to query a table at, given its servers' reports and the segments its broker queries."""

from __future__ import annotations

import pytest

from controller_client.common.names import TableName
from controller_client.helix.ideal_state import ideal_state_path
from controller_client.upsert.low_water_mark import NoMarkError, TableMark
from controller_client.upsert.mark_keeper import MarkKeeper, read_wanted, with_rows
from controller_client.upsert.record import PartitionProgress, ServerRecord
from controller_client.zookeeper import ZNRecord, segment_path
from tests.unit.memory_zookeeper import memory_store

TABLE = TableName("t_REALTIME")


CREATED = 3


def mark(version: int | None, segment: str | None = None, *, created: int = CREATED) -> TableMark:
    progress = {0: PartitionProgress(segment, 7, version or 0)}
    record = ServerRecord("A", "s", version or 0, 0, progress, created=created)
    return TableMark(TABLE, created, {"A": None if version is None else record})


class Broker:
    """A broker that queries some segments; ``wanted`` are those in the ideal state."""

    def __init__(self) -> None:
        self.keeper = MarkKeeper()
        self.wanted: set[str] = set()
        self.routed: set[str] = set()
        self.empty: set[str] = set()

    def take(self, found: TableMark) -> tuple[int, set[str]]:
        kept = self.keeper.take(
            found,
            frozenset(self.wanted),
            lambda names: names - self.routed,
            lambda names: set(names) - self.empty,
        )
        return kept.version, set(kept.segments)


def test_a_version_advances_with_the_queried_segments_and_stays_while_a_server_is_silent() -> None:
    broker = Broker()
    with pytest.raises(NoMarkError, match="has not reported"):
        broker.take(mark(None))
    broker.routed = {"t__0"}
    with pytest.raises(NoMarkError, match="does not query t__1 of"):
        broker.take(mark(0, "t__1"))
    broker.routed = {"t__0", "t__1"}
    assert broker.take(mark(0, "t__1"))[0] == 0
    assert broker.take(mark(5, "t__2"))[0] == 0
    assert broker.take(mark(None))[0] == 0
    broker.routed = {"t__1", "t__2"}
    assert broker.take(mark(5, "t__2"))[0] == 5
    assert broker.take(mark(3, "t__9"))[0] == 3  # the servers report it: just as correct


def test_a_version_waits_for_a_new_segment_and_keeps_its_segments() -> None:
    broker = Broker()
    broker.wanted = broker.routed = {"a", "b"}
    assert broker.take(mark(1)) == (1, {"a", "b"})
    broker.wanted = {"a", "b", "new"}
    assert broker.take(mark(2)) == (1, {"a", "b"})
    broker.routed = {"a", "b", "new"}
    assert broker.take(mark(2)) == (2, {"a", "b", "new"})


def test_segments_that_no_server_has_are_still_required() -> None:
    broker = Broker()
    broker.wanted = broker.routed = {"a", "b"}
    assert broker.take(mark(1)) == (1, {"a", "b"})
    # The server of b is down, so only the other one determines the mark.
    broker.routed = {"a"}
    assert broker.take(mark(7)) == (1, {"a", "b"})
    # All servers are down.
    broker.routed = set()
    assert broker.take(TableMark(TABLE, CREATED, {})) == (1, {"a", "b"})
    other = Broker()
    other.wanted, other.routed = {"a", "b"}, {"a"}
    with pytest.raises(NoMarkError, match="does not query b of"):
        other.take(mark(7))
    # Retention has deleted it.
    broker.routed = broker.wanted = {"a"}
    assert broker.take(mark(8)) == (8, {"a"})


def test_the_version_of_a_deleted_table_is_discarded() -> None:
    broker = Broker()
    broker.wanted = broker.routed = {"a"}
    assert broker.take(mark(5)) == (5, {"a"})
    with pytest.raises(NoMarkError, match="has not reported"):
        broker.take(mark(None, created=CREATED + 1))
    with pytest.raises(NoMarkError, match="has no live server"):
        broker.take(TableMark(TABLE, None, {}))
    assert broker.take(mark(2, created=CREATED + 2)) == (2, {"a"})


def test_segments_without_rows_are_not_required() -> None:
    broker = Broker()
    broker.wanted, broker.routed, broker.empty = {"a", "b"}, {"a"}, {"b"}
    assert broker.take(mark(1)) == (1, {"a"})


def test_segments_are_read_from_zookeeper() -> None:
    store, zookeeper = memory_store()
    assert read_wanted(store, TABLE) == frozenset()
    states = {
        "a": {"S": "ONLINE"},
        "b": {"S": "OFFLINE", "T": "CONSUMING"},
        "c": {"S": "OFFLINE"},
        "d": {"S": "ONLINE"},
    }
    path = ideal_state_path(store, TABLE)
    zookeeper.znodes[path] = (ZNRecord(TABLE, map_fields=states).to_bytes(), 0)
    assert read_wanted(store, TABLE) == {"a", "b", "d"}
    for name, docs in (("a", "0"), ("b", "-1"), ("d", "7")):
        store.create(segment_path(TABLE, name), ZNRecord(name, {"segment.total.docs": docs}))
    assert with_rows(store, TABLE, ["a", "b", "d", "unknown"]) == {"b", "d", "unknown"}
