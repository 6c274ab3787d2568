"""While the only servers of some segments are down, queries are answered completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller_client.broker.client import BrokerClient
from controller_client.errors import PinotPluginError
from controller_client.helix import live_session
from controller_client.upsert.queries import UpsertQueries
from tests.integration.upsert.server.conftest import MakeUpsertTable
from tests.integration.upsert.server.upsert_table import UpsertTable
from tests.support.cluster import PinotCluster
from tests.support.needs import Need, has
from tests.support.wait import wait_for

_TIMEOUT_S = 300.0
_KEYS = 40

Ask = Callable[[], int | None]


def test_answers_are_whole_or_errors(
    make_upsert_table: MakeUpsertTable,
    hosted_broker: BrokerClient,
    hosted_servers: Sequence[str],
    pinot: PinotCluster,
    full: bool,
) -> None:
    table = make_upsert_table(replicas=1)
    for partition in (0, 1):
        table.produce(partition, [f"{partition}-{number}" for number in range(_KEYS // 2)])
    table.wait_checked(table.model.coordinate())
    places = {
        name: states for name, states in table.client.tables.external_view(table.full_name).items() if states
    }
    assert len({server for states in places.values() for server in states}) == 2, places

    sql = f"select count(*) from {table.name}"
    with UpsertQueries(table.broker, table.store) as queries:
        asks: dict[str, Ask] = {
            "hosted broker": lambda: _count(lambda: hosted_broker.query(sql).scalar()),
            "client": lambda: _count(lambda: queries.query(sql).result.scalar()),
        }
        wait_for(lambda: hosted_broker.query(sql).scalar() == _KEYS, "the hosted broker's answer", _TIMEOUT_S)
        wait_for(lambda: queries.query(sql).result.scalar() == _KEYS, "the client's answer", _TIMEOUT_S)
        answer = hosted_broker.query(sql)
        assert answer.versions == {table.full_name: table.mark()}
        if has(Need.PLUG_IN_POINTS):
            answer = hosted_broker.query(sql, options={"useMultistageEngine": True})
            assert (answer.scalar(), answer.versions) == (_KEYS, {table.full_name: table.mark()})
        # Each server answers the inner query for its own rows at the same version.
        inner = f"select idset(value) from {table.name} where value > 0"
        partitioned = f"{sql} where in_partitioned_subquery(value, '{inner}') = 1"
        assert queries.query(partitioned).result.scalar() == _KEYS
        # One server, and with --full then the other one, too.
        roles = dict(zip(("hosted_1", "hosted_2") if full else ("hosted_1",), hosted_servers, strict=False))
        for role, server in roles.items():
            pinot.kill(role)
            _until_gone(table, server, asks)
            assert {ask() for ask in asks.values()} == {None}
        for role in roles:
            pinot.start(role)
            _check(asks)
        wait_for(lambda: _check(asks) == [_KEYS, _KEYS], "both to answer again", _TIMEOUT_S)


def _until_gone(table: UpsertTable, server: str, asks: dict[str, Ask]) -> None:
    """Query until the external view no longer contains the server, and a little longer."""

    def gone() -> bool:
        _check(asks)
        view = table.client.tables.external_view(table.full_name)
        return live_session(table.store, server) is None and all(
            server not in states for states in view.values()
        )

    wait_for(gone, f"{server} to be gone", _TIMEOUT_S)
    for _ in range(50):
        _check(asks)


def _check(asks: dict[str, Ask]) -> list[int | None]:
    found = {name: ask() for name, ask in asks.items()}
    assert set(found.values()) <= {None, _KEYS}, found
    return list(found.values())


def _count(ask: Callable[[], int]) -> int | None:
    """The answer; None for an error."""
    try:
        return ask()
    except PinotPluginError:
        return None
