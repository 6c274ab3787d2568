"""Pinot 1.3 and later: a query option selects the version, so every kind of query can have one.

The expected results come from SQLite, which queries the rows that the model has at that version.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.errors import QueryError
from controller_client.upsert.queries import UpsertQueries
from tests.integration.upsert.server.conftest import MakeUpsertTable
from tests.integration.upsert.server.upsert_table import UpsertTable
from tests.support.cluster import PinotCluster
from tests.support.needs import Need, inside
from tests.support.wait import wait_for

pytestmark = inside(Need.PLUG_IN_POINTS)

MULTISTAGE = (
    "select count(*), sum(a.value), sum(b.value) from {a} a join {b} b on a.key = b.key",
    "select a.key, count(b.key) from {a} a left join {b} b on a.key = b.key group by a.key order by a.key",
    "select x.key, y.value from {a} x join {a} y on x.key = y.key where x.part = 1 order by x.key",
    "select key, value from {a} union all select key, value from {b} order by 1, 2 limit 500",
    "select key from {a} intersect select key from {b} order by key",
    "select key from {a} except select key from {b} order by key",
    "select key, value from {a} where key in (select key from {b} where value > 40) order by key",
    "select count(*) from {a} where value > (select avg(value) from {b})",
    "with sums as (select part, sum(value) as s from {a} group by part) select count(*), sum(s) from sums",
    "select key, row_number() over (partition by part order by value) from {a} order by key limit 500",
    "select part, value, sum(value) over (partition by part order by value) from {b} order by 1, 2 limit 500",
    "select count(*) from (select key from {a} union all select key from {b}) as both_of_them",
    "select part, count(*), min(value), max(value) from {a} group by part having count(*) > 1 order by part",
)
"""Queries for Pinot's multi-stage engine that SQLite understands too."""

SINGLE_STAGE = (
    "select count(*), sum(value), min(ts), max(ts) from {a}",
    "select key, value from {a} where value > 3 or part = 0 order by value limit 500",
    "select part, sum(value) from {b} group by part order by part",
    "select distinct part from {a} order by part",
)

SUB_QUERIES = (
    ("in_subquery(key, 'select idset(key) from {b} where value > 40') = 1", "{b} where value > 40"),
    ("in_partitioned_subquery(key, 'select idset(key) from {a} where part = 1') = 1", "{a} where part = 1"),
)
"""Conditions of the single-stage engine that contain a query, and the keys that they match."""


class Place:
    """Two tables with the same columns and some common keys, and the models of their rows."""

    def __init__(self, a: UpsertTable, b: UpsertTable) -> None:
        self.tables = {"a": a, "b": b}

    def change(self, step: int) -> None:
        """Make a version of each table; some of its rows replace others."""
        for number, table in enumerate(self.tables.values()):
            for part in (0, 1):
                keys = [f"k{(7 * step + 3 * part + n) % 25 + 5 * number}" for n in range(12)]
                table.produce(part, keys, ts_step=-1 if step % 3 == 2 else 1)
            version = table.model.coordinate()
            table.wait_checked(version)

    def text(self, sql: str) -> str:
        return sql.format(**{letter: table.name for letter, table in self.tables.items()})

    def right(self, sql: str, versions: dict[str, int]) -> list[tuple[Any, ...]]:
        """The answers of SQLite for the rows of these versions."""
        with sqlite3.connect(":memory:") as model:
            for letter, table in self.tables.items():
                model.execute(f"create table {table.name} (key text, part int, value int, ts int)")
                columns = "key, part, value, ts, $kafkaOffset"
                everything = f"select {columns} from {table.name} limit 100000"
                rows = table.broker.query(everything, options={"skipUpsert": True}).rows
                seen = table.model.visible[versions[letter]]
                shown = [row[:4] for row in rows if (row[1], row[4]) in seen]
                assert len(shown) == len(seen)
                model.executemany(f"insert into {table.name} values (?, ?, ?, ?)", shown)
            return model.execute(self.text(sql)).fetchall()

    def newest(self) -> dict[str, int]:
        return {letter: table.model.version for letter, table in self.tables.items()}


@pytest.fixture
def place(make_upsert_table: MakeUpsertTable) -> Place:
    place = Place(make_upsert_table(rows_per_segment=60), make_upsert_table())
    for step in range(6):
        place.change(step)
    place.tables["a"].wait_sealed(1)
    return place


def test_one_version_of_all_tables_in_all_kinds_of_queries(
    place: Place, hosted_broker: BrokerClient, pinot: PinotCluster
) -> None:
    a = place.tables["a"]
    newest = place.newest()
    wait_for(
        lambda: _answers_at(hosted_broker, place, newest), "the broker to know both marks", timeout_s=120
    )
    with pinot.broker() as stock, UpsertQueries(stock, a.store, mark_ttl_s=0) as client:
        for sql in MULTISTAGE:
            text, right = place.text(sql), place.right(sql, newest)
            assert right
            # In this order: the engine's first query loads it, which may take longer than Pinot's own 10 s.
            for options in (
                {"useMultistageEngine": True, "timeoutMs": 60_000},
                {"useMultistageEngine": True},
            ):
                assert _alike(hosted_broker.query(text, options=options).rows, right), text
            asked = client.query(text, options={"useMultistageEngine": True})
            assert _alike(asked.result.rows, right), text
            assert set(asked.versions.values()) <= set(newest.values())
            assert hosted_broker.query(f"SET useMultistageEngine = true; {text}").rows == asked.result.rows
        for sql in SINGLE_STAGE:
            text, right = place.text(sql), place.right(sql, newest)
            assert right
            for options in ({}, {"enableNullHandling": True}, {"useMultistageEngine": True}):
                assert _alike(hosted_broker.query(text, options=options).rows, right), (text, options)
                assert _alike(client.query(text, options=options).result.rows, right), (text, options)
        for condition, keys in SUB_QUERIES:
            text = place.text(f"select key, value from {{a}} where {condition} order by key limit 500")
            asks = f"select key, value from {{a}} where key in (select key from {keys}) order by key"
            assert _alike(hosted_broker.query(text).rows, place.right(asks, newest)), text
            assert _alike(client.query(text).result.rows, place.right(asks, newest)), text
            everything = hosted_broker.query(f"SET skipUpsert = true; {text}").rows
            assert len(everything) > len(place.right(asks, newest))

        # An earlier version; two tables together have no common version number.
        older = {**newest, "a": newest["a"] - 2}
        count = "select count(*), sum(value) from {a}"
        right = place.right(count, older)
        assert right != place.right(count, newest)
        for options in ({}, {"useMultistageEngine": True}):
            asked_at = {**options, "asOfVersion": older["a"]}
            assert _alike(hosted_broker.query(place.text(count), options=asked_at).rows, right)
        with pytest.raises(QueryError, match="each table has its own versions"):
            hosted_broker.query(
                place.text(MULTISTAGE[0]), options={"useMultistageEngine": True, "asOfVersion": 1}
            )

    _check_refused(place, hosted_broker)
    _check_without_version(place)
    _check_columns(place, hosted_broker)


def _check_refused(place: Place, hosted_broker: BrokerClient) -> None:
    for sql, text in (
        ("select count(*) from {a}_OFFLINE", "offline table"),
        ("select count(*) from {a} option(asOfVersion=99)", "not complete on all servers yet"),
        ("select count(*) from {a} option(asOfVersion=x)", "asOfVersion is 'x'"),
        ("select count(*) from {a} option(asOfVersion=1, skipUpsert=true)", "several of"),
    ):
        for engine in ({}, {"useMultistageEngine": True}):
            with pytest.raises(QueryError, match=text):
                hosted_broker.query(place.text(sql), options=engine)


def _check_without_version(place: Place) -> None:
    """A stock broker passes no version: servers then return no rows, instead of those of all versions."""
    a = place.tables["a"]
    for engine in ({}, {"useMultistageEngine": True}):
        for sql in ("select count(*) from {a}", "select key from {a} limit 1", "select max(ts) from {a}"):
            with pytest.raises(QueryError, match=f"{a.full_name} is an upsert table, and the query names no"):
                a.broker.query(place.text(sql), options=engine)
        everything = a.broker.query(
            place.text("select count(*) from {a}"), options={**engine, "skipUpsert": True}
        )
        assert everything.scalar() == sum(len(a.readable(part)) for part in (0, 1))


def _check_columns(place: Place, hosted_broker: BrokerClient) -> None:
    """`$validFrom` and `$validUntil` can be selected and filtered."""
    a = place.tables["a"]
    version = a.model.version
    begun = f'"$validFrom" between 0 and {version} and not ("$validUntil" between 0 and {version})'
    for engine in ({}, {"useMultistageEngine": True}):
        sql = f'select part, "$kafkaOffset", "$validFrom" from {a.name} where {begun} limit 100000'
        found = a.broker.query(sql, options={**engine, "skipUpsert": True}).rows
        assert {(int(part), int(offset)) for part, offset, _ in found} == a.model.visible[version], engine
        later = f'select "$validFrom" from {a.name} where "$validFrom" > 2 limit 100000'
        begun_later = sorted(row[0] for row in hosted_broker.query(later, options=engine).rows)
        assert begun_later == sorted(number for *_, number in found if number > 2)
        assert begun_later


def _answers_at(hosted_broker: BrokerClient, place: Place, versions: dict[str, int]) -> bool:
    for letter in place.tables:
        sql = f"select count(*), sum(value) from {{{letter}}}"
        try:
            if not _alike(hosted_broker.query(place.text(sql)).rows, place.right(sql, versions)):
                return False
        except QueryError:
            return False
    return True


def _alike(found: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]]) -> bool:
    """Whether rows are equal, with numbers compared by value: Pinot's sums may be floating-point."""
    return [tuple(row) for row in found] == [tuple(row) for row in right]
