"""The commands of pinotctl consumption."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from controller_client.cli import cli
from controller_client.rest.capabilities import Capability
from tests.integration.consumption.conftest import MakeTable
from tests.support.cluster import PinotCluster
from tests.support.needs import has

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

Run = Callable[..., Result]


@pytest.fixture
def run(pinot: PinotCluster) -> Run:
    def invoke(*words: str, code: int = 0) -> Result:
        env = {"PINOT_CONTROLLER_URL": pinot.controller_url, "PINOTCTL_CONFIG": "/no/such/file"}
        result = CliRunner().invoke(cli, ["consumption", *words], env=env)
        assert result.exit_code == code, result.output
        return result

    return invoke


def test_several_tables_by_a_pattern(
    pinot: PinotCluster, make_stream_table: MakeTable, run: Run, tmp_path: Path
) -> None:
    tables = [make_stream_table(partitions=2), make_stream_table(partitions=1)]
    for table in tables:
        table.produce(20)
        table.wait_rows()
    names = [table.name for table in tables]

    def status(*words: str) -> Any:
        return json.loads(run("status", *names, "--output", "json", *words).stdout)

    assert "would be paused: 2 consuming segments" in run("pause", names[0], "--dry-run").stderr
    assert [each["state"] for each in status()] == ["consuming", "consuming"]

    notes = run("pause", *names, "--reason", "migration", "--comment", "until noon").stderr
    assert notes.splitlines() == [f"{name}_REALTIME is paused: no server consumes it." for name in names]
    first, second = status()
    assert (first["state"], second["state"]) == ("paused", "paused")
    assert first["paused"][0]["reason"] == "migration"
    assert [(each["partition"], each["committed_offset"], each["lag"]) for each in first["partitions"]] == [
        (0, "20", 0),
        (1, "20", 0),
    ]
    shown = run("status", f"{names[0]}*")
    assert [line.split()[1:5] for line in shown.stdout.splitlines()[1:]] == [
        ["0", "paused", "20", "0"],
        ["1", "paused", "20", "0"],
    ]
    assert "(migration: until noon)" in shown.stderr
    page = tmp_path / "page.html"
    run("status", names[0], "--html", str(page))
    text = page.read_text(encoding="utf-8")
    assert "migration: until noon</td>" in text
    segment = first["partitions"][0]["segment"]
    assert f'{pinot.controller_url}/#/tenants/table/{names[0]}_REALTIME/{segment}">{segment}</a>' in text
    assert f"<code>pinotctl consumption resume {names[0]}_REALTIME</code>" in text
    assert status("--no-stream")[0]["partitions"][0]["lag"] is None

    tables[0].produce(10)
    assert "paused; it would be resumed from lastConsumed" in run("resume", names[0], "--dry-run").stderr
    resumed = json.loads(run("resume", *names, "--output", "json").stdout)
    assert [(each["table"], each["changed"], each["jumps"]) for each in resumed] == [
        (f"{name}_REALTIME", True, []) for name in names
    ]
    assert "is already consuming" in run("resume", names[0]).stderr
    tables[0].wait_rows()

    rounds = ("--watch", "--rounds", "3", "--interval", "0.1")
    watched = run("status", names[1], *rounds, "--html", str(page))
    assert watched.stdout.splitlines() == [
        f"{names[1]}_REALTIME consuming",
        f"{names[1]}_REALTIME partition 0: consuming, offset 20, 0 behind",
    ], "a line for each change alone"
    text = page.read_text(encoding="utf-8")
    assert 'class="curve line1"' in text
    assert 'http-equiv="refresh"' not in text, "the watch has ended"
    assert "1 segment would be committed" in run("force-commit", names[1], "--dry-run").stderr
    (committed,) = json.loads(run("force-commit", names[1], "--output", "json").stdout)
    assert (committed["table"], committed["committed"]) == (f"{names[1]}_REALTIME", True)
    assert len(committed["segments"]) == 1

    assert "no realtime table nope*" in run("status", "nope*", code=1).stderr
    assert "is not an offset to consume from" in run("resume", names[0], "--consume-from", "x", code=2).stderr
    in_batches = ("pause", names[1], "--batch-size", "2")
    if has(Capability.PAUSE_BATCHES):
        run(*in_batches)
        assert status()[1]["state"] == "paused"
    else:
        assert "lacks pausing in batches" in run(*in_batches, code=1).stderr


def test_the_recipes(make_stream_table: MakeTable, run: Run) -> None:
    table = make_stream_table(partitions=1)
    new = table.new_topic(1)
    table.produce(20)
    table.wait_rows()
    words = (
        "change-stream",
        table.name,
        "--set",
        f"stream.kafka.topic.name={new.name}",
        "--consume-from",
        "smallest",
    )
    would = run(*words, "--dry-run").stderr.splitlines()
    assert would[0] == f"1. The new stream {new.name} can be read: 1 partition."
    assert would[1] == f"2. Would pause {table.table} and change its stream config: stream.kafka.topic.name."
    assert run(*words).stderr.splitlines()[-1] == f"{table.table} is consuming from the new stream."
    table.produce(20, topic=new)
    table.wait_rows()
    assert "2. Resume and wait until every partition consumes." in run("recover", table.name).stderr
    assert "Every partition" in run("recreate", table.name).stderr
    assert "commit 1 consuming segment" in run("reset", table.name).stderr.lower()
    assert "contains no offsets" in run("drain", table.name, "--until", "smallest", code=2).stderr
    drained = run("drain", table.name, "--output", "json")
    assert "the table stays paused" in drained.stderr
    report = json.loads(drained.stdout)
    assert (report["table"], report["changed"], report["ends"]) == (table.table, True, {"0": 20})
    assert len(report["steps"]) == len(drained.stderr.splitlines())


def test_operations_on_a_consuming_table(make_stream_table: MakeTable, pinot: PinotCluster) -> None:
    table = make_stream_table(partitions=2)
    table.produce(20)
    table.wait_rows()

    def run(*words: str) -> Any:
        result = CliRunner().invoke(
            cli, [*words, "--output", "json"], env={"PINOT_CONTROLLER_URL": pinot.controller_url}
        )
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    found = run("table", "consuming", table.name)
    assert [(each["state"], each["offset"]) for each in found] == [("consuming", "20")] * 2
    assert run("table", "size", table.name)["missing_segments"] == sorted(each["segment"] for each in found)
    reloaded = run("table", "reload", table.name)
    assert (reloaded["replicas"], reloaded["consuming_replicas"]) == (0, 2)
    # Since Pinot 1.0 the reload commits these segments, and new ones consume.
    plan = run("table", "rebalance", table.name, "--include-consuming", "--dry-run")
    assert plan["moves"] == []
    assert plan["segments"] >= 2
