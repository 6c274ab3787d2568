"""Options of Spark's Kafka source for a table's input topic."""

from __future__ import annotations

from controller_client.stream.config import StreamConfig
from spark_connectors.upsert.kafka_source import source_options


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
