"""What of a table's config and schema matters to its key coordinator."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import ConfigError
from controller_client.stream.config import StreamConfig
from controller_client.upsert.requirements import check_requirements
from controller_client.upsert.settings import UpsertSettings
from spark_connectors.upsert.projection import Format, Projection, RankFunction

__all__ = ["TablePlan", "message_format", "plan_of", "rank_function", "source_options"]

_DECODER = "stream.kafka.decoder.class.name"
_SCHEMA = "stream.kafka.decoder.prop.schema"
_JSON_DECODERS = ("KafkaJSONMessageDecoder", "JSONMessageDecoder")
_PLAIN_AVRO = "SimpleAvroMessageDecoder"
_CONFLUENT_AVRO = "KafkaConfluentSchemaRegistryAvroMessageDecoder"
_CONFLUENT_HEADER_BYTES = 5
_ISOLATION = "stream.kafka.isolation.level"
_ACCESS = ("security.", "sasl.", "ssl.")


@dataclass(frozen=True)
class TablePlan:
    """A table as the key coordinator sees it.

    Attributes:
        table: Its name with type.
        settings: Of upsert.
        stream: Its input.
        key: The key's columns with their Pinot types.
        time: The time column with its type.
        message: How messages are written.
        rank: The user's function, where there is one.
    """

    table: TableName
    settings: UpsertSettings
    stream: StreamConfig
    key: Mapping[str, str]
    time: tuple[str, str]
    message: Format
    rank: RankFunction | None = field(default=None, repr=False)

    def projection(self, buckets: int) -> Projection:
        """Describe what is taken from messages."""
        columns = tuple(getattr(self.rank, "columns", ()))
        return Projection(self.key, self.time, self.message, buckets, self.rank, columns)


def plan_of(client: ControllerClient, table: TableName, avro_schema: str | None = None) -> TablePlan:
    """Read a table.

    Args:
        client: Its cluster's.
        table: Its name with type.
        avro_schema: Of its messages, as JSON, where they are Avro; None: as in its stream config.

    Raises:
        NotFoundError: There is no such table.
        ConfigError: It is no upsert table, or cannot be one, or its messages cannot be read here.
    """
    config = client.tables.get(table)
    schema = client.schemas.of_table(config)
    settings = UpsertSettings.of(config)
    check_requirements(schema, config, settings)
    types = {each.name: each.data_type for each in schema.fields}
    stream = StreamConfig.of(config)
    return TablePlan(
        table,
        settings,
        stream,
        {name: types[name] for name in settings.primary_key},
        (settings.timestamp_column, types[settings.timestamp_column]),
        message_format(stream, avro_schema),
        rank_function(settings.order) if settings.order else None,
    )


def message_format(stream: StreamConfig, avro_schema: str | None) -> Format:
    """Return how messages are written, from the decoder that Pinot uses.

    Raises:
        ConfigError: It is one that is not known here, or the schema of Avro messages is not.
    """
    decoder = stream.values.get(_DECODER, "").rpartition(".")[2]
    if decoder in _JSON_DECODERS:
        return Format()
    if decoder not in (_PLAIN_AVRO, _CONFLUENT_AVRO):
        raise ConfigError(
            f"messages of the decoder {decoder or '(none)'} cannot be read by the key coordinator",
            expected=f"one of {', '.join((*_JSON_DECODERS, _PLAIN_AVRO, _CONFLUENT_AVRO))}",
            where=_DECODER,
        )
    avro_schema = avro_schema or stream.values.get(_SCHEMA)
    if not avro_schema:
        raise ConfigError(
            "the schema of the table's Avro messages is not known",
            expected=f"{_SCHEMA} in the stream config",
            where=_SCHEMA,
            remedy="pass --avro-schema FILE",
        )
    return Format(avro_schema, _CONFLUENT_HEADER_BYTES if decoder == _CONFLUENT_AVRO else 0)


def rank_function(name: str) -> RankFunction:
    """Import the user's function.

    Raises:
        ConfigError: There is none of that name.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"the function that ranks records cannot be imported: {error}",
            expected="module:function, importable on the driver and on the executors",
            where=name,
        ) from error
    if not callable(found):
        raise ConfigError(f"{name} is a {type(found).__name__}", expected="a function", where=name)
    function: RankFunction = found
    return function


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
