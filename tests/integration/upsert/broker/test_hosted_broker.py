"""A broker hosted in Python: it answers as the client does, and rejects what it cannot answer.

On Pinot 0.11 it adds a condition to the query, so stock servers suffice here. For later versions see
``test_queries_by_option``.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.errors import QueryError
from controller_client.models import Schema, TableConfig
from controller_client.upsert.queries import UpsertQueries
from tests.integration.upsert.broker.conftest import MakeTable
from tests.integration.upsert.broker.queries import QUERIES
from tests.integration.upsert.broker.versioned_table import FIRST_TS, VersionedTable
from tests.support.needs import Need, inside
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka, pytest.mark.jvm]


@pytest.fixture(scope="module")
def table(hosted_broker: BrokerClient, make_table: MakeTable) -> VersionedTable:
    """Rows of several versions in two partitions."""
    table = make_table(2)
    table.create()
    table.produce(
        {
            part: [(f"k{n % 7}", 2 * n + part, n // 10, n // 10 + 2 if n % 3 == 0 else -1) for n in range(60)]
            for part in (0, 1)
        }
    )
    table.wait_rows(hosted_broker)
    return table


def visible(mark: int) -> int:
    return 2 * sum(n // 10 <= mark and not (n % 3 == 0 and n // 10 + 2 <= mark) for n in range(60))


@inside(Need.CONSUMING_SEGMENTS_OF_0_11)
def test_it_answers_at_the_mark(
    hosted_broker: BrokerClient, table: VersionedTable, servers: list[str], broker: BrokerClient
) -> None:
    count = f"select count(*) from {table.name}"

    def rows(sql: str = count, **options: Any) -> int:
        return int(hosted_broker.query(sql, options=options).scalar())

    def wait_version(version: int) -> None:
        wait_for(lambda: rows() == visible(version), f"an answer at version {version}", timeout_s=300)

    # No server has reported a mark: no answer would be correct.
    with pytest.raises(QueryError, match="has not reported its progress"):
        rows()
    for mark in (0, 1, 5):
        table.tell(dict.fromkeys(servers, mark))
        wait_version(mark)
    # At each step the mark is the lowest of the servers' marks.
    table.tell({servers[0]: 2, servers[1]: 4})
    wait_version(2)
    for sql in (f"SET skipUpsert = true; {count}", f"{count} option(skipUpsert=true)"):
        assert rows(sql) == 120
    assert rows(skipUpsert=True) == 120

    # The mark never includes rows that the broker would not query.
    table.tell(dict.fromkeys(servers, 5), segment="u__0__99__x")
    assert rows() == visible(2)
    table.tell(dict.fromkeys(servers, 4))
    wait_version(4)

    for version in range(5):
        table.end(version, FIRST_TS + 100 * version)
    for key, value, version in (
        ("asOfVersion", 1, 1),
        ("asOfVersion", 3, 3),
        ("asOfTimestamp", FIRST_TS + 250, 2),
    ):
        assert rows(count, **{key: value}) == visible(version)
        for sql in (f"SET {key} = {value}; {count}", f"{count} option({key}={value})"):
            assert rows(sql) == visible(version)

    with UpsertQueries(broker, table.store, mark_ttl_s=0) as queries:
        for sql in QUERIES:
            text = sql.format(t=table.name)
            assert hosted_broker.query(text).rows == queries.query(text).result.rows, text
    # A query that the client has rewritten is not rewritten again, even if the two see different marks.
    with UpsertQueries(hosted_broker, table.store, mark_ttl_s=0) as queries:
        assert queries.query(count, as_of_version=2).result.scalar() == visible(2)

    for sql, text in (
        ("SET useMultistageEngine = true; select count(*) from {t}", "multi-stage engine cannot answer"),
        (
            "SET useMultistageEngine = true; select a.k from {t} as a join {t} as b on a.k = b.k",
            "multi-stage engine cannot answer",
        ),
        ("select count(*) from {t} option(asOfVersion=99)", "not complete on all servers yet"),
        (
            "select count(*) from {t} where in_partitioned_subquery(k, 'select idset(k) from {t}') = 1",
            "IN_PARTITIONED_SUBQUERY",
        ),
    ):
        with pytest.raises(QueryError, match=text):
            rows(sql.format(t=table.name))


def test_other_tables_pass(hosted_broker: BrokerClient, make_table: MakeTable) -> None:
    other = make_table(1)
    other.client.schemas.create(Schema.from_json(other.schema()))
    other.client.tables.create(TableConfig.from_json(other.config()))
    other.topic.produce({0: [{"k": "a", "v": 1, "ts": FIRST_TS}]})

    def seen() -> bool:
        found = hosted_broker.query(f"select count(*) from {other.name}")
        return bool(found.rows) and found.scalar() == 1

    wait_for(seen, "the row of a table without upsert", timeout_s=300)
