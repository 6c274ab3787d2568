"""Where consumption resumes: at the old offset, at a given one, or at the first that the stream still has."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException

from controller_client.consumption import ConsumeFrom, TableState, pause, resume
from controller_client.consumption.offset_jumps import OffsetJump
from controller_client.errors import ConflictError, RejectedError
from tests.integration.consumption.conftest import MakeTable
from tests.support.kafka_topics import Topic
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]


def test_offsets_that_the_stream_dropped_are_reported(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=2)
    control = table.control()
    table.produce(40)
    table.wait_rows()
    pause(control, timeout_s=300)
    numbers = table.produce(30)
    # Partition 0 has every second row; its first ten are dropped.
    table.topic.drop_before({0: 50})
    table.produced -= set(numbers[0::2][:10])
    assert [each.lost for each in control.status().partitions] == [(40, 50), None]
    result = resume(control, timeout_s=300)
    assert result.jumps == (OffsetJump(0, "40", "50"),)
    assert str(result.jumps[0]) == "partition 0 resumed at offset 50; 10 offsets not in the table: 40 to 49"
    table.wait_rows()


def test_partitions_resume_at_given_offsets(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=3)
    control = table.control()
    table.produce(40)
    table.wait_rows()
    with pytest.raises(ConflictError, match="is not paused"):
        resume(control, consume_from={0: 0})
    pause(control, timeout_s=300)
    with pytest.raises(RejectedError, match="no partition 7"):
        resume(control, consume_from={7: 0})
    with pytest.raises(RejectedError, match="does not have the offset 41"):
        resume(control, consume_from={0: 41})
    # Without reading the stream its offsets are unknown, so Pinot decides.
    result = resume(table.control(watch_stream=False), consume_from={0: 10, 1: 40}, timeout_s=300)
    assert result.jumps == (OffsetJump(0, "40", "10"),)
    wait_for(lambda: table.counts()[:2] == (150, 120), "the 30 rows that are read again")
    assert not [name for name in control.ideal().segments if not control.ideal().segments[name]]
    assert "OFFLINE" not in {state for each in control.ideal().segments.values() for state in each.values()}

    pause(control, timeout_s=300)
    table.produce(10)
    result = resume(control, consume_from=ConsumeFrom.LARGEST, timeout_s=300)
    assert [(each.partition, each.missing) for each in result.jumps] == [(0, 10), (1, 10), (2, 10)]
    assert table.counts()[:2] == (150, 120)


def test_a_recreated_topic_is_not_read_from_the_old_offset(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=2)
    control = table.control()
    table.produce(40)
    table.wait_rows()
    pause(control, timeout_s=300)
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
        resume(control, timeout_s=300)
    assert control.status().state is TableState.PAUSED
    resume(control, consume_from=ConsumeFrom.SMALLEST, timeout_s=300)
    table.wait_rows()
