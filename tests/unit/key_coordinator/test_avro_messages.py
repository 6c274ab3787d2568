"""Avro messages: with a given schema, and from Confluent's serializer with a schema registry."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from controller_client.errors import ConfigError, SourceError
from key_coordinator.reading.avro_messages import AvroMessages
from key_coordinator.reading.recipe import MessageFormat
from tests.support.schema_registry import SchemaRegistry, schema_registry

_LOGIN = "reader:secret password"
_AT = {"type": "long", "logicalType": "timestamp-millis"}
_OLD: dict[str, Any] = {
    "type": "record",
    "name": "Row",
    "fields": [{"name": "id", "type": "string"}, {"name": "at", "type": ["null", _AT]}],
}
_NEW: dict[str, Any] = {**_OLD, "fields": [{"name": "more", "type": "int"}, *_OLD["fields"]]}


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with schema_registry(_LOGIN) as running:
        yield running


def confluents(registry: SchemaRegistry, schema: dict[str, Any], row: dict[str, Any]) -> bytes:
    """Return a message as a user's producer writes it."""
    client = SchemaRegistryClient({"url": registry.url, "basic.auth.user.info": _LOGIN})
    serialize = AvroSerializer(client, json.dumps(schema))
    message = serialize(row, SerializationContext("rows", MessageField.VALUE))
    assert isinstance(message, bytes)
    return message


def test_each_message_is_read_with_the_schema_that_it_was_written_with(registry: SchemaRegistry) -> None:
    messages = [
        confluents(registry, _OLD, {"id": "a", "at": 5}),
        confluents(registry, _NEW, {"more": 3, "id": "b", "at": None}),
        confluents(registry, _OLD, {"id": "c", "at": None}),
    ]
    unknown = b"\x00\x00\x00\x00\x63" + messages[0][5:]
    other = [b"", b"\x00", b"\x01" + messages[0][1:], messages[0][:7], unknown, b"hello"]
    reader = AvroMessages(MessageFormat(registry_url=registry.url, registry_login=_LOGIN, confluent=True))
    registry.asked.clear()
    assert reader.read([*messages, *other, *messages[:1]]) == [
        {"id": "a", "at": 5},  # the number that Pinot stores, not a datetime
        {"more": 3, "id": "b", "at": None},
        {"id": "c", "at": None},
        *[None] * len(other),
        {"id": "a", "at": 5},
    ]
    assert sorted(registry.asked) == ["/schemas/ids/7", "/schemas/ids/8", "/schemas/ids/99"]


def of(number: int, data: bytes = b"\x02a\x00") -> bytes:
    """A message that names a schema."""
    return b"\x00" + number.to_bytes(4, "big") + data


def reader_of(registry: SchemaRegistry, *subjects: str) -> AvroMessages:
    return AvroMessages(
        MessageFormat(
            registry_url=registry.url, registry_login=_LOGIN, confluent=True, subjects=subjects or None
        )
    )


_RECURSIVE = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
_NO_BYTES = {
    "type": "record",
    "name": "Z",
    "fields": [{"name": "many", "type": {"type": "array", "items": "null"}}],
}


def test_no_schema_that_a_message_names_ends_the_process(
    registry: SchemaRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    deep = "[" * 3_000
    schemas = [json.dumps(_RECURSIVE), json.dumps(_NO_BYTES), 'syntax = "proto3";', '"Elsewhere"', deep]
    numbers = [registry.register(f"rows-{at}", schema) for at, schema in enumerate(schemas)]
    good = confluents(registry, _OLD, {"id": "a", "at": 5})
    data = b"\x02" * 20_000
    hostile = [of(number, data) for number in (*numbers, 2**31, 2**32 - 1)]
    assert reader_of(registry).read([*hostile, good]) == [*[None] * len(hostile), {"id": "a", "at": 5}]
    reasons = [each.getMessage() for each in caplog.records]
    assert len(reasons) == len(numbers)
    assert "'N' is within itself" in reasons[0]
    assert "too few bytes" in reasons[1]


def test_a_message_may_only_use_schemas_of_its_topic(registry: SchemaRegistry) -> None:
    row, schema = {"id": "a", "at": None}, json.dumps(_OLD)
    for subject in ("rows-value", "rows-Row", "Row", "listed"):
        registry.schemas.clear()
        registry.subjects.clear()
        number = registry.register(subject, schema)
        assert reader_of(registry, "rows", "listed").read([of(number)]) == [row]
    registry.subjects.clear()
    for subject in ("others-value", "rows-key", "rows-Other", "value"):
        registry.register(subject, schema)
    assert reader_of(registry, "rows", "listed").read([of(number)]) == [None]
    registry.reports_subjects = False  # as older registries
    assert reader_of(registry, "rows", "listed").read([of(number)]) == [row]


def test_only_so_many_schemas_are_remembered(
    registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{AvroMessages.__module__}._MAX_SCHEMAS", 3)
    reader = reader_of(registry)
    assert reader.read([of(number) for number in range(100, 150)]) == [None] * 50
    assert len(reader._of_registry) <= 3


def test_a_schema_of_any_length_is_not_read(
    registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{AvroMessages.__module__}._MAX_SCHEMA_BYTES", 100)
    number = registry.register("rows-value", json.dumps(_OLD))
    assert reader_of(registry).read([of(number)]) == [None]


def test_a_registry_that_refuses_or_is_unreachable_is_an_error_without_the_password(
    registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{AvroMessages.__module__}.AvroMessages._fetched.retry.sleep", lambda _seconds: None)
    message = confluents(registry, _OLD, {"id": "a", "at": 5})
    for url, login, message_text in (
        (registry.url, "reader:wrong", "returned status 401"),
        ("http://127.0.0.1:9", _LOGIN, "does not answer"),
        # A wrong address: not a registry that lacks the schema, whose rows would be dropped.
        (f"{registry.url}/elsewhere", _LOGIN, "returned status 404"),
    ):
        reader = AvroMessages(MessageFormat(registry_url=url, registry_login=login, confluent=True))
        with pytest.raises(SourceError, match=message_text) as caught:
            reader.read([message])
        assert login.partition(":")[2] not in f"{caught.value} {caught.value!r}"


def test_a_given_schema_reads_messages_with_and_without_a_header() -> None:
    data = io.BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(_OLD), {"id": "x", "at": 9})
    plain = AvroMessages(MessageFormat(json.dumps(_OLD)))
    assert plain.read([data.getvalue(), b"\x07"]) == [{"id": "x", "at": 9}, None]
    headed = AvroMessages(MessageFormat(json.dumps(_OLD), confluent=True))
    assert headed.read([b"\x00\x00\x00\x00\x09" + data.getvalue(), data.getvalue()]) == [
        {"id": "x", "at": 9},
        None,
    ]


@pytest.mark.parametrize("schema", ["", "{", '{"type": "nothing"}', "7"])
def test_an_invalid_schema_is_refused(schema: str) -> None:
    with pytest.raises(ConfigError, match="Avro schema of the messages"):
        AvroMessages(MessageFormat(schema or "''"))
