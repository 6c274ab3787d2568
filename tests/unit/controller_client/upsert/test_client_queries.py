"""The client's caches for the queries that it rewrites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.common import sql_text
from controller_client.errors import PartialResultError, PinotPluginError
from controller_client.helix.table_config import table_config_path
from controller_client.publishing.routing import NEW_SEGMENTS
from controller_client.upsert.queries import UpsertQueries
from controller_client.upsert.record import ServerRecord, write_server
from controller_client.upsert.rewriting import RefusedQueryError
from controller_client.zookeeper import PropertyStore, ZNRecord
from tests.unit.controller_client.scripted_server import ScriptedServer, Step, answer
from tests.unit.controller_client.upsert.test_creating import plan
from tests.unit.controller_client.upsert.test_misregistered import TABLE, registered
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import memory_store

EMPTY = answer(200, {"exceptions": []})


@contextmanager
def querying(store: PropertyStore, *answers: Step) -> Iterator[tuple[UpsertQueries, FakeClock]]:
    """Provide queries to a broker with these answers, and the clock of their caches."""
    clock = FakeClock()
    with (
        ScriptedServer(*answers) as server,
        BrokerClient([server.url]) as broker,
        UpsertQueries(broker, store, mark_ttl_s=1.0, clock=clock) as queries,
    ):
        yield queries, clock


def with_upsert_table() -> PropertyStore:
    planned = plan()
    return registered(planned.schema.to_json(), planned.table.to_json())


def drop(store: PropertyStore) -> None:
    store.connection.delete(f"/{store.cluster_name}/PROPERTYSTORE{table_config_path(TABLE)}")


def test_names_of_old_queries_are_not_kept() -> None:
    with querying(memory_store()[0], *[EMPTY] * 20) as (queries, clock):
        for number in range(20):
            queries.query(f"select 1 from unknown{number}")
            clock.sleep(2.0)
        assert len(vars(queries)["_tables"]) == 1


def test_a_query_is_tokenized_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenized: list[str] = []

    class Counted:
        def match(self, sql: str, position: int) -> re.Match[str] | None:
            if not position:
                tokenized.append(sql)
            return real.match(sql, position)

    real = sql_text._TOKEN
    monkeypatch.setattr(sql_text, "_TOKEN", Counted())
    sql = "SET timeoutMs = 5; select a from t where b = 1"
    with querying(memory_store()[0], EMPTY) as (queries, _):
        queries.query(sql)
    assert tokenized == [sql]


def test_a_dropped_table_is_not_read_without_a_version() -> None:
    store = with_upsert_table()
    counted = {"columnNames": ["count(*)"], "columnDataTypes": ["LONG"]}
    all_rows = answer(200, {"exceptions": [], "resultTable": {"dataSchema": counted, "rows": [[7]]}})
    with querying(store, *[all_rows] * 3) as (queries, clock):
        with pytest.raises(PinotPluginError):
            queries.query("select count(*) from t")  # no version is complete
        drop(store)
        clock.sleep(2.0)
        # Until brokers notice the drop, they would return rows of all versions.
        for name in ("t", "T_realtime"):
            with pytest.raises(RefusedQueryError, match="dropped"):
                queries.query(f"select count(*) from {name}")
        assert queries.query("select count(*) from another").versions == {}


def test_a_drop_is_noticed_while_table_names_are_cached() -> None:
    store = with_upsert_table()
    with querying(store, *[EMPTY] * 2) as (queries, clock):
        with pytest.raises(PinotPluginError):
            queries.query("select count(*) from t")
        clock.sleep(2.0)
        queries.query("select count(*) from another")  # reads all names, but not the table
        drop(store)
        with pytest.raises(RefusedQueryError, match="dropped"):
            queries.query("select count(*) from t")


def with_hosted_server() -> PropertyStore:
    """The table with one server, whose queries name their version in an option."""
    store = with_upsert_table()
    created = store.creation_order(table_config_path(TABLE))
    assert created is not None
    create = store.connection.create
    create(f"/{store.cluster_name}/LIVEINSTANCES/A", ZNRecord("A", {"SESSION_ID": "s"}).to_bytes())
    create(f"/{store.cluster_name}/CONFIGS/PARTICIPANT/A", ZNRecord("A").to_bytes())
    served = ZNRecord(TABLE, map_fields={"t__0__0__x": {"A": "ONLINE"}}).to_bytes()
    for path in ("EXTERNALVIEW", "IDEALSTATES"):
        create(f"/{store.cluster_name}/{path}/{TABLE}", served)
    write_server(store, TABLE, ServerRecord("A", "s", 7, 1007, {}, cuts_by_option=True, created=created))
    return store


def settings(**properties: str) -> Step:
    return answer(200, {"jvmConfig": {}, "pinotConfig": properties})


@pytest.mark.parametrize("seconds", [None, "300", "1"])
def test_a_broker_that_may_skip_new_segments_is_refused(seconds: str | None) -> None:
    configured = settings() if seconds is None else settings(**{NEW_SEGMENTS: seconds})
    with querying(with_hosted_server(), configured, configured) as (queries, _):
        for _ in range(2):
            with pytest.raises(RefusedQueryError, match=f"Expected: {NEW_SEGMENTS}=0"):
                queries.query("select count(*) from t")


def test_a_broker_is_asked_once_whether_it_may_skip_new_segments() -> None:
    configured = settings(**{NEW_SEGMENTS: "0"})
    routing = answer(200, {TABLE: {"A": ["t__0__0__x"]}})
    # Before each query the routing, the query, and after it the routing.
    asked = [routing, EMPTY, routing] * 2
    with querying(with_hosted_server(), configured, *asked) as (queries, clock):
        for _ in range(2):
            assert queries.query("select count(*) from t").versions == {TABLE: 7}
            clock.sleep(2.0)


@pytest.mark.parametrize(("queried", "pruned"), [(1, 0), (0, 1), (0, 0)])
def test_an_answer_without_a_segment_is_refused(queried: int, pruned: int) -> None:
    """Before and after it, the broker shows a routing with the segment."""
    routing = answer(200, {TABLE: {"A": ["t__0__0__x"]}})
    counts = {"numServersQueried": 1, "numServersResponded": 1, "numSegmentsProcessed": queried}
    counts |= {"numSegmentsQueried": queried, "numSegmentsPrunedByBroker": pruned}
    asked = [settings(**{NEW_SEGMENTS: "0"}), routing, answer(200, {"exceptions": [], **counts}), routing]
    with querying(with_hosted_server(), *asked) as (queries, _):
        if queried or pruned:
            assert queries.query("select count(*) from t").versions == {TABLE: 7}
        else:
            with pytest.raises(PartialResultError, match="queried 0 of 1 segments"):
                queries.query("select count(*) from t")
