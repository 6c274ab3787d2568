"""Queries at a table's mark, rewritten by the client for a stock broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.errors import PinotPluginError
from controller_client.helix import live_session
from controller_client.upsert.low_water_mark import NoMarkError
from controller_client.upsert.queries import UpsertQueries
from controller_client.upsert.record import ServerRecord, write_server
from controller_client.zookeeper import PropertyStore
from tests.integration.upsert.broker.conftest import MakeTable
from tests.integration.upsert.broker.queries import QUERIES
from tests.integration.upsert.broker.versioned_table import FIRST_TS, VersionedTable

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

Ask = Callable[..., tuple[tuple[Any, ...], ...]]
"""Runs a query with options and returns its rows."""


@pytest.fixture(scope="module")
def client_asks(broker: BrokerClient, store: PropertyStore) -> Iterator[Ask]:
    """Through the stock broker."""
    with UpsertQueries(broker, store, mark_ttl_s=0) as queries:
        yield lambda sql, **options: queries.query(sql, options=options).result.rows


@pytest.fixture(scope="module")
def versions(make_table: MakeTable) -> VersionedTable:
    """The rows of the documented example: two partitions; the second has the later row of a key."""
    table = make_table(2)
    table.create()
    table.produce(
        {
            0: [
                ("a-1", 1, 500, 1000),
                ("gone", 3, 1300, 1400),
                ("later", 4, 1300, -1),
                ("unseen", 5, -1, -1),
            ],
            1: [("a-1", 2, 1000, -1)],
        }
    )
    table.wait_rows()
    return table


def test_the_documents_examples(versions: VersionedTable, servers: list[str], client_asks: Ask) -> None:
    name, ask = versions.name, client_asks
    # Example 1: one server is at 1200, the other at 800.
    versions.tell({servers[0]: 1200, servers[1]: 800})
    one = f"select k, v from {name} where k = 'a-1'"
    average = f"select avg(v) from {name}"
    assert ask(one) == (("a-1", 1),)
    assert ask(average) == ((1.0,),)
    # Example 2.
    versions.tell({servers[0]: 1200, servers[1]: 1300})
    assert ask(one) == (("a-1", 2),)
    assert ask(f"select count(*) from {name}") == ((1,),)
    assert ask(average) == ((2.0,),)

    # A row inserted and deleted after the mark: the documented expression would let it pass.
    theirs = "($validFrom < 1200 and $validUntil = -1 or $validUntil > 1200)"
    everything = {"skipUpsert": "true"}
    found = ask(f"select k from {name} where {theirs} and v > 2 and $validFrom <> -1", **everything)
    assert found == (("gone",),)
    assert ask(f"select k from {name} where v > 2") == ()
    assert ask(f"select count(*) from {name}", **everything) == ((5,),)
    assert ask(average, **everything) == ((3.0,),)

    versions.tell(dict.fromkeys(servers, 1399))
    assert ask(f"select k from {name} order by k") == (("a-1",), ("gone",), ("later",))
    versions.tell(dict.fromkeys(servers, 1400))
    assert ask(f"select k from {name} order by k") == (("a-1",), ("later",))


def test_a_server_without_a_record_and_earlier_versions(
    versions: VersionedTable, servers: list[str], broker: BrokerClient, store: PropertyStore
) -> None:
    sql = f"select k, v from {versions.name} order by k, v"
    versions.tell({servers[0]: 1400, servers[1]: 1400})
    for version in (500, 900, 1000, 1300, 1400):
        versions.end(version, FIRST_TS + version)
    with UpsertQueries(broker, store, mark_ttl_s=0) as queries:
        # A record of another session does not count: the mark stays where it was ...
        other = ServerRecord(servers[1], "another session", 2000, 0, created=versions.created())
        write_server(store, versions.full_name, other)
        with UpsertQueries(broker, store) as fresh, pytest.raises(NoMarkError, match=servers[1]):
            fresh.query(sql)  # ... and is unknown to a client that had not read it before.
        assert live_session(store, servers[1]) != "another session"
        versions.tell({servers[0]: 1400, servers[1]: 1400})

        def at(**asked: int) -> tuple[int, tuple[Any, ...]]:
            found = queries.query(sql, **asked)  # type: ignore[arg-type]
            return found.versions[versions.full_name], found.result.rows

        first, second = (("a-1", 1),), (("a-1", 2),)
        assert at(as_of_version=500) == (500, first)
        assert at(as_of_version=999) == (900, first)
        assert at(as_of_version=1299) == (1000, second)
        assert at(as_of_timestamp_ms=FIRST_TS + 1000) == (1000, second)
        assert at(as_of_timestamp_ms=FIRST_TS + 999) == (900, first)
        assert at(as_of_version=1400) == (1400, (("a-1", 2), ("later", 4)))
        assert at(as_of_timestamp_ms=FIRST_TS + 10_000)[0] == 1400
        for asked, text in (
            ({"as_of_version": 499}, "before the first one"),
            ({"as_of_timestamp_ms": FIRST_TS}, "before the first one"),
            ({"as_of_version": 1401}, "not complete on all servers yet"),
        ):
            with pytest.raises(PinotPluginError, match=text):
                at(**asked)
        # Versions that retention has removed from the topic are no longer known.
        versions.updates.drop_before({0: 2})
        with pytest.raises(PinotPluginError, match="no longer contains it"):
            at(as_of_version=900)
        assert at(as_of_version=1000) == (1000, second)


def test_the_mark_waits_for_the_broker(
    versions: VersionedTable, servers: list[str], broker: BrokerClient, store: PropertyStore
) -> None:
    versions.tell({servers[0]: 1400, servers[1]: 1400})
    count = f"select count(*) from {versions.name}"
    with UpsertQueries(broker, store, mark_ttl_s=0) as queries:
        assert queries.query(count).versions == {versions.full_name: 1400}
        # A mark that includes rows of a segment that the broker does not query is not used.
        versions.tell({servers[0]: 1500, servers[1]: 1500}, segment="u__0__99__x")
        assert queries.query(count).versions == {versions.full_name: 1400}
        with UpsertQueries(broker, store) as fresh, pytest.raises(NoMarkError, match="u__0__99__x"):
            fresh.query(count)
        # A lower mark is used: it is just as correct, and the servers are where they report to be.
        versions.tell({servers[0]: 1300, servers[1]: 1500})
        assert queries.query(count).versions == {versions.full_name: 1300}


def test_where_all_is_visible_nothing_changes(
    make_table: MakeTable, servers: list[str], broker: BrokerClient, client_asks: Ask
) -> None:
    table = make_table(2)
    table.create()
    for first, begin, end in ((0, 0, -1), (30, 1, 9)):
        numbers = range(first, first + 30)
        table.produce({p: [(f"k{n % 7}", 2 * n + p, begin, end) for n in numbers] for p in (0, 1)})
    table.wait_rows()
    table.tell(dict.fromkeys(servers, 5))
    for sql in QUERIES:
        text = sql.format(t=table.name)
        plain = broker.query(text, options={"upsertRewritten": True}).rows
        assert plain, text
        assert client_asks(text) == plain, text
    plan = client_asks(f"explain plan for select count(*) from {table.name} where v > 3")
    assert any("validUntil" in str(row) for row in plan), plan


def test_a_query_that_each_server_answers_for_its_own_rows(
    versions: VersionedTable, servers: list[str], client_asks: Ask
) -> None:
    name = versions.name
    versions.tell(dict.fromkeys(servers, 1400))
    inner = f"select idset(v) from {name} where k <> ''nobody''"
    condition = f"in_partitioned_subquery(v, '{inner}')"
    seen = client_asks(f"select k, v from {name} where {condition} = 1 order by k")
    assert seen == (("a-1", 2), ("later", 4))
    # The outer query sees none of the rows that the inner query does not see.
    assert client_asks(f"select count(*) from {name} where {condition} = 0") == ((0,),)
