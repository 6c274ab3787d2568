"""The memory of the tables of :mod:`benchmarks.upsert`, and the time of their restarts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchmarks.upsert.contenders import Contender, Versioned
from controller_client.errors import PinotPluginError

_PAUSE_S = 0.05
_ROWS = 1_000


def memory(tables: Sequence[Contender], keys: int) -> list[dict[str, object]]:
    """Return the memory of servers and coordinators, and each server's heap beyond that of the first."""
    found = {table.name: table.memory() for table in tables}
    rows = []
    for table in tables:
        heap, rss = found[table.name]
        more = (heap - found[tables[0].name][0]) / (keys / 1_000_000)
        row: dict[str, object] = {"table": table.name, "server's heap MiB": round(heap, 1)}
        row |= {"heap MiB/million keys": round(more, 1), "server's RSS MiB": round(rss)}
        row["coordinator's RSS MiB"] = round(table.coordinator_mib()) if isinstance(table, Versioned) else ""
        rows.append(row)
    return rows


def restarts(tables: Sequence[Contender], timeout_s: float) -> list[dict[str, object]]:
    """Restart servers and coordinators, and wait for query results and for new rows."""
    rows = []
    for table in tables:
        count = _count(table)
        table.server.stop()
        began_s = time.monotonic()
        table.server.start()
        _wait(table, lambda table=table, count=count: _count(table) == count, timeout_s)
        server_s = time.monotonic() - began_s
        row: dict[str, object] = {"table": table.name, "server answers after s": round(server_s, 1)}
        row["coordinator's rows are seen after s"] = ""
        if isinstance(table, Versioned):
            table.stop_coordinator()
            table.feed.write(_ROWS)
            table.feed.flush()
            began_s = time.monotonic()
            table.start_coordinator()
            _wait(table, lambda table=table: table.has_all(table.observe(0)), timeout_s)
            row["coordinator's rows are seen after s"] = round(time.monotonic() - began_s, 1)
        rows.append(row)
    return rows


def _count(table: Contender) -> int | None:
    try:
        return int(table.query("select count(*) from {table}").rows[0][0])
    except (PinotPluginError, IndexError):  # nothing is served yet
        return None


def _wait(table: Contender, condition: object, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    assert callable(condition)
    while not condition():
        assert time.monotonic() < deadline, (
            f"{table.name}: {timeout_s:.0f} s after the restart rows still lack"
        )
        time.sleep(_PAUSE_S)
