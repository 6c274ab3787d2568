"""A table of several topics (Pinot 1.4 and later): each partition belongs to the right topic."""

from __future__ import annotations

import pytest

from controller_client.consumption import PartitionState, TableState, pause, resume
from controller_client.consumption.change_stream import change_stream
from controller_client.consumption.draining import drain
from controller_client.consumption.offset_jumps import OffsetJump
from controller_client.errors import ConfigError, RejectedError
from controller_client.rest.capabilities import Capability
from controller_client.rest.consumption import ConsumeFrom
from controller_client.stream.topics import TopicPartition
from tests.integration.consumption.conftest import MakeTable
from tests.support.needs import needs

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_KEY = "stream.kafka.topic.name"


@needs(Capability.SEVERAL_TOPICS, raises=RejectedError, match="Only 1 stream is supported")
def test_the_partitions_of_two_topics(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=2, further_topics=1)
    control = table.control()
    first, second = table.topics
    table.produce(30)
    table.produce(20, topic=second)
    table.wait_rows()

    pause(control, timeout_s=300)
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
        resume(control, consume_from={2: 0}, timeout_s=300)
    with pytest.raises(RejectedError, match="partition 10000 of the stream does not have the offset 30"):
        resume(control, consume_from={10_000: 30}, timeout_s=300)
    with pytest.raises(ConfigError, match="has 2 stream configs"):
        change_stream(
            control, {_KEY: "x"}, consume_from=ConsumeFrom.SMALLEST, timeout_s=300, report=lambda _line: None
        )
    assert control.ideal().flags.table_paused, "nothing was changed"

    # The last five rows of one partition are skipped, those of the other topic are not.
    result = resume(control, consume_from={10_001: 25}, timeout_s=300)
    assert result.jumps == (OffsetJump(10_001, "20", "25"),)
    ends = drain(control, until=None, timeout_s=300, report=lambda _line: None)
    assert ends == {0: 30, 1: 30, 10_000: 25, 10_001: 25}
    assert table.counts()[0] == 30 + 30 + 25 + 20
    states = {each.state for each in control.status().partitions}
    assert states == {PartitionState.PAUSED}
