"""`pinotctl upsert status`, `upsert watermark` and `query --upsert` on a real cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller_client.upsert.record import CoordinatorRecord, ServerRecord, write_coordinator, write_server
from controller_client.zookeeper import PropertyStore
from tests.integration.upsert.broker.conftest import MakeTable, Pinotctl
from tests.integration.upsert.broker.versioned_table import FIRST_TS

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]


def test_status_watermark_and_query(
    pinotctl: Pinotctl, make_table: MakeTable, servers: list[str], store: PropertyStore, tmp_path: Path
) -> None:
    table = make_table(2)
    table.create()
    table.produce({0: [("a", 1, 0, 4), ("a", 2, 4, -1)], 1: [("b", 3, 1, -1)]})
    table.wait_rows()

    status, watermark = ("upsert", "status", table.name), ("upsert", "watermark", table.name)
    code, out, text = pinotctl(*status)
    assert code == 1
    assert "has not reported its progress" in text
    assert "never been started" in text
    code, out, text = pinotctl(*watermark)
    assert code != 0
    assert "no version of" in text

    write_coordinator(store, table.full_name, CoordinatorRecord(1, 0, 6, FIRST_TS + 9, 2))
    table.tell({servers[0]: 3, servers[1]: 5})
    code, out, text = pinotctl(*status, "--output", "json")
    assert code == 0, text
    found = json.loads(out)
    assert (found["mark"], found["lag_versions"], found["holders"]) == (3, 3, [servers[0]])
    assert found["coordinator"]["keys"] == 2
    assert {row["server"]: row["mark"] for row in found["partitions"]} == {servers[0]: 3, servers[1]: 5}
    page = tmp_path / "page.html"
    code, out, text = pinotctl(*status, "--html", str(page))
    assert code == 0, text
    written = page.read_text(encoding="utf-8")
    assert f'{table.pinot.controller_url}/#/instance/{servers[0]}">{servers[0]}</a>' in written
    assert written.count('data-head="holds the mark back">yes</td>') == 1
    other = ServerRecord(servers[0], "of another session", 9, 0, created=table.created())
    write_server(store, table.full_name, other)
    code, out, text = pinotctl(*status)
    assert (code, f"{servers[0]} has not reported" in text) == (1, True)

    table.tell(dict.fromkeys(servers, 3))
    assert pinotctl(*watermark)[:2] == (0, "3\n")
    assert pinotctl(*watermark, "--wait-version", "2")[:2] == (0, "3\n")
    code, out, text = pinotctl(*watermark, "--wait-version", "4", "--timeout", "0")
    assert code != 0
    assert "its mark is 3" in text
    # Version 3 has one row of each partition, version 4 has all rows.
    table.end(3, FIRST_TS, upto=1)
    code, out, text = pinotctl(*watermark, "--wait-produced", "--timeout", "0")
    assert code != 0
    assert "partition 0 has offset 1 of 2 at version 3" in text
    table.end(4, FIRST_TS, upto=2)
    table.tell(dict.fromkeys(servers, 4))
    assert pinotctl(*watermark, "--wait-produced")[:2] == (0, "4\n")
    assert pinotctl("upsert", "watermark", "no_such_table")[0] != 0

    sql = f"select k, v from {table.name} order by k, v"
    code, out, text = pinotctl("query", "--upsert", "--output", "json", sql)
    assert code == 0, text
    assert json.loads(out)["rows"] == [["a", 2], ["b", 3]]
    assert json.loads(out)["versions"] == {table.full_name: 4}
    code, out, text = pinotctl("query", "--upsert", "--option", "asOfVersion=3", "--output", "csv", sql)
    assert (code, out) == (0, "k,v\na,1\nb,3\n"), text
    assert f"{table.full_name} at version 3" in text
    code, out, text = pinotctl("query", "--upsert", "--option", "skipUpsert=true", "--output", "csv", sql)
    assert (code, out) == (0, "k,v\na,1\na,2\nb,3\n"), text
