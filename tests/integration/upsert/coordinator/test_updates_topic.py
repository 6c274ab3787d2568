"""The updates topic on real Kafka: created, extended and written."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public by its documents
    AdminClient,
    NewTopic,
)

from controller_client.clock import Clock, SystemClock
from controller_client.errors import ConfigError, ConflictError, SourceError
from controller_client.stream.config import StreamConfig
from controller_client.upsert.columns import NIL
from controller_client.upsert.update_message import Events, VersionEnd, VersionRecord, decode
from controller_client.upsert.version_ends import VersionEnds
from key_coordinator.sent_versions import SentVersions
from key_coordinator.topic_settings import FOREVER_MS, TopicSettings
from key_coordinator.updates_topic import UpdatesWriter
from tests.integration.upsert.coordinator.topics import read_topic
from tests.support.kafka import Kafka
from tests.support.kafka_topics import topic_setting, wait_for_setting
from tests.support.wait import wait_for
from tests.unit.fake_clock import FakeClock

pytestmark = [pytest.mark.kafka]

_TIMEOUT_S = 300.0
_RETENTION_MS = 3_600_000
_DAY_MS = 24 * _RETENTION_MS


def _settings(
    stream: StreamConfig,
    name: str,
    needed_ms: Callable[[], int] = lambda: _RETENTION_MS,
    clock: Clock | None = None,
    notes: list[str] | None = None,
) -> TopicSettings:
    noted = [] if notes is None else notes
    return TopicSettings(
        stream, name, needed_ms=needed_ms, replication=1, clock=clock or SystemClock(), note=noted.append
    )


def _is_known(admin: AdminClient, name: str) -> bool:
    """Whether the broker answers for a topic, which it does a moment after it was created."""
    try:
        return bool(topic_setting(admin, name, "retention.ms"))
    except KafkaException:
        return False


def test_it_is_created_extended_and_read_back(kafka: Kafka) -> None:
    name = f"updates_{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    stream = StreamConfig({"stream.kafka.broker.list": kafka.bootstrap})
    many = np.arange(120_000)
    with UpdatesWriter(stream, name, _settings(stream, name)) as topic, SentVersions(stream, name) as sent:
        assert sent.newest() == NIL
        # Written immediately after each change: messages for a new partition are accepted.
        for version, partitions in enumerate((2, 3, 7)):
            assert topic.ensure(partitions) == partitions
            everywhere = {each: Events(version, many, many % 3 == 0) for each in range(partitions)}
            topic.send_events(everywhere)
            assert sent.newest() == version
            topic.send_ends({each: VersionEnd(version, 0, 5, 9) for each in range(partitions)})
        assert topic.ensure(1) == 7
        assert topic_setting(admin, name, "retention.ms") == str(_RETENTION_MS + _DAY_MS)
        assert topic_setting(admin, name, "min.insync.replicas") == "1"
        found = [decode(message.value or b"", where=name) for message in read_topic(kafka.bootstrap, name)]
        assert sum(len(each.offsets) for each in found if isinstance(each, Events)) == 12 * len(many)
        assert sum(isinstance(each, VersionEnd) for each in found) == 12
    admin.delete_topics([name])[name].result(_TIMEOUT_S)


def test_its_retention_follows_the_table_and_is_never_shortened(kafka: Kafka) -> None:
    name = f"updates_{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    stream = StreamConfig({"stream.kafka.broker.list": kafka.bootstrap})
    notes: list[str] = []
    needed_ms, clock = [_RETENTION_MS], FakeClock(0)
    settings = _settings(stream, name, lambda: needed_ms[0], clock, notes)
    settings.check()  # there is no topic yet
    # As a release before this one created it, on brokers that limit the size of topics.
    config = {"retention.ms": str(_RETENTION_MS), "retention.bytes": "1000000"}
    admin.create_topics([NewTopic(name, 1, 1, config=config)])[name].result(_TIMEOUT_S)
    wait_for(lambda: _is_known(admin, name), "the topic", _TIMEOUT_S)
    settings.check()
    assert not notes, "it looked again within a minute"
    clock.sleep(61)
    settings.check()
    wait_for_setting(admin, name, "retention.ms", str(_RETENTION_MS + _DAY_MS))
    wait_for_setting(admin, name, "retention.bytes", "-1")
    for days, kept_days in ((30, 36), (10, 36), (40, 48)):
        needed_ms[0] = days * _DAY_MS
        clock.sleep(61)
        settings.check()
        wait_for_setting(admin, name, "retention.ms", str(kept_days * _DAY_MS))
    assert len(notes) == 3
    assert f"retention.ms from {36 * _DAY_MS} to {48 * _DAY_MS} of the topic {name}" in notes[-1]
    needed_ms[0] = FOREVER_MS
    clock.sleep(61)
    settings.check()
    wait_for_setting(admin, name, "retention.ms", "-1")
    admin.delete_topics([name])[name].result(_TIMEOUT_S)


def test_a_compacted_topic_and_strange_messages_are_refused(kafka: Kafka) -> None:
    from confluent_kafka import Producer

    compacted, strange = (f"updates_{uuid.uuid4().hex[:8]}" for _ in range(2))
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    policies = {compacted: "compact", strange: "delete"}
    new = [NewTopic(name, 1, 1, config={"cleanup.policy": policy}) for name, policy in policies.items()]
    for made in admin.create_topics(new).values():
        made.result(_TIMEOUT_S)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(strange, b"hello")
    assert producer.flush(_TIMEOUT_S) == 0
    stream = StreamConfig({"stream.kafka.broker.list": kafka.bootstrap})
    with pytest.raises(ConfigError, match="compact"):
        _settings(stream, compacted).ensure(1)
    with SentVersions(stream, strange) as sent, pytest.raises(SourceError, match="not an update message"):
        sent.newest()
    for gone in admin.delete_topics([compacted, strange]).values():
        gone.result(_TIMEOUT_S)


def test_a_version_is_visible_completely_or_not_at_all(kafka: Kafka) -> None:
    name = f"updates_{uuid.uuid4().hex[:8]}"
    stream = StreamConfig({"stream.kafka.broker.list": kafka.bootstrap})

    def version(number: int) -> tuple[dict[int, Events], dict[int, VersionEnd], VersionRecord]:
        events = {
            each: Events(number, np.arange(3) + number, np.array([True, False, True])) for each in (0, 1)
        }
        ends = {each: VersionEnd(number, number, number + 1, 5) for each in (0, 1)}
        return events, ends, VersionRecord(number, 2, {0: number + 1, 1: number + 1}, {0: 0, 1: number})

    with (
        UpdatesWriter(stream, name, _settings(stream, name), name) as first,
        UpdatesWriter(stream, name, _settings(stream, name), name) as second,
        SentVersions(stream, name) as sent,
    ):
        first.ensure(2)
        first.fence()
        offsets = [first.send_version(*version(number)) for number in range(3)]
        second.ensure(2)
        second.fence()
        with pytest.raises(ConflictError, match="another key coordinator now writes"):
            first.send_version(*version(3))
        assert sent.newest() == 2
        offsets.append(second.send_version(*version(4)))
        assert sent.newest() == 4
        found = list(sent.records_after(0))
        assert [each.record for each in found] == [version(number)[2] for number in (0, 1, 2, 4)]
        assert [each.offset for each in found] == offsets
        assert [each.record.version for each in sent.records_after(offsets[1] + 1)] == [2, 4]
        assert list(sent.records_after(offsets[-1] + 1)) == []
    with closing(VersionEnds(stream, name)) as ends:
        assert [end.version if (end := ends.newest_up_to(each)) else None for each in (-1, 0, 3, 9)] == [
            None,
            0,
            2,
            4,
        ]
        assert ends._consumer.assignment() == [], "it fetches nothing between two reads"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.delete_topics([name])[name].result(_TIMEOUT_S)
