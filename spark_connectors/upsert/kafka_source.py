"""How Spark's Kafka source reads a table's input."""

from __future__ import annotations

from controller_client.stream.config import StreamConfig

__all__ = ["source_options"]

_ISOLATION = "stream.kafka.isolation.level"
_ACCESS = ("security.", "sasl.", "ssl.")


def source_options(stream: StreamConfig, most_rows: int, *, fail_on_data_loss: bool) -> dict[str, str]:
    """Return the options of Spark's Kafka source; they may hold credentials.

    Args:
        stream: The table's.
        most_rows: Of a batch.
        fail_on_data_loss: Whether rows that Kafka has deleted before they were read are an error.
    """
    access = {f"kafka.{key}": value for key, value in stream.values.items() if key.startswith(_ACCESS)}
    return {
        **access,
        "kafka.bootstrap.servers": stream.values["stream.kafka.broker.list"],
        "kafka.isolation.level": stream.values.get(_ISOLATION, "read_uncommitted"),
        "subscribe": stream.topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(most_rows),
        "failOnDataLoss": str(fail_on_data_loss).lower(),
    }
