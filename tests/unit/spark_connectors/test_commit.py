from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from spark_connectors.options import WriteOptions, parse_options
from spark_connectors.write.commit import commit
from tests.unit.controller_client.scripted_server import NOTHING, ScriptedServer
from tests.unit.spark_connectors.test_plan import PLAN


def test_a_write_that_was_committed_before_says_so_and_changes_nothing(tmp_path: Path) -> None:
    staged, report = tmp_path / PLAN.table / PLAN.nonce, tmp_path / "report.json"
    staged.mkdir(parents=True)
    (staged / "x.tar.gz").touch()
    with ScriptedServer() as server:
        server.answers = lambda _: NOTHING
        options = {"controller": server.url, "table": PLAN.table, "reportPath": str(report)}
        plan = replace(
            PLAN,
            options=parse_options(WriteOptions, options),
            staging_uri=staged.as_uri(),
            committed_before=True,
        )
        commit(plan, [None])
    assert json.loads(report.read_text())["outcome"] == "committed_before"
    assert not staged.exists()
    assert {request.method for request in server.requests} == {"GET"}
