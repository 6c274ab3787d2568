"""Times of queries on the tables of :mod:`benchmarks.upsert`, at rest and while rows arrive."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

from benchmarks.upsert.contenders import Contender
from benchmarks.upsert.feed import running
from controller_client.errors import PinotPluginError
from tests.support.needs import Need, has

_PAUSE_S = 0.5
_WARM_UP_S = 2.0
_QUERIES = {
    "count by filter": "select count(*), max(value) from {table} where value > 900000 and team = 'team17'",
    "group by": "select team, count(*), sum(value) from {table} group by team order by sum(value) limit 20",
    "top N": "select id, value from {table} where value > 500000 order by value desc limit 10",
}
_JOIN_OPTIONS = (  # plain has more rows than Pinot's default limits and timeout allow
    "SET useMultistageEngine = true; SET maxRowsInJoin = 100000000; "
    "SET maxRowsInWindow = 100000000; SET timeoutMs = 120000; "
)
_JOINS = {
    "join": _JOIN_OPTIONS + "select a.team, count(*), sum(b.value) from {table} b "
    "join {table} a on a.id = b.id where a.value > 990000 group by a.team order by a.team limit 20",
    "join with a window": _JOIN_OPTIONS + "select team, id, value from (select a.team, a.id, "
    "b.value, row_number() over (partition by a.team order by b.value desc) as place from {table} b "
    "join {table} a on a.id = b.id where a.value > 990000) where place = 1 order by team limit 20",
}

Times = dict[tuple[str, str], list[float]]
"""Seconds of each query, by kind and table."""


def at_rest(tables: Sequence[Contender], rounds: int, repeat: int) -> list[dict[str, object]]:
    """Query all tables in turn; return the medians, and their ratios to the first table's."""
    times: Times = {}
    for number in range(-1, rounds):  # the first round warms up the JVMs' compilers
        for table in tables if number % 2 else reversed(tables):
            for kind in _kinds():
                for _ in range(repeat):
                    _query(table, kind, times if number >= 0 else {})
    return _rows(tables, times)


def while_rows_arrive(
    tables: Sequence[Contender], rate: int, seconds: float, rounds: int
) -> list[dict[str, object]]:
    """Write rows to one table at a time and query it meanwhile; the result is as for :func:`at_rest`.

    Each query gets the same share of the time, so slow queries do not reduce the count of fast ones.
    """
    times: Times = {}
    for number in range(rounds):
        for table in tables if number % 2 else reversed(tables):
            with running(lambda table=table: table.feed.steady(rate, seconds + _WARM_UP_S)):  # type: ignore[misc]
                _query_for(table, _WARM_UP_S, {})
                _query_for(table, seconds, times)
    return _rows(tables, times)


def _query_for(table: Contender, seconds: float, times: Times) -> None:
    began_s, kinds = time.monotonic(), _kinds()
    for number, kind in enumerate(kinds, 1):
        while time.monotonic() < began_s + seconds * number / len(kinds):
            _query(table, kind, times)


def check(tables: Sequence[Contender], keys: int, rows: int, timeout_s: float) -> None:
    """Wait until all upsert tables have one row per key with equal sums: the last rows may be in transit."""
    deadline = time.monotonic() + timeout_s
    while (wrong := _differences(tables, keys, rows)) is not None:
        assert time.monotonic() < deadline, wrong
        time.sleep(_PAUSE_S)


def _differences(tables: Sequence[Contender], keys: int, rows: int) -> str | None:
    """Return what differs from the expected state, or None."""
    try:
        totals = {each.name: each.query("select count(*), sum(value) from {table}").rows for each in tables}
    except PinotPluginError as error:
        return error.message
    counts = {name: int(total[0][0]) if total else 0 for name, total in totals.items()}
    sums = {str(total) for name, total in totals.items() if name != "plain"}
    expected = {name: rows if name == "plain" else keys for name in totals}
    return None if counts == expected and len(sums) == 1 else str(totals)


def _kinds() -> dict[str, str]:
    return _QUERIES | (_JOINS if has(Need.PLUG_IN_POINTS) else {})


def _query(table: Contender, kind: str, times: Times) -> None:
    started_s = time.monotonic()
    table.query(_kinds()[kind])
    times.setdefault((kind, table.name), []).append(time.monotonic() - started_s)


def _rows(tables: Sequence[Contender], times: Times) -> list[dict[str, object]]:
    rows = []
    for kind in _kinds():
        p50 = {table.name: 1000 * median(times[kind, table.name]) for table in tables}
        row: dict[str, object] = {"query": kind, "times": min(len(times[kind, name]) for name in p50)}
        row |= {f"{name} ms": round(value, 1) for name, value in p50.items()}
        first = tables[0].name
        row |= {f"{name} / {first}": round(p50[name] / p50[first], 2) for name in list(p50)[1:]}
        rows.append(row)
    return rows
