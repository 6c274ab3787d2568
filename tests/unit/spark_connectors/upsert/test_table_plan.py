"""What a table's config says to the key coordinator."""

from __future__ import annotations

import pytest

from controller_client.errors import ConfigError
from controller_client.stream.config import StreamConfig
from spark_connectors.upsert.projection import Format
from spark_connectors.upsert.table_plan import message_format, rank_function, source_options

_AVRO = "org.apache.pinot.plugin.inputformat.avro"


def decoder(name: str, schema: str | None = None) -> StreamConfig:
    more = {} if schema is None else {"stream.kafka.decoder.prop.schema": schema}
    return StreamConfig({"stream.kafka.decoder.class.name": name, **more})


def test_the_decoder_tells_how_messages_are_written() -> None:
    json = "org.apache.pinot.plugin.stream.kafka.KafkaJSONMessageDecoder"
    confluent = f"{_AVRO}.confluent.KafkaConfluentSchemaRegistryAvroMessageDecoder"
    assert message_format(decoder(json), None) == Format()
    assert message_format(decoder(f"{_AVRO}.SimpleAvroMessageDecoder", "{}"), None) == Format("{}", 0)
    assert message_format(decoder(confluent, "{}"), '{"a": 1}') == Format('{"a": 1}', 5)
    with pytest.raises(ConfigError, match="schema of the table's Avro messages"):
        message_format(decoder(confluent), None)
    with pytest.raises(ConfigError, match="ProtoBufMessageDecoder cannot be read"):
        message_format(decoder("org.apache.pinot.plugin.ProtoBufMessageDecoder"), None)


def test_the_source_reads_what_pinot_reads() -> None:
    given = StreamConfig(
        {
            "streamType": "kafka",
            "stream.kafka.topic.name": "t",
            "stream.kafka.broker.list": "kafka:9092",
            "stream.kafka.isolation.level": "read_committed",
            "security.protocol": "SASL_SSL",
            "ssl.truststore.location": "/trust",
            "realtime.segment.flush.threshold.rows": "5",
        }
    )
    assert source_options(given, 500, fail_on_data_loss=True) == {
        "kafka.bootstrap.servers": "kafka:9092",
        "kafka.isolation.level": "read_committed",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.ssl.truststore.location": "/trust",
        "subscribe": "t",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "500",
        "failOnDataLoss": "true",
    }


@pytest.mark.parametrize("name", ["no_such_module:f", "json:no_such", "json:decoder", "json", ":f"])
def test_a_function_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        rank_function(name)


def test_the_function_that_ranks_is_found() -> None:
    assert rank_function("statistics:mean").__module__ == "statistics"
