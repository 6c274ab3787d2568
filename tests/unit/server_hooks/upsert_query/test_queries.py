"""The rewriting of queries, by the state of their tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from controller_client.common.names import TableName
from controller_client.errors import UnreachableError
from controller_client.helix.table_config import table_config_path
from controller_client.upsert.low_water_mark import NoMarkError
from controller_client.upsert.record import PartitionProgress, ServerRecord, write_server
from controller_client.upsert.rewriting import RefusedQueryError
from controller_client.zookeeper import PropertyStore
from server_hooks.upsert_query.queries import check_multistage, version_of_query, versions_of_query
from server_hooks.upsert_query.routing_state import RoutingState
from tests.unit.memory_zookeeper import MemoryZooKeeper, memory_store

CUSTOM = {
    "updateSemantic": "upsert",
    "primaryKey": "k",
    "upsert.timestampColumn": "ts",
    "upsert.updatesTopic": "updates",
}
STREAM = {"streamConfigs": {"streamType": "kafka", "stream.kafka.topic.name": "u"}}


class WatchedZooKeeper(MemoryZooKeeper):
    """Znodes in memory with watches; can be made unavailable."""

    is_away = False

    def watch(self, path: str, changed: Callable[[Any], None]) -> int | None:
        found = self.get(path)
        self._watches.setdefault(path, set()).add(changed)
        return found[1] if found else None

    def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, int] | None]:
        self._check()
        return super().get_many(paths)

    def children(self, path: str) -> list[str] | None:
        self._check()
        return super().children(path)

    def put(self, path: str, **fields: object) -> None:
        path, data = f"/c/{path}", json.dumps({"id": path, **fields}).encode()
        if path in self.znodes:
            self.set(path, data, self.znodes[path][1])
        else:
            self.create(path, data)

    def drop(self, path: str) -> None:
        self.delete(f"/c/{path}")

    def table(self, name: str, **custom: str) -> None:
        config = {"tableName": name, "tableType": name.rpartition("_")[2]}
        parts = {"metadata": {"customConfigs": custom}, "tableIndexConfig": STREAM}
        self.put(
            f"PROPERTYSTORE/CONFIGS/TABLE/{name}",
            simpleFields={**config, **{key: json.dumps(part) for key, part in parts.items()}},
        )

    def _check(self) -> None:
        if self.is_away:
            raise UnreachableError("ZooKeeper is away")


@dataclass
class Request:
    """A request of a test."""

    sql: str = "select 1 from u"
    given: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)

    def options(self) -> dict[str, str]:
        return self.given


class World:
    """A cluster with the upsert table ``u`` on the server A, and the table ``other``.

    Args:
        by_option: Whether servers accept the version of a query as an option.
    """

    def __init__(self, *, by_option: bool = False) -> None:
        self.by_option = by_option
        self.store: PropertyStore
        self.store, _ = memory_store()
        self.zookeeper = WatchedZooKeeper()
        self.store.connection = self.zookeeper
        self.woken = 0
        self.routed: set[str] = set()
        self.needed: dict[str, set[str]] = {}
        self.routing = RoutingState(self.store, self, self._wake, by_option=by_option)
        self.zookeeper.table("u_REALTIME", **CUSTOM)
        self.zookeeper.table("other_REALTIME")
        self.serve("u")
        self.zookeeper.put("LIVEINSTANCES/A", simpleFields={"SESSION_ID": "s"})
        self.zookeeper.put("CONFIGS/PARTICIPANT/A")

    def _wake(self) -> None:
        self.woken += 1

    def unrouted(self, table: str, segments: Collection[str]) -> Collection[str]:
        assert all(name.startswith(table.removesuffix("REALTIME")) for name in segments)
        return set(segments) - self.routed

    def need(self, table: str, segments: Collection[str]) -> None:
        self.needed[table] = set(segments)

    def serve(self, table: str) -> None:
        name = f"{table}__0__0__x"
        for kind in ("EXTERNALVIEW", "IDEALSTATES"):
            self.zookeeper.put(f"{kind}/{table}_REALTIME", mapFields={name: {"A": "CONSUMING"}})
        self.routed.add(name)

    def report(
        self, mark: int, segment: str | None = None, *, table: str = "u", by_option: bool | None = None
    ) -> None:
        progress = {0: PartitionProgress(segment, 1, mark)}
        cuts = self.by_option if by_option is None else by_option
        name = TableName(f"{table}_REALTIME")
        created = self.store.creation_order(table_config_path(name)) or 0
        write_server(self.store, name, ServerRecord("A", "s", mark, 0, progress, cuts, created=created))

    def version(self, name: str = "u", sql: str = "", **options: str) -> int | None:
        return version_of_query(self.routing, name, Request(sql, options))

    def versions(self, sql: str, **options: str) -> str | None:
        return versions_of_query(self.routing, sql, options)


@pytest.fixture
def world() -> World:
    return World()


def test_the_last_read_mark_is_used(world: World) -> None:
    with pytest.raises(NoMarkError, match="A has not reported"):
        world.version()
    world.report(3)
    assert world.version() == 3
    world.report(4)
    reads = world.zookeeper.read_counts.total()
    assert (world.version(), world.zookeeper.read_counts.total()) == (3, reads)  # a query reads nothing
    world.routing.refresh()
    assert world.version() == 4
    world.report(5, segment="u__0__1__x")
    world.routing.refresh()
    assert world.version() == 4  # not before the broker queries all segments of the mark
    world.routed.add("u__0__1__x")
    world.routing.refresh()
    assert world.version() == 5


def test_segments_that_a_response_needs(world: World) -> None:
    world.report(3)
    first, new = "u__0__0__x", "u__0__1__x"
    assert (world.version(), world.needed) == (3, {"u_REALTIME": {first}})
    # Sealed, and the next segment is not queried yet: the version stays.
    woken = world.woken
    states = {first: {"A": "ONLINE"}, new: {"A": "CONSUMING"}}
    world.zookeeper.put("IDEALSTATES/u_REALTIME", mapFields=states)
    assert world.woken > woken
    world.report(4)
    world.routing.refresh()
    assert (world.version(), world.needed["u_REALTIME"]) == (3, {first})
    world.routed.add(new)
    world.routing.refresh()
    assert (world.version(), world.needed["u_REALTIME"]) == (4, {first, new})
    # All servers are down: the version stays, and a response without their segments is invalid.
    world.routed.clear()
    world.zookeeper.put("EXTERNALVIEW/u_REALTIME", mapFields={})
    world.routing.refresh()
    assert (world.version(), world.needed["u_REALTIME"]) == (4, {first, new})
    # A broker that starts now refuses.
    late = World()
    late.report(3)
    late.routed.clear()
    with pytest.raises(NoMarkError, match="does not query u__0__0__x of u_REALTIME"):
        late.version()
    world.zookeeper.drop("PROPERTYSTORE/CONFIGS/TABLE/u_REALTIME")
    world.routing.refresh()
    assert (world.version(), world.needed["u_REALTIME"]) == (None, set())


@pytest.mark.parametrize("name", ["u", "u_REALTIME", "U", "u_Realtime"])
def test_all_names_of_a_table(world: World, name: str) -> None:
    world.report(3)
    assert world.version(name) == 3


def test_other_tables_and_all_rows(world: World) -> None:
    assert world.version("other") is None
    assert world.version("nope") is None
    assert world.version(skipUpsert="true") is None  # without any mark
    assert world.version(upsertRewritten="true", asOfVersion="3") is None


def test_zookeeper_unavailable(world: World) -> None:
    world.report(3)
    assert world.version() == 3
    world.zookeeper.is_away = True
    world.routing.refresh()
    assert world.version() == 3
    with pytest.raises(UnreachableError):
        world.version("other")


def _costs(words: int) -> tuple[int, int, int]:
    """Return the reads, watches and cached tables after queries with many names and words of no table."""
    world = World()
    world.report(3)
    assert world.version() == 3
    reads = world.zookeeper.read_counts.total()
    text = " ".join(f"word{number}" for number in range(words))
    check_multistage(
        world.routing, Request(f"select {text.replace(' ', ', ')} from other o join third t on a = b")
    )
    world.version("other", f"inPartitionedSubquery({text})")
    reads = world.zookeeper.read_counts.total() - reads
    for number in range(words):
        assert world.version(f"unknown{number}") is None
        assert (
            world.version("".join(c.upper() if number >> n & 1 else c for n, c in enumerate("other"))) is None
        )
    watches = len(world.zookeeper._watches) + len(world.zookeeper._child_watches)
    return reads, watches, len(vars(world.routing)["_tables"])


def test_other_words_of_queries_cost_nothing_and_unknown_names_are_not_kept() -> None:
    assert _costs(64) == _costs(16)


def test_an_offline_table_costs_nothing(world: World) -> None:
    world.zookeeper.table("off_OFFLINE")
    assert world.version("off") is None
    world.zookeeper.is_away = True
    reads = world.zookeeper.read_counts.total()
    for name in ("off", "OFF", "off_OFFLINE"):
        assert world.version(name) is None
    assert world.zookeeper.read_counts.total() == reads
    world.zookeeper.is_away = False
    world.zookeeper.table("off_REALTIME", **CUSTOM)
    world.routing.refresh()
    with pytest.raises(RefusedQueryError, match="offline table"):
        world.version("off")


def test_a_table_that_is_dropped_and_recreated(world: World) -> None:
    world.report(3)
    assert world.version() == 3
    world.zookeeper.drop("PROPERTYSTORE/CONFIGS/TABLE/u_REALTIME")
    world.routing.refresh()
    assert world.version() is None
    world.zookeeper.table("u_REALTIME", **CUSTOM)
    with pytest.raises(NoMarkError, match="A has not reported"):
        world.version()  # its report belongs to the dropped table
    world.report(4)
    assert world.version() == 4, "at once, without a refresh"
    world.zookeeper.table("u_REALTIME")
    world.routing.refresh()
    assert world.version() is None


def test_two_tables_whose_names_differ_only_in_case(world: World) -> None:
    world.report(3)
    assert (world.version("u"), world.version("U")) == (3, 3)
    world.zookeeper.table("U_REALTIME")
    world.routing.refresh()
    assert (world.version("u"), world.version("U")) == (3, None)


def test_a_table_created_after_a_query_with_its_name_in_another_case(world: World) -> None:
    assert world.version("new_realtime") is None
    world.zookeeper.table("new_REALTIME", **CUSTOM)
    world.routing.refresh()
    with pytest.raises(NoMarkError):
        world.version("new_realtime")


def test_a_table_that_becomes_an_upsert_table_or_gets_an_offline_part(world: World) -> None:
    world.report(3)
    assert world.version("new") is None
    assert world.version("u") == 3
    world.zookeeper.table("new_REALTIME", **CUSTOM)
    world.zookeeper.table("u_OFFLINE")
    assert world.woken >= 1
    world.routing.refresh()
    with pytest.raises(NoMarkError):
        world.version("new")
    with pytest.raises(RefusedQueryError, match="offline table"):
        world.version("u")


@pytest.mark.parametrize(
    ("name", "options", "sql", "text"),
    [
        ("u_OFFLINE", {}, "", "offline table"),
        ("u", {"useMultistageEngine": "true"}, "", "multi-stage"),
        ("u", {"enableNullHandling": "TRUE"}, "", "read as nulls"),
        ("u", {"asOfVersion": "-1"}, "", "asOfVersion is '-1'"),
        ("u", {"asOfVersion": "1", "asOfTimestamp": "1"}, "", "several of"),
        ("u", {"asOfVersion": "4"}, "", "not complete on all servers yet: its mark is 3"),
        ("other", {}, "... inPartitionedSubquery(k, 'select idset(k) from u')", "IN_PARTITIONED_SUBQUERY"),
    ],
)
def test_refused(world: World, name: str, options: dict[str, str], sql: str, text: str) -> None:
    world.report(3)
    with pytest.raises(RefusedQueryError, match=text):
        world.version(name, sql, **options)


def test_a_request_sees_a_single_version(world: World) -> None:
    world.report(3)
    request = Request()
    assert version_of_query(world.routing, "u", request) == 3
    world.report(4)
    world.routing.refresh()
    assert version_of_query(world.routing, "u_REALTIME", request) == 3
    assert version_of_query(world.routing, "u", Request()) == 4


def test_the_multi_stage_engine(world: World) -> None:
    check_multistage(world.routing, Request("select * from other join third on other.a = third.a"))
    check_multistage(world.routing, Request("select * from u", {"skipUpsert": "true"}))
    for sql in ("select * from u", "select * from other as o join u on o.a = u.a"):
        with pytest.raises(RefusedQueryError):
            check_multistage(world.routing, Request(sql))


@pytest.fixture
def by_option() -> World:
    """As in Pinot 1.3 and later, with a second upsert table, ``u2``."""
    world = World(by_option=True)
    world.zookeeper.table("u2_REALTIME", **CUSTOM)
    world.serve("u2")
    world.report(3)
    world.report(5, table="u2")
    return world


@pytest.mark.parametrize(
    ("sql", "versions"),
    [
        ("select * from u", "u_REALTIME:3"),
        ("select * from u_REALTIME where a = 1", "u_REALTIME:3"),
        ('select * from "u" as a join other as b on a.k = b.k', "u_REALTIME:3"),
        ("select * from u2 join u on u2.k = u.k", "u2_REALTIME:5,u_REALTIME:3"),
        (
            "with x as (select k from u) select k from x union all select k from u2",
            "u_REALTIME:3,u2_REALTIME:5",
        ),
        ("select * from other where k in (select k from U2)", "u2_REALTIME:5"),
        ("select * from other where inSubquery(k, 'select idset(k) from u') = 1", "u_REALTIME:3"),
        ("select rank() over (partition by k order by v) from u", "u_REALTIME:3"),
        ('select * from u where "$VALIDFROM" > 2', "u_REALTIME:3,unpruned"),
        ('select "$validFrom" from other', None),
    ],
)
def test_the_versions_of_all_tables_of_a_query(by_option: World, sql: str, versions: str | None) -> None:
    assert by_option.versions(sql) == versions
    assert by_option.versions(sql, useMultistageEngine="true", enableNullHandling="true") == versions
    assert by_option.versions(sql, skipUpsert="true") is None


def test_a_table_of_a_database(by_option: World) -> None:
    by_option.zookeeper.table("db.u_REALTIME", **CUSTOM)
    by_option.serve("db.u")
    by_option.report(8, table="db.u")
    by_option.routing.refresh()
    assert by_option.versions("select * from db.u") == "db.u_REALTIME:8"
    assert by_option.versions("select * from default.u") == "u_REALTIME:3"
    # Pinot decides which of the two the name means: an extra table does no harm.
    assert by_option.versions("select * from u", database="db") == "u_REALTIME:3,db.u_REALTIME:8"


@pytest.mark.parametrize(
    ("sql", "options", "text"),
    [
        ("select * from u_OFFLINE", {}, "offline table"),
        ("select * from u join u2 on u.k = u2.k", {"asOfVersion": "2"}, "each table has its own versions"),
        ("select * from u", {"asOfVersion": "4"}, "not complete on all servers yet: its mark is 3"),
        ("select * from u", {"asOfVersion": "x"}, "asOfVersion is 'x'"),
    ],
)
def test_refused_by_option(by_option: World, sql: str, options: dict[str, str], text: str) -> None:
    with pytest.raises(RefusedQueryError, match=text):
        by_option.versions(sql, **options)


def test_servers_that_expect_versions_in_another_form_are_not_queried(by_option: World, world: World) -> None:
    """Each would return the rows of all versions."""
    assert by_option.versions("select * from u") == "u_REALTIME:3"
    by_option.report(4, by_option=False)
    by_option.routing.refresh()
    with pytest.raises(NoMarkError, match="A by an SQL condition; the query contains it as an option"):
        by_option.versions("select * from u2, u")
    by_option.report(5)
    assert by_option.versions("select * from u") == "u_REALTIME:5"
    world.report(4, by_option=True)
    with pytest.raises(NoMarkError, match="A by a query option; the query contains it as a condition"):
        world.version()
