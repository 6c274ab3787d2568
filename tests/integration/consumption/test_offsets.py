"""Where consumption resumes: at the old offset, a given one, or the first in the stream; ages of rows."""

from __future__ import annotations

import time
import uuid

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public by its documents
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from controller_client.consumption import ConsumeFrom, TableState, pause, resume
from controller_client.consumption.pauses.offset_jumps import OffsetJump
from controller_client.errors import ConflictError, NotFoundError, RejectedError
from controller_client.stream.config import StreamConfig
from controller_client.stream.expiry import open_ages
from tests.integration.consumption.conftest import MakeTable
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic, wait_for_setting
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.kafka]


@pytest.mark.cluster
def test_partitions_resume_at_given_offsets_or_the_first_that_the_stream_has(
    make_stream_table: MakeTable,
) -> None:
    table = make_stream_table(partitions=3, rows=40)
    control = table.control()
    with pytest.raises(ConflictError, match="is not paused"):
        resume(control, consume_from={0: 0})
    pause(control)
    with pytest.raises(RejectedError, match="no partition 7"):
        resume(control, consume_from={7: 0})
    with pytest.raises(RejectedError, match="does not have the offset 41"):
        resume(control, consume_from={0: 41})
    numbers = table.produce(30)
    # Partition 0 has every third row; its first ten are dropped.
    table.topic.drop_before({0: 50})
    table.produced -= set(numbers[0::3][:10])
    assert [each.lost for each in control.status().partitions] == [(40, 50), None, None]
    # Without reading the stream its offsets are unknown, so Pinot decides.
    result = resume(table.control(watch_stream=False), consume_from={1: 10, 2: 40})
    assert result.jumps == (OffsetJump(0, "40", "50"), OffsetJump(1, "40", "10"))
    assert str(result.jumps[0]) == "partition 0 resumed at offset 50; 10 offsets not in the table: 40 to 49"
    rows = len(table.produced)
    wait_for(lambda: table.counts()[:2] == (rows + 30, rows), "the 30 rows that are read again")
    states = control.ideal().segments
    assert not [name for name in states if not states[name]]
    assert "OFFLINE" not in {state for each in states.values() for state in each.values()}


@pytest.mark.cluster
@FULL  # what is refused: tests/unit/controller_client/consumption/test_stream.py
def test_a_recreated_topic_is_not_read_from_the_old_offset(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=2, rows=40)
    control = table.control()
    pause(control)
    table.topic.delete()
    table.topics.remove(table.topic)

    def recreated() -> bool:
        try:
            table.topic = Topic(table.kafka.bootstrap, table.name, 2)
        except KafkaException:
            return False
        table.topics.append(table.topic)
        return True

    wait_for(recreated, "the old topic to be gone")
    table.produce(10)
    assert [each.ahead for each in control.status().partitions] == [True, True]
    with pytest.raises(RejectedError, match=r"partition 0 ends at 10, but the table would resume at 40"):
        resume(control)
    assert control.status().state is TableState.PAUSED
    resume(control, consume_from=ConsumeFrom.SMALLEST)
    table.wait_rows()

    # Rows that the stream dropped during a pause are reported, and nothing is refused.
    pause(control)
    numbers = table.produce(30)
    table.topic.drop_before({0: 20})
    table.produced -= set(numbers[0::2][:10])
    assert resume(control).jumps == (OffsetJump(0, "10", "20"),)
    table.wait_rows()

    pause(control)
    before = table.counts()
    table.produce(5)
    result = resume(control, consume_from=ConsumeFrom.LARGEST)
    assert [(each.partition, each.missing) for each in result.jumps] == [(0, 5), (1, 5)]
    assert table.counts() == before


_HOUR_S = 3600


def stream(kafka: Kafka, topic: str) -> StreamConfig:
    values = {"stream.kafka.topic.name": topic, "stream.kafka.broker.list": kafka.bootstrap}
    return StreamConfig({"streamType": "kafka", **values})


def configure(kafka: Kafka, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(60)
    wait_for_setting(admin, topic, name, value)


def test_rows_expire_by_the_topics_retention_time(kafka: Kafka) -> None:
    topic = Topic(kafka.bootstrap, f"ages-{uuid.uuid4().hex[:8]}", 2)
    try:
        configure(kafka, topic.name, "retention.ms", str(10 * _HOUR_S * 1000))
        topic.produce({0: [{"a": 1}, {"a": 2}, {"a": 3}]})
        ages, now_s = open_ages(stream(kafka, topic.name)), time.time()
        assert ages.read()[0].latest == 3
        assert ages.expiring_until(now_s) == {0: 0, 1: 0}
        # Rows count as expiring after eight of the ten hours.
        assert ages.expiring_until(now_s + 7 * _HOUR_S) == {0: 0, 1: 0}
        assert ages.expiring_until(now_s + 9 * _HOUR_S) == {0: 3, 1: 0}
        configure(kafka, topic.name, "retention.ms", "-1")
        assert ages.expiring_until(now_s + 9 * _HOUR_S) is None
    finally:
        topic.delete()
    with pytest.raises(NotFoundError):
        open_ages(stream(kafka, "no-such-topic")).expiring_until(time.time())
