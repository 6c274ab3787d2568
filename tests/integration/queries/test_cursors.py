"""Results page by page, and queries of tasks."""

from __future__ import annotations

import asyncio

import pytest
import requests

from controller_client.broker.async_client import AsyncBrokerClient
from controller_client.broker.client import BrokerClient
from controller_client.broker.cursor import Cursor
from controller_client.errors import ConfigError, NotFoundError, QueryError, UnsupportedError
from controller_client.rest.capabilities import Capability
from tests.integration.queries.kinds_table import ROWS
from tests.support.cluster import PinotCluster
from tests.support.needs import has, needs

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

IDS = [row["id"] for row in ROWS]


def is_kept(broker: BrokerClient, cursor: Cursor) -> bool:
    """Return whether the broker keeps a result."""
    results = requests.get(f"{broker.config.urls[0]}/responseStore/", timeout=10).text
    return cursor._path.rpartition("/")[2] in results


@needs(Capability.CURSORS, raises=UnsupportedError, match="the broker lacks results that the broker stores")
def test_pages_of_a_result(broker: BrokerClient, kinds: str) -> None:
    sql = f"select id, decimal from {kinds} where id >= :id order by id limit 100"
    with broker.cursor(sql, params={"id": 0}, rows_per_page=5) as cursor:
        assert (cursor.total_rows, is_kept(broker, cursor)) == (len(ROWS), True)
        pages = list(cursor)
        assert not is_kept(broker, cursor)
    assert [len(page.rows) for page in pages] == [5, 5, 5, 5, 2]
    assert [row[0] for page in pages for row in page] == IDS
    assert all(page.to_arrow().num_columns == 2 for page in pages)
    with broker.cursor(sql, params={"id": 0}, rows_per_page=5) as cursor:
        assert cursor.next_page() is not None
    assert not is_kept(broker, cursor)
    with broker.cursor(f"select id from {kinds} where id < 0 limit 10") as cursor:
        assert [page.rows for page in cursor] == [()]
    cursor = broker.cursor(sql, params={"id": 0}, rows_per_page=5)
    assert cursor.next_page() is not None
    cursor._transport.request("DELETE", f"{cursor._path}/")
    with pytest.raises(NotFoundError, match="no longer has the result, of which 5 rows"):
        cursor.next_page()
    cursor.close()


def test_a_cursor_that_cannot_be(broker: BrokerClient, kinds: str) -> None:
    with pytest.raises(ConfigError, match="rows_per_page is 0"):
        broker.cursor(f"select id from {kinds}", rows_per_page=0)
    with pytest.raises(QueryError, match="nope"):
        broker.cursor(f"select nope from {kinds}")


def test_queries_of_tasks(pinot: PinotCluster, kinds: str) -> None:
    async def ask() -> None:
        async with AsyncBrokerClient([pinot.broker_url], concurrency=3) as client:
            queries = (
                client.query(f"select id from {kinds} where id = :id limit 1", params={"id": number})
                for number in IDS
            )
            found = await asyncio.gather(*queries)
            assert [result.scalar() for result in found] == IDS
            with pytest.raises(QueryError, match="nope"):
                await client.query(f"select nope from {kinds}")
            if has(Capability.CURSORS):
                async with client.cursor(f"select id from {kinds} limit 100", rows_per_page=9) as cursor:
                    pages = [len(page.rows) async for page in cursor]
                assert (pages, cursor.total_rows) == ([9, 9, 4], len(ROWS))

    asyncio.run(ask())
