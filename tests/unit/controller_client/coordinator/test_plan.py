"""How the key coordinator reads a table's config."""

from __future__ import annotations

import pytest

from controller_client.coordinator.plan import message_format, rank_function
from controller_client.coordinator.reading.recipe import MessageFormat
from controller_client.errors import ConfigError
from controller_client.stream.config import StreamConfig

_AVRO = "org.apache.pinot.plugin.inputformat.avro"


def decoder(name: str, schema: str | None = None) -> StreamConfig:
    more = {} if schema is None else {"stream.kafka.decoder.prop.schema": schema}
    return StreamConfig({"stream.kafka.decoder.class.name": name, **more})


def test_the_decoder_determines_the_format_of_messages() -> None:
    json = "org.apache.pinot.plugin.stream.kafka.KafkaJSONMessageDecoder"
    confluent = f"{_AVRO}.confluent.KafkaConfluentSchemaRegistryAvroMessageDecoder"
    assert message_format(decoder(json), None) == MessageFormat()
    assert message_format(decoder(f"{_AVRO}.SimpleAvroMessageDecoder", "{}"), None) == MessageFormat("{}")
    given = message_format(decoder(confluent, "{}"), '{"a": 1}')
    assert given == MessageFormat('{"a": 1}', confluent=True)
    registry = "stream.kafka.decoder.prop.schema.registry"
    asked = decoder(confluent).changed(
        {f"{registry}.rest.url": "http://r", f"{registry}.basic.auth.user.info": "me:secret"}
    )
    asked = asked.changed({"streamType": "kafka", "stream.kafka.topic.name": "rows"})
    found = message_format(asked, None, ["others-value"])
    subjects = ("rows", "others-value")
    assert found == MessageFormat(None, "http://r", "me:secret", confluent=True, subjects=subjects)
    assert "secret" not in repr(found)
    with pytest.raises(ConfigError, match="schema of the table's Avro messages"):
        message_format(decoder(confluent), None)
    with pytest.raises(ConfigError, match="cannot read messages of the decoder ProtoBufMessageDecoder"):
        message_format(decoder("org.apache.pinot.plugin.ProtoBufMessageDecoder"), None)


@pytest.mark.parametrize("name", ["no_such_module:f", "json:no_such", "json:decoder", "json", ":f"])
def test_an_invalid_ranking_function_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        rank_function(name)


def test_the_ranking_function_is_imported() -> None:
    assert rank_function("statistics:mean").__module__ == "statistics"
