"""Recipes on a real cluster."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import pytest

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.consumption import ConsumeFrom, PartitionState, ResumeResult, TableState, pause, resume
from controller_client.consumption.recipes.change_stream import change_stream
from controller_client.consumption.recipes.draining import drain
from controller_client.consumption.recipes.plan import read_plan
from controller_client.consumption.recipes.recovering import recover, recreate, reset
from controller_client.errors import (
    ConfigError,
    ConflictError,
    NotFoundError,
    PartialResultError,
    RejectedError,
    WaitTimeoutError,
)
from controller_client.models import Schema
from controller_client.rest.delete_risks import DeleteRisk
from controller_client.stream.config import StreamConfig, with_stream
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import SECRET_KEY, quietly, secret_value
from tests.support.cluster import PinotCluster
from tests.support.faulty_http import FaultyHttp
from tests.support.scheduling import DISTURBS
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_TOPIC = "stream.kafka.topic.name"
_BROKERS = "stream.kafka.broker.list"
_DECODER = "stream.kafka.decoder.class.name"


def test_the_stream_of_a_live_table_moves_to_another_topic(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=2, replicas=2, rows=30)
    control = table.control()
    new = table.new_topic(3)
    table.wait_read(30)
    reported: list[str] = []
    change = {_TOPIC: new.name, SECRET_KEY: secret_value("new-secret")}

    def move(
        changes: dict[str, str], start: ConsumeFrom | None = None, **options: Any
    ) -> ResumeResult | None:
        return change_stream(
            control, changes, consume_from=start, timeout_s=300, report=reported.append, **options
        )

    with pytest.raises(ConfigError, match="no change of the stream config"):
        move({}, ConsumeFrom.SMALLEST)
    with pytest.raises(ConfigError, match="no position to start from"):
        move(change)
    with pytest.raises(NotFoundError, match="the topic nope does not exist"):
        move({_TOPIC: "nope"}, ConsumeFrom.SMALLEST)
    assert move(change, ConsumeFrom.SMALLEST, dry_run=True) is None
    assert control.status().state is TableState.CONSUMING
    assert read_plan(table.store, table.table) is None

    # Rows from before, during and after the move; later rows of the old topic are not in the table.
    table.produce(20, topic=new)
    move(change, ConsumeFrom.SMALLEST)
    table.partitions = 3
    table.produce(20, topic=new)
    table.wait_rows()
    sql = f"select source, count(*) from {table.name} group by source order by count(*)"
    sources = table.broker.query(sql, timeout_s=20).rows
    assert [(row[0], int(row[1])) for row in sources] == [(table.name, 60), (new.name, 100)]
    assert StreamConfig.of(table.client.tables.get(table.table)).topic == new.name
    table.settled()
    assert read_plan(table.store, table.table) is None
    assert move(change) == ResumeResult(changed=False), "already has these values"
    assert "old-secret" not in str(table.client.tables.get(table.table).to_json()), "kept only for an undo"
    assert not [line for line in reported if "-secret" in line]


@FULL  # half a minute or more of waiting for Pinot; tests/unit/controller_client/consumption/test_undo.py
@pytest.mark.parametrize(
    ("change", "timeout_s", "words"),
    [
        # No broker: the controller cannot read offsets, so it creates no segments. While it tries, for
        # minutes on 1.x, it resumes no other table.
        pytest.param(
            {_BROKERS: "127.0.0.1:1"}, 10.0, "no consuming segment for the partitions 0, 1", marks=DISTURBS
        ),
        # Servers cannot decode it, so the first segments after the change go to ERROR.
        ({_DECODER: "no.such.Decoder"}, 60.0, "could not be read"),
    ],
)
def test_a_stream_that_cannot_be_read_is_undone(
    make_stream_table: MakeTable, change: dict[str, str], timeout_s: float, words: str
) -> None:
    table = make_stream_table(partitions=2, rows=30)
    control = table.control(watch_stream=False)
    with pytest.raises(RejectedError, match=words) as caught:
        change_stream(
            control,
            {**change, SECRET_KEY: secret_value("new-secret")},
            consume_from=ConsumeFrom.SMALLEST,
            **quietly(timeout_s),
        )
    assert "so the old one was restored" in str(caught.value)
    assert control.status().state is TableState.CONSUMING
    assert read_plan(table.store, table.table) is None
    config = str(table.client.tables.get(table.table).to_json())
    assert ("old-secret" in config, "new-secret" in config) == (True, False)
    table.produce(30)
    table.wait_rows()


@FULL  # lost replies of pauses and resumes: tests/unit/controller_client/consumption/test_pausing.py
def test_the_reply_to_the_new_config_is_lost(make_stream_table: MakeTable, pinot: PinotCluster) -> None:
    table = make_stream_table(partitions=2, rows=20)
    new, path = table.new_topic(2), f"tables/{table.table}"
    table.produce(20, topic=new)
    with FaultyHttp(pinot.controller_url) as proxy, ControllerClient(ControllerConfig(proxy.url)) as client:
        proxy.drop_reply("PUT", path)
        change_stream(
            table.control(client), {_TOPIC: new.name}, consume_from=ConsumeFrom.SMALLEST, **quietly()
        )
        assert proxy.count("PUT", path) == 1, "the config was not sent again"
    table.wait_rows()


@FULL  # test_cli.py: the recipes drain a table
def test_a_finite_stream_is_read_to_its_end(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=2)
    control = table.control()
    table.produce(500)
    assert drain(control, until=None, dry_run=True, **quietly()) == {0: 500, 1: 500}
    assert drain(control, until=None, **quietly()) == {0: 500, 1: 500}
    status = control.status()
    found = [(each.state, each.committed_offset) for each in status.partitions]
    assert found == [(PartitionState.PAUSED, "500")] * 2
    assert [each.reason for each in status.holders] == ["drained"]
    table.wait_rows()
    resume(control)
    with pytest.raises(WaitTimeoutError, match="partition 0 at 500 of 501"):
        drain(control, until={0: 501}, **quietly(0.5))
    with pytest.raises(ConflictError, match="the recipe drain is in progress"):
        change_stream(control, {_TOPIC: "other"}, consume_from=ConsumeFrom.SMALLEST, **quietly(1))
    table.produce(1)
    assert drain(control, until=None, **quietly()) == {0: 501}
    table.wait_rows()


def test_deleted_consuming_segments_are_recreated(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=2, rows=20)
    control = table.control()
    reported: list[str] = []
    pause(control)
    resume(control)
    assert not recreate(control, **quietly()).changed
    table.produce(20)
    table.wait_rows()
    # One that followed a committed one. Its 20 rows are read again from the stream.
    gone = min(control.ideal().consuming)
    table.client.segments.delete(table.table, [gone], accept=[DeleteRisk.CONSUMING])
    table.client.segments.wait_gone(table.table, [gone], 60)
    states = [each.state for each in control.status().partitions]
    assert states == [PartitionState.STOPPED, PartitionState.CONSUMING]
    assert recreate(control, timeout_s=300, report=reported.append).changed
    assert reported[-1] == "create a segment for partition 0 from 20"
    table.wait_rows()


def test_a_segment_in_error_is_recovered_with_a_new_column(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=2, rows=20)
    control = table.control()
    # Servers cannot start the next segments: they go to ERROR, and stay there after the config is fixed.
    good = table.client.tables.get(table.table)
    table.client.tables.update(
        with_stream(good, StreamConfig.of(good).changed({_DECODER: "no.such.Decoder"}))
    )
    table.client.consumption.force_commit(table.table)
    wait_for(lambda: len(control.status().in_state(PartitionState.FAILED)) == 2, "both partitions to fail")
    table.client.tables.update(good)
    schema = table.client.schemas.get(table.name).to_json()
    schema["dimensionFieldSpecs"].append({"name": "extra", "dataType": "STRING"})
    table.client.schemas.update(Schema.from_json(schema))
    recover(control, reload=True, **quietly())
    assert control.status().state is TableState.CONSUMING
    first = max(table.produced) + 1
    table.topic.produce({0: [{"number": first, "source": "x", "extra": "new", "ts": 1_700_000_000_000}]})
    table.produced.add(first)
    table.wait_rows()

    def extra() -> list[tuple[str, int]]:
        sql = f"select extra, count(*) from {table.name} group by extra order by count(*)"
        return [(row[0], int(row[1])) for row in table.broker.query(sql, timeout_s=20).rows]

    wait_for(lambda: extra() == [("new", 1), ("null", 40)], "the new column in all segments")


@FULL  # test_cli.py: the recipes reset a table
def test_a_reset_leaves_all_rows_queryable(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=2, replicas=2, rows=50)
    control = table.control()
    table.wait_read(50)
    seen: list[int] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            # An answer is whole or an error, as while a broker knows a new segment that no server has yet.
            with suppress(PartialResultError):
                seen.append(table.counts()[0])

    reader = threading.Thread(target=read)
    reader.start()
    try:
        committed = reset(control, **quietly())
    finally:
        stop.set()
        reader.join()
    assert len(committed) == 2
    assert set(seen) == {100}
    assert not set(committed) & control.ideal().consuming.keys()
    table.produce(50)
    table.wait_rows()
