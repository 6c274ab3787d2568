"""Pauses that Pinot itself makes (1.3 and later), and pauses of single topics (1.5)."""

from __future__ import annotations

import logging

import pytest
import requests

from controller_client.consumption import PartitionState, TableState, force_commit, pause, resume
from controller_client.errors import RejectedError
from controller_client.models import TableConfig
from controller_client.rest.capabilities import Capability
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import StreamTable
from tests.support.cluster import PinotCluster
from tests.support.needs import Need, inside, needs
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]


def _check(pinot: PinotCluster, table: StreamTable) -> None:
    """Run the controller's hourly check of the table."""
    requests.get(
        f"{pinot.controller_url}/periodictask/run",
        params={
            "taskname": "RealtimeSegmentValidationManager",
            "tableName": table.name,
            "type": "REALTIME",
        },
        timeout=30,
    ).raise_for_status()


def _set_quota(table: StreamTable, storage: str) -> None:
    document = table.client.tables.get(table.table).to_json()
    table.client.tables.update(TableConfig.from_json({**document, "quota": {"storage": storage}}))


@inside(Need.PAUSE_STATE)
def test_a_table_that_pinot_pauses_for_its_quota(
    make_stream_table: MakeTable, pinot: PinotCluster, caplog: pytest.LogCaptureFixture
) -> None:
    table = make_stream_table(partitions=1)
    control = table.control()
    table.produce(500)
    table.wait_rows()
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
        resume(control, timeout_s=300)
    with caplog.at_level(logging.WARNING):
        assert not pause(control, timeout_s=300)
    assert "is paused by Pinot itself (STORAGE_QUOTA_EXCEEDED)" in caplog.text
    assert control.status().pinot_pause == found, "nobody has changed it"

    _set_quota(table, "1G")

    def lifted() -> bool:
        _check(pinot, table)
        return not control.ideal().flags.table_paused

    wait_for(lifted, "Pinot to resume the table", interval_s=2)
    assert resume(control, timeout_s=300).jumps == ()
    table.produce(50)
    table.wait_rows()


@needs(Capability.PAUSE_TOPICS, raises=RejectedError, match="Only 1 stream is supported")
def test_a_single_paused_topic(make_stream_table: MakeTable, pinot: PinotCluster) -> None:
    table = make_stream_table(partitions=1, further_topics=1)
    control = table.control()
    first, second = table.topics
    table.produce(30)
    table.produce(20, topic=second)
    table.wait_rows()
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
    pause(control, timeout_s=300)
    assert control.status().state is TableState.PAUSED
    assert resume(control, timeout_s=300).jumps == ()
    assert {each.partition: each.state for each in control.status().partitions} == states
    table.produce(10, topic=second)
    table.produce(10)
    wait_for(lambda: table.counts()[0] == 60, "the rows of the first topic alone")

    requests.post(f"{url}/resumeTopicConsumption?topicIndices=1", timeout=30).raise_for_status()
    table.wait_rows()
    assert control.status().paused_topics == {}
    assert first.name != second.name
