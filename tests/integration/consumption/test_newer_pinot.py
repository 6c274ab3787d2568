"""What newer versions of Pinot have: several topics, pauses by Pinot itself, databases, refused commits."""

from __future__ import annotations

import logging
import uuid
from pathlib import Path

import pytest
import requests

from controller_client.consumption import PartitionState, TableState, force_commit, pause, resume
from controller_client.consumption.pauses.offset_jumps import OffsetJump
from controller_client.consumption.recipes.change_stream import change_stream
from controller_client.consumption.recipes.draining import drain
from controller_client.consumption.recipes.recovering import recover
from controller_client.consumption.state.pause_record import read_record
from controller_client.errors import ConfigError, RejectedError
from controller_client.models import TableConfig
from controller_client.rest.capabilities import Capability
from controller_client.rest.consumption import ConsumeFrom
from controller_client.stream.topics import TopicPartition
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import StreamTable, quietly
from tests.integration.pinotctl.conftest import Run
from tests.support.cluster import PinotCluster
from tests.support.needs import Need, inside, needs
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_KEY = "stream.kafka.topic.name"


def _on_two_topics(make: MakeTable, partitions: int) -> StreamTable:
    """Return a table that has read 30 rows of each partition of one topic, and 20 of the other one."""
    table = make(partitions=partitions, further_topics=1)
    table.produce(30)
    table.produce(20, topic=table.topics[1])
    table.wait_rows()
    return table


@needs(Capability.SEVERAL_TOPICS, raises=RejectedError, match="Only 1 stream is supported")
def test_the_partitions_of_two_topics(make_stream_table: MakeTable) -> None:
    table = _on_two_topics(make_stream_table, 2)
    control = table.control()
    first, second = table.topics

    pause(control)
    table.produce(5, topic=second)
    status = control.status()
    assert status.state is TableState.PAUSED
    seen = {each.partition: each for each in status.partitions}
    assert {number: (each.topic_partition, each.offset, each.lag) for number, each in seen.items()} == {
        0: (TopicPartition(first.name, 0), "30", 0),
        1: (TopicPartition(first.name, 1), "30", 0),
        10_000: (TopicPartition(second.name, 0), "20", 5),
        10_001: (TopicPartition(second.name, 1), "20", 5),
    }
    with pytest.raises(RejectedError, match="has no partition 2"):
        resume(control, consume_from={2: 0})
    with pytest.raises(RejectedError, match="partition 10000 of the stream does not have the offset 30"):
        resume(control, consume_from={10_000: 30})
    with pytest.raises(ConfigError, match="has 2 stream configs"):
        change_stream(control, {_KEY: "x"}, consume_from=ConsumeFrom.SMALLEST, **quietly())
    assert control.ideal().flags.table_paused, "nothing was changed"

    # The last five rows of one partition are skipped, those of the other topic are not.
    result = resume(control, consume_from={10_001: 25})
    assert result.jumps == (OffsetJump(10_001, "20", "25"),)
    ends = drain(control, until=None, **quietly())
    assert ends == {0: 30, 1: 30, 10_000: 25, 10_001: 25}
    assert table.counts()[0] == 30 + 30 + 25 + 20
    states = {each.state for each in control.status().partitions}
    assert states == {PartitionState.PAUSED}


def _check(pinot: PinotCluster, table: StreamTable) -> None:
    """Run the controller's hourly check of the table."""
    check = {"taskname": "RealtimeSegmentValidationManager", "tableName": table.name, "type": "REALTIME"}
    url = f"{pinot.controller_url}/periodictask/run"
    requests.get(url, params=check, timeout=30).raise_for_status()


def _set_quota(table: StreamTable, storage: str) -> None:
    document = table.client.tables.get(table.table).to_json()
    table.client.tables.update(TableConfig.from_json({**document, "quota": {"storage": storage}}))


@inside(Need.PAUSE_STATE)
def test_a_table_that_pinot_pauses_for_its_quota(
    make_stream_table: MakeTable, pinot: PinotCluster, caplog: pytest.LogCaptureFixture
) -> None:
    table = make_stream_table(partitions=1, rows=500)
    control = table.control()
    force_commit(control, timeout_s=300)
    _set_quota(table, "1K")

    def paused() -> bool:
        _check(pinot, table)
        return control.ideal().flags.table_paused

    wait_for(paused, "Pinot to pause the table", interval_s=2)
    wait_for(lambda: control.status().state is TableState.PAUSED, "the pause to be finished")
    found = control.status().pinot_pause
    assert found is not None
    assert (found.reason_code, found.comment) == ("STORAGE_QUOTA_EXCEEDED", "Storage quota of 1K exceeded.")
    with pytest.raises(RejectedError, match=r"Pinot itself has paused .*: STORAGE_QUOTA_EXCEEDED"):
        resume(control)
    with caplog.at_level(logging.WARNING):
        assert not pause(control)
    assert "is paused by Pinot itself (STORAGE_QUOTA_EXCEEDED)" in caplog.text
    assert control.status().pinot_pause == found, "nobody has changed it"

    _set_quota(table, "1G")

    def lifted() -> bool:
        _check(pinot, table)
        return not control.ideal().flags.table_paused

    wait_for(lifted, "Pinot to resume the table", interval_s=2)
    assert resume(control).jumps == ()
    table.produce(50)
    table.wait_rows()


@needs(Capability.PAUSE_TOPICS, raises=RejectedError, match="Only 1 stream is supported")
def test_a_single_paused_topic(make_stream_table: MakeTable, pinot: PinotCluster) -> None:
    table = _on_two_topics(make_stream_table, 1)
    control = table.control()
    first, second = table.topics
    url = f"{pinot.controller_url}/tables/{table.table}"
    requests.post(f"{url}/pauseTopicConsumption?topicIndices=1", timeout=30).raise_for_status()
    states = {0: PartitionState.CONSUMING, 10_000: PartitionState.PAUSED}
    wait_for(
        lambda: {each.partition: each.state for each in control.status().partitions} == states,
        "the topic to be paused",
    )
    status = control.status()
    assert (status.state, status.paused_topics) == (TableState.CONSUMING, {1: second.name})
    assert not resume(control, timeout_s=60).changed

    # The two pauses are independent.
    pause(control)
    assert control.status().state is TableState.PAUSED
    assert resume(control).jumps == ()
    assert {each.partition: each.state for each in control.status().partitions} == states
    table.produce(10, topic=second)
    table.produce(10)
    wait_for(lambda: table.counts()[0] == 60, "the rows of the first topic alone")

    requests.post(f"{url}/resumeTopicConsumption?topicIndices=1", timeout=30).raise_for_status()
    table.wait_rows()
    assert control.status().paused_topics == {}
    assert first.name != second.name


@needs(Capability.DATABASES, raises=RejectedError, match="containing '.' is not allowed")
def test_a_table_of_a_database(make_stream_table: MakeTable, run: Run, tmp_path: Path) -> None:
    table = make_stream_table(partitions=2, database=f"db_{uuid.uuid4().hex[:8]}", rows=30)
    control = table.control()
    assert table.table in table.client.tables.list("REALTIME")
    assert table.name in table.client.tables.list()
    assert table.name in table.client.schemas.list()
    pause(control, reason="test")
    status = control.status()
    assert status.state is TableState.PAUSED
    assert [each.reason for each in status.holders] == ["test"]
    table.produce(5)
    assert resume(control, consume_from={0: 20}).jumps != ()
    resume(control)

    (shown,) = run.read("consumption", "status", table.name)
    assert shown["table"] == table.table
    run.error("consumption", "reset", f"default.{table.name}")
    run("consumption", "reset", table.table)
    audit = run.read("deepstore", "audit", table.name, "--min-copies", "1", "--read-tars")
    assert (audit["segments"] >= 2, audit["faulty_segments"]) == (True, 0)
    names = [name for name in table.client.segments.list(table.table) if "__0__0__" in name]
    run("segment", "fetch", table.name, names[0], "--to", str(tmp_path), "--unpack")
    assert (tmp_path / names[0]).is_dir()
    assert names[0].startswith(f"{table.name}__")
    # One partition read 15 rows again or for the first time, the other 5.
    wait_for(lambda: table.counts()[0] == 60 + 15 + 5, "all rows")
    assert "80" in run("query", f'select count(*) from "{table.name}"').stdout


@inside(Need.COMMITS_REFUSED)
def test_a_partial_upsert(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=1, own={"upsertConfig": {"mode": "PARTIAL"}}, rows=20)
    control = table.control()
    for call in (
        lambda: pause(control, timeout_s=30),
        lambda: force_commit(control, timeout_s=30),
        lambda: recover(control, **quietly(30)),
    ):
        with pytest.raises(RejectedError, match=f"Pinot refuses forced commits of {table.table}") as refused:
            call()
        assert "pinot.server.consuming.segment.consistency.mode to PROTECTED" in str(refused.value)
    assert control.status().state is TableState.CONSUMING
    assert read_record(table.store, table.table) is None
    assert [text.partition(":")[0] for text in control.upsert_warnings()] == ["partial upsert"] * 2
