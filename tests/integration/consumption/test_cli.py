"""The commands of pinotctl consumption."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from controller_client.rest.capabilities import Capability
from tests.integration.consumption.conftest import MakeTable
from tests.integration.pinotctl.conftest import Run
from tests.support.cluster import PinotCluster
from tests.support.needs import has

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]


class _Consumption(Run):
    def __call__(self, *words: object, **more: Any) -> Result:
        return super().__call__("consumption", *words, **more)


@pytest.fixture
def consumption(pinot: PinotCluster) -> Run:
    return _Consumption(pinot.controller_url)


def test_several_tables_by_a_pattern(
    pinot: PinotCluster, make_stream_table: MakeTable, consumption: Run, tmp_path: Path
) -> None:
    tables = [make_stream_table(partitions=number, rows=20) for number in (2, 1)]
    names = [table.name for table in tables]
    (first, second), page = names, tmp_path / "page.html"

    def states() -> list[str]:
        return [each["state"] for each in consumption.read("status", *names)]

    assert "would be paused: 2 consuming segments" in consumption("pause", first, "--dry-run").stderr
    assert states() == ["consuming", "consuming"]

    notes = consumption("pause", *names, "--reason", "migration", "--comment", "until noon").stderr
    assert notes.splitlines() == [f"{name}_REALTIME is paused: no server consumes it." for name in names]
    assert states() == ["paused", "paused"]
    (found,) = consumption.read("status", f"{first}*")
    assert found["paused"][0]["reason"] == "migration"
    partitions = [(each["partition"], each["committed_offset"], each["lag"]) for each in found["partitions"]]
    assert partitions == [(0, "20", 0), (1, "20", 0)]
    shown = consumption("status", f"{first}*", "--html", page)
    assert [line.split()[1:5] for line in shown.stdout.splitlines()[1:]] == [
        ["0", "paused", "20", "0"],
        ["1", "paused", "20", "0"],
    ]
    assert "(migration: until noon)" in shown.stderr
    text, segment = page.read_text(encoding="utf-8"), found["partitions"][0]["segment"]
    assert "migration: until noon</td>" in text
    assert f'{pinot.controller_url}/#/tenants/table/{first}_REALTIME/{segment}">{segment}</a>' in text
    assert f"<code>pinotctl consumption resume {first}_REALTIME</code>" in text
    (unread,) = consumption.read("status", first, "--no-stream")
    assert unread["partitions"][0]["lag"] is None

    tables[0].produce(10)
    would = consumption("resume", first, "--dry-run").stderr
    assert "paused; it would be resumed from lastConsumed" in would
    resumed = consumption.read("resume", *names)
    assert [(each["table"], each["changed"], each["jumps"]) for each in resumed] == [
        (f"{name}_REALTIME", True, []) for name in names
    ]
    assert "is already consuming" in consumption("resume", first).stderr
    tables[0].wait_rows()

    rounds = ("--watch", "--rounds", "3", "--interval", "0.1")
    watched = consumption("status", second, *rounds, "--html", page)
    assert watched.stdout.splitlines() == [
        f"{second}_REALTIME consuming",
        f"{second}_REALTIME partition 0: consuming, offset 20, 0 behind",
    ], "a line for each change alone"
    text = page.read_text(encoding="utf-8")
    assert 'class="curve line1"' in text
    assert 'http-equiv="refresh"' not in text, "the watch has ended"

    assert "1 segment would be committed" in consumption("force-commit", second, "--dry-run").stderr
    (committed,) = consumption.read("force-commit", second)
    assert (committed["table"], committed["committed"]) == (f"{second}_REALTIME", True)
    assert len(committed["segments"]) == 1

    assert "no realtime table nope*" in consumption.error("status", "nope*")
    wrong = consumption.error("resume", first, "--consume-from", "x", code=2)
    assert "is not an offset to consume from" in wrong
    in_batches = ("pause", second, "--batch-size", "2")
    if has(Capability.PAUSE_BATCHES):
        consumption(*in_batches)
        assert states()[1] == "paused"
    else:
        assert "lacks pausing in batches" in consumption.error(*in_batches)


def test_the_recipes(make_stream_table: MakeTable, consumption: Run) -> None:
    table = make_stream_table(partitions=1, rows=20)
    new = table.new_topic(1)
    topic = f"stream.kafka.topic.name={new.name}"
    move = ("change-stream", table.name, "--set", topic, "--consume-from", "smallest")
    would = consumption(*move, "--dry-run").stderr.splitlines()
    assert would[0] == f"1. The new stream {new.name} can be read: 1 partition."
    assert would[1] == f"2. Would pause {table.table} and change its stream config: stream.kafka.topic.name."
    moved = consumption(*move).stderr.splitlines()
    assert moved[-1] == f"{table.table} is consuming from the new stream."
    table.produce(20, topic=new)
    table.wait_rows()
    recovered = consumption("recover", table.name).stderr
    assert "2. Resume and wait until every partition consumes." in recovered
    assert "Every partition" in consumption("recreate", table.name).stderr
    assert "commit 1 consuming segment" in consumption("reset", table.name).stderr.lower()
    refused = consumption.error("drain", table.name, "--until", "smallest", code=2)
    assert "contains no offsets" in refused
    drained = consumption("drain", table.name, "--output", "json")
    assert "the table stays paused" in drained.stderr
    report = json.loads(drained.stdout)
    assert (report["table"], report["changed"], report["ends"]) == (table.table, True, {"0": 20})
    assert len(report["steps"]) == len(drained.stderr.splitlines())


def test_operations_on_a_consuming_table(make_stream_table: MakeTable, run: Run) -> None:
    table = make_stream_table(partitions=2, rows=20)
    found = run.read("table", "consuming", table.name)
    assert [(each["state"], each["offset"]) for each in found] == [("consuming", "20")] * 2
    size = run.read("table", "size", table.name)
    assert size["missing_segments"] == sorted(each["segment"] for each in found)
    reloaded = run.read("table", "reload", table.name)
    assert (reloaded["replicas"], reloaded["consuming_replicas"]) == (0, 2)
    # Since Pinot 1.0 the reload commits these segments, and new ones consume.
    plan = run.read("table", "rebalance", table.name, "--include-consuming", "--dry-run")
    assert plan["moves"] == []
    assert plan["segments"] >= 2
