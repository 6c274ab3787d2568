"""Options of Spark's Kafka source for a table's input topic."""

from __future__ import annotations

from controller_client.stream.config import StreamConfig

__all__ = ["source_options"]

_ISOLATION = "stream.kafka.isolation.level"
_ACCESS = ("security.", "sasl.", "ssl.")


def source_options(stream: StreamConfig, max_rows: int, *, fail_on_data_loss: bool) -> dict[str, str]:
    """Return the options of Spark's Kafka source, which may contain credentials.

    Args:
        stream: The table's stream config.
        max_rows: Maximum number of rows in a batch.
        fail_on_data_loss: Whether it is an error if Kafka has deleted rows that were not read yet.
    """
    access = {f"kafka.{key}": value for key, value in stream.values.items() if key.startswith(_ACCESS)}
    return {
        **access,
        "kafka.bootstrap.servers": stream.values["stream.kafka.broker.list"],
        "kafka.isolation.level": stream.values.get(_ISOLATION, "read_uncommitted"),
        "subscribe": stream.topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(max_rows),
        "failOnDataLoss": str(fail_on_data_loss).lower(),
    }
