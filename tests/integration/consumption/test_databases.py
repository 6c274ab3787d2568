"""A table of a database (Pinot 1.2 and later), whose name has a dot everywhere."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner

from controller_client.cli import cli
from controller_client.consumption import TableState, pause, resume
from controller_client.errors import RejectedError
from controller_client.rest.capabilities import Capability
from tests.integration.consumption.conftest import MakeTable
from tests.support.cluster import PinotCluster
from tests.support.needs import needs
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]


@needs(Capability.DATABASES, raises=RejectedError, match="containing '.' is not allowed")
def test_a_table_of_a_database(make_stream_table: MakeTable, pinot: PinotCluster, tmp_path: Path) -> None:
    table = make_stream_table(partitions=2, database=f"db_{uuid.uuid4().hex[:8]}")
    control = table.control()
    assert table.table in table.client.tables.list("REALTIME")
    assert table.name in table.client.tables.list()
    assert table.name in table.client.schemas.list()
    table.produce(30)
    table.wait_rows()
    pause(control, reason="test", timeout_s=300)
    status = control.status()
    assert status.state is TableState.PAUSED
    assert [each.reason for each in status.holders] == ["test"]
    table.produce(5)
    assert resume(control, consume_from={0: 20}, timeout_s=300).jumps != ()
    resume(control, timeout_s=300)

    env = {"PINOT_CONTROLLER_URL": pinot.controller_url, "PINOTCTL_CONFIG": "/no/such/file"}

    def run(*words: str, code: int = 0) -> str:
        answer = CliRunner().invoke(cli, words, env=env)
        assert answer.exit_code == code, (words, answer.output)
        return answer.stdout

    (shown,) = json.loads(run("consumption", "status", table.name, "--output", "json"))
    assert shown["table"] == table.table
    run("consumption", "reset", f"default.{table.name}", code=1)
    run("consumption", "reset", table.table)
    audit = json.loads(run("deepstore", "audit", table.name, "--min-copies", "1", "--output", "json"))
    assert (audit["segments"] >= 2, audit["faulty_segments"]) == (True, 0)
    names = [name for name in table.client.segments.list(table.table) if "__0__0__" in name]
    run("segment", "fetch", table.name, names[0], "--to", str(tmp_path), "--unpack")
    assert (tmp_path / names[0]).is_dir()
    assert names[0].startswith(f"{table.name}__")
    # One partition read 15 rows again or for the first time, the other 5.
    wait_for(lambda: table.counts()[0] == 60 + 15 + 5, "all rows")
    assert "80" in run("query", f'select count(*) from "{table.name}"')
