"""The stream config, positions to consume from, and the settings of Kafka's client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.consumption import ConsumeFrom
from controller_client.consumption.pauses.offsets import parse_consume_from, past_end
from controller_client.consumption.recipes.stream_change import StreamChange
from controller_client.errors import ConfigError
from controller_client.helix.stream_segments import read_partitions
from controller_client.models import TableConfig
from controller_client.stream.config import StreamConfig, with_stream
from controller_client.stream.offsets import (
    OffsetRange,
    StreamUnknownError,
    client_settings,
    open_offsets,
)
from controller_client.stream.topics import TopicPartition, open_table_offsets, topic_partition
from tests.unit.controller_client.consumption.worlds import TABLE, World

STREAM = {"streamType": "kafka", "stream.kafka.topic.name": "a", "stream.kafka.broker.list": "k:9092"}
OLD_PLACE: dict[str, Any] = {
    "tableName": TABLE,
    "tableType": "REALTIME",
    "tableIndexConfig": {"streamConfigs": STREAM, "loadMode": "MMAP"},
}
NEW_PLACE: dict[str, Any] = {
    "tableName": TABLE,
    "tableType": "REALTIME",
    "tableIndexConfig": {"loadMode": "MMAP"},
    "ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [STREAM]}, "x": 1},
}


@pytest.mark.parametrize("document", [OLD_PLACE, NEW_PLACE])
def test_the_stream_is_found_and_replaced_in_either_place(document: dict[str, Any]) -> None:
    table = TableConfig.from_json(document)
    stream = StreamConfig.of(table)
    assert (stream.stream_type, stream.topic) == ("kafka", "a")
    new = stream.changed({"stream.kafka.topic.name": "b", "stream.kafka.broker.list": None})
    assert stream.differences(new) == ["stream.kafka.broker.list", "stream.kafka.topic.name"]
    changed = with_stream(table, new)
    assert dict(StreamConfig.of(changed).values) == {"streamType": "kafka", "stream.kafka.topic.name": "b"}
    assert with_stream(changed, stream) == table, "everything else is unchanged"
    assert StreamConfig.of(table) == stream, "the given config is not changed"


def test_a_table_with_none_or_many_streams_is_refused() -> None:
    for read in (StreamConfig.of, StreamConfig.all_of):
        with pytest.raises(ConfigError, match="0 stream configs"):
            read(TableConfig.from_json({"tableName": TABLE, "tableType": "REALTIME"}))
    maps = {"streamIngestionConfig": {"streamConfigMaps": [STREAM, STREAM]}}
    with pytest.raises(ConfigError, match="2 stream configs"):
        StreamConfig.of(TableConfig.from_json({**OLD_PLACE, "ingestionConfig": maps}))


def test_the_streams_of_a_table_are_in_the_order_of_its_topics() -> None:
    other = {**STREAM, "stream.kafka.topic.name": "b"}
    maps = {"streamIngestionConfig": {"streamConfigMaps": [STREAM, other]}}
    table = TableConfig.from_json({**OLD_PLACE, "ingestionConfig": maps})
    streams = StreamConfig.all_of(table)
    assert [each.topic for each in streams] == ["a", "b"]
    found = {number: topic_partition(streams, number) for number in (0, 9_999, 10_002, 20_000)}
    assert found == {
        0: TopicPartition("a", 0),
        9_999: TopicPartition("a", 9_999),
        10_002: TopicPartition("b", 2),
        20_000: None,
    }

    # Those of a single topic may be large.
    assert topic_partition(streams[:1], 10_002) == TopicPartition("a", 10_002)


_SECRET_KEYS = ("sasl.jaas.config", "ssl.truststore.password", "stream.pulsar.authenticationToken")
_KEYS = ("stream.kafka.topic.name", "flush.rows", "key.deserializer", *_SECRET_KEYS)
_URL = "schema.registry.url"


@st.composite
def _streams(draw: st.DrawFn) -> dict[str, str]:
    found = draw(st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(("one", "two", "three"))))
    values = {key: f"hush-{value}" if key in _SECRET_KEYS else value for key, value in found.items()}
    return {**values, _URL: draw(st.sampled_from(("http://r/", "http://u:hush-a@r/", "http://u:hush-b@r/")))}


@pytest.mark.parametrize("document", [OLD_PLACE, NEW_PLACE], ids=["old place", "new place"])
@given(old=_streams(), new=_streams())
def test_a_change_can_be_applied_and_undone_and_its_plan_has_no_secret(
    document: dict[str, Any], old: dict[str, str], new: dict[str, str]
) -> None:
    table = with_stream(TableConfig.from_json(document), StreamConfig(old))
    requested = {key: new.get(key) for key in (*_KEYS, _URL)}
    begun = StreamChange.between(StreamConfig(old), StreamConfig(new))
    text = json.dumps(begun.to_data())
    assert "hush" not in text
    change = StreamChange.from_data(json.loads(text))
    assert change == begun
    assert not (change.keys and change.is_applied(table))
    assert change.is_repeated({key: requested[key] for key in change.keys}, table)
    applied = change.applied(table, requested)
    assert StreamConfig.of(applied).values == new
    assert change.is_applied(applied)
    assert not (change.keys and change.is_undone(applied))
    finished = change.finished(applied)
    assert StreamConfig.of(finished).values == new
    assert change.is_finished(finished)
    assert "hush" not in json.dumps(finished.to_json().get("metadata", {}))
    undone = change.undone(applied)
    assert change.is_undone(undone)
    assert with_stream(undone, StreamConfig(STREAM)).to_json() | {"metadata": None} == with_stream(
        table, StreamConfig(STREAM)
    ).to_json() | {"metadata": None}
    assert StreamConfig.of(undone).values == old


def test_a_stream_config_shows_no_credentials() -> None:
    assert "hunter2" not in repr(StreamConfig({"sasl.jaas.config": "hunter2"}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smallest", ConsumeFrom.SMALLEST),
        ("LARGEST", ConsumeFrom.LARGEST),
        ("lastConsumed", ConsumeFrom.LAST_CONSUMED),
        ("0=5", {0: 5}),
        ("0=5, 12=0", {0: 5, 12: 0}),
    ],
)
def test_positions_to_consume_from(text: str, expected: object) -> None:
    assert parse_consume_from(text) == expected


@pytest.mark.parametrize("text", ["", "first", "0", "0=", "=5", "0=-1", "0=1,0=2", "a=1"])
def test_an_invalid_position_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not an offset to consume from"):
        parse_consume_from(text)


def test_an_offset_past_the_streams_end_is_reported() -> None:
    world = World()
    for partition, end in enumerate((10, 20, 30)):
        world.committed(partition, 0, 0, end)
    stream = {0: OffsetRange(0, 10), 1: OffsetRange(0, 19)}
    assert past_end(read_partitions(world.store, TABLE), stream) == [
        "partition 1 ends at 19, but the table would resume at 20"
    ]


def test_credentials_for_java_are_translated_for_the_other_client() -> None:
    jaas = (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        r'username="me" password="a\"b\\c";'
    )
    shared = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}
    credentials = {"sasl.username": "me", "sasl.password": r'a"b\c'}
    translated = client_settings({**STREAM, **shared, "sasl.jaas.config": jaas})
    assert translated == {"bootstrap.servers": "k:9092", **shared, **credentials}


_KERBEROS = "com.sun.security.auth.module.Krb5LoginModule required;"


@pytest.mark.parametrize(
    "values",
    [{"ssl.truststore.location": "/x.jks"}, {"sasl.mechanism": "GSSAPI", "sasl.jaas.config": _KERBEROS}],
)
def test_settings_that_only_java_supports_leave_the_offsets_unknown(values: dict[str, str]) -> None:
    with pytest.raises(StreamUnknownError, match="only with Kafka's Java client"):
        client_settings(values)


@pytest.mark.parametrize(
    "values",
    [
        {"stream.kafka.broker.list": "${BROKERS:k:9092}"},
        {"stream.kafka.topic.name": "${TOPIC}"},
        {"security.protocol": "SASL_SSL", "sasl.jaas.config": "${JAAS}"},
    ],
)
def test_templates_that_only_pinots_roles_replace_leave_the_offsets_unknown(values: dict[str, str]) -> None:
    with pytest.raises(
        StreamUnknownError, match=r"Pinot's roles replace .* by variables of their environment"
    ):
        client_settings({**STREAM, **values})
    decoder = {"stream.kafka.decoder.class.name": "${DECODER:x}"}
    assert client_settings({**STREAM, **decoder}) == {"bootstrap.servers": "k:9092"}


def test_a_stream_that_cannot_be_read_leaves_the_offsets_unknown() -> None:
    refused, other = StreamConfig({**STREAM, "security.protocol": "no such"}), {"streamType": "kinesis"}
    with pytest.raises(StreamUnknownError, match="the stream's offsets are unknown"):
        open_offsets(refused)
    with pytest.raises(StreamUnknownError, match="'kinesis'"):
        open_offsets(StreamConfig(other))
    with pytest.raises(StreamUnknownError, match="kinesis"):
        open_table_offsets((StreamConfig(STREAM), StreamConfig(other)))
