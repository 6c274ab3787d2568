"""Queries of upsert tables on hosted servers see the rows of the model at each version."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.errors import PinotPluginError, QueryError
from controller_client.upsert.columns import NIL, visible_at
from controller_client.upsert.low_water_mark import read_mark
from controller_client.upsert.version_option import VERSIONS, option_text
from tests.integration.upsert.server.conftest import MakeUpsertTable
from tests.integration.upsert.server.upsert_table import UpsertTable
from tests.support.wait import wait_for


def test_rows_know_their_offsets_and_versions_replace_them(make_upsert_table: MakeUpsertTable) -> None:
    table = make_upsert_table()
    # Rows, messages that Pinot cannot read, tombstones, and transactions, one of them aborted.
    table.produce(0, [f"k{n}" for n in range(20)])
    table.produce_raw(0, b"{not json")
    table.produce_transaction(0, ["k1", "k2"], commit=True)
    table.produce_transaction(0, ["k3"], commit=False)
    table.produce(0, ["k1", "k4"])
    table.produce(1, [f"k{n}" for n in range(10, 30)])
    table.produce(1, ["k0", "k0", "k0"], ts_step=-1)
    table.produce_transaction(1, ["k5"], commit=True)
    first = table.model.coordinate()
    assert first == 0
    table.wait_checked(first)
    expected = table.readable(0)
    assert len(expected) == 24
    assert expected[-1] > 24  # invalid messages, aborted ones and transaction markers take an offset
    assert table.all_rows("part = 0") == [(0, offset) for offset in expected]

    table.produce_raw(1, None, key="k7")
    table.produce(0, ["k8", "new"])
    second = table.model.coordinate()
    table.wait_checked(second)
    # The previous version is still complete.
    assert table.visible(first) == sorted(table.model.visible[first])
    assert table.visible(second) != table.visible(first)
    # Sent again with a later version: the first one counts.
    table.model.repeat(second, {0: [0, 1, 21], 1: [0, 1]})
    third = table.model.coordinate()
    table.wait_mark(third)
    assert table.visible(first) == sorted(table.model.visible[first])


def test_a_server_refuses_a_version_that_is_not_complete_there(
    make_upsert_table: MakeUpsertTable,
) -> None:
    """Query as a broker does that chose the version while the server was down."""
    table = make_upsert_table()
    # First of all, Pinot prunes segments without rows, and those whose values cannot match a condition.
    refused = f"complete up to version {NIL} of {table.full_name}"
    wait_for(lambda: refused in _answer(table, 0), "the broker to ask servers")
    table.produce(0, ["k1", "k2", "k1"])
    first = table.model.coordinate()
    table.wait_checked(first)
    with pytest.raises(PinotPluginError, match=f"complete up to version {first} of {table.full_name}"):
        table.visible(first + 1)
    table.produce(0, ["k2"])
    second = table.model.coordinate()
    # Queried at once: the first answer is correct.
    found = wait_for(lambda: table.visible(second), f"an answer at version {second}")
    assert found == sorted(table.model.visible[second])


def test_what_a_stock_broker_gets_without_a_version(make_upsert_table: MakeUpsertTable) -> None:
    """No rows by mistake; all rows on request, of consuming and of sealed segments."""
    table = make_upsert_table(rows_per_segment=40, replicas=1)
    for _ in range(3):
        table.produce(0, [f"k{n}" for n in range(30)])
        table.produce(1, [f"k{n}" for n in range(15)])
        version = table.model.coordinate()
    table.wait_sealed(2)
    table.wait_checked(version)
    for sql in ("select count(*) from {0}", 'select key from {0} where "$validFrom" >= 0 limit 1'):
        with pytest.raises(QueryError, match=f"{table.full_name} is an upsert table, and the query names no"):
            table.broker.query(sql.format(table.name))

    def asked(sql: str) -> tuple[tuple[object, ...], ...]:
        return table.broker.query(sql.format(table.name), options={"skipUpsert": True}).rows

    # The column statistics that Pinot recorded when it built a segment are -1 for all rows.
    rows = asked('select "$validFrom", "$validUntil" from {0} limit 1000')
    froms, untils = ([int(str(row[number])) for row in rows] for number in (0, 1))
    assert len(rows) == 3 * 45
    assert set(froms) == {0, 1, 2}
    assert max(untils) == 2
    for column, values in (("$validFrom", froms), ("$validUntil", untils)):
        extremes = f'min("{column}"), max("{column}"), minmaxrange("{column}")'
        found = [float(str(each)) for each in asked(f"select {extremes} from {{0}}")[0]]
        assert found == [min(values), max(values), max(values) - min(values)]
        for bound in (0, 1, 2):
            (counted,) = asked(f'select count(*) from {{0}} where "{column}" >= {bound}')
            assert counted == (sum(value >= bound for value in values),)
        (greatest,) = asked(f'select "{column}" from {{0}} order by "{column}" desc limit 1')
        assert greatest == (max(values),)


def test_a_waiting_query_has_not_acquired_segments_yet(make_upsert_table: MakeUpsertTable) -> None:
    """Otherwise it would have counted the rows before, and would miss that a segment was replaced."""
    table = make_upsert_table(replicas=1)
    table.produce(0, ["k1", "k2"])
    first = table.model.coordinate()
    table.wait_checked(first)
    # Brokers omit a segment that no server serves yet, and this query does not name the segments it needs.
    table.wait_served()
    asks = _counting(table, first + 1)
    with ThreadPoolExecutor(1) as pool, BrokerClient(table.broker.config.urls) as another:
        asked = pool.submit(asks, table.broker, timeoutMs=120_000)
        # By the time the second query times out, the first one has reached the server.
        with pytest.raises(PinotPluginError):
            asks(another, timeoutMs=500)
        table.produce(0, ["k3", "k4", "k5"])
        table.produce(1, ["k6"])
        second = table.model.coordinate()
        assert asked.result() == 6
    assert second == first + 1
    table.wait_checked(second)


def _counting(table: UpsertTable, version: int) -> Callable[..., int]:
    """Return a function that queries a broker at a version for the number of rows in the segments."""
    options: dict[str, str] = {}
    sql = f"SELECT count(*) FROM {table.name}"
    if read_mark(table.store, table.full_name).cut_by_option:
        options = {VERSIONS: option_text({table.full_name: version}, "")}
    else:
        sql += f" WHERE {visible_at(version)}"

    def ask(broker: BrokerClient, **further: int) -> int:
        return broker.query(sql, options={**options, **further}).stats.total_docs

    return ask


def _answer(table: UpsertTable, version: int) -> str:
    """The rows of a query at a version, or why it is refused; empty until the broker has the segments."""
    try:
        return str(table.visible(version))
    except PinotPluginError as error:
        return str(error)
