"""The parts of a table's config and schema that its key coordinator uses."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.coordinator.reading.columns import CheckedColumn, KeyColumn, TimeColumn
from controller_client.coordinator.reading.recipe import MessageFormat, RankFunction, Recipe
from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from controller_client.stream.config import StreamConfig
from controller_client.upsert.columns import SYSTEM_COLUMNS
from controller_client.upsert.ingestion import (
    CONFLUENT_AVRO,
    DECODER,
    DECODER_PROPERTY,
    JSON_DECODERS,
    PLAIN_AVRO,
)
from controller_client.upsert.requirements import check_requirements
from controller_client.upsert.settings import UpsertSettings

__all__ = ["TablePlan", "message_format", "plan_of", "rank_function"]

_SCHEMA = f"{DECODER_PROPERTY}schema"
_REGISTRY = f"{DECODER_PROPERTY}schema.registry."
_MAX_LENGTH = 512
"""Of a STRING, in UTF-16 units, if the schema does not set it."""


@dataclass(frozen=True)
class TablePlan:
    """A table as the key coordinator sees it.

    Attributes:
        table: Its name with type.
        settings: Its upsert settings.
        stream: Its input stream.
        recipe: How to read its messages.
    """

    table: TableName
    settings: UpsertSettings
    stream: StreamConfig
    recipe: Recipe

    def fingerprint(self) -> str:
        """Return a hash that stays the same while equal records give equal keys in the same order."""
        key = [(each.name, each.kind, each.max_length) for each in self.recipe.key]
        time = self.recipe.time
        document = [key, time.name, time.kind, self.settings.order, self.stream.topic]
        return hashlib.blake2b(json.dumps(document).encode(), digest_size=8).hexdigest()


def plan_of(client: ControllerClient, table: TableName, avro_schema: str | None = None) -> TablePlan:
    """Read a table.

    Args:
        client: Client of the table's cluster.
        table: Its name with type.
        avro_schema: Schema of Avro messages, as JSON; default: that of the stream config.

    Raises:
        NotFoundError: There is no such table.
        ConfigError: It is not an upsert table or cannot be one, or its messages cannot be read here.
    """
    config = client.tables.in_use(table)
    schema = client.schemas.of_table(config)
    settings = UpsertSettings.of(config)
    check_requirements(schema, config, settings)
    types = {each.name: each.data_type for each in schema.fields}
    lengths = _max_lengths(schema)
    stream = StreamConfig.of(config)
    recipe = Recipe(
        tuple(KeyColumn(name, types[name], lengths.get(name, _MAX_LENGTH)) for name in settings.primary_key),
        TimeColumn(settings.timestamp_column, types[settings.timestamp_column]),
        tuple(_checked(schema, config, settings)),
        message_format(stream, avro_schema, settings.schema_subjects),
        rank_function(settings.order) if settings.order else None,
    )
    return TablePlan(table, settings, stream, recipe)


def _checked(schema: Schema, config: TableConfig, settings: UpsertSettings) -> list[CheckedColumn]:
    transforms = ((config.to_json().get("ingestionConfig") or {}).get("transformConfigs")) or ()
    others = {
        *settings.primary_key,
        settings.timestamp_column,
        *SYSTEM_COLUMNS,
        *(str(each.get("columnName")) for each in transforms),
    }
    return [
        CheckedColumn(each.name, each.data_type, each.single_value)
        for each in schema.fields
        if each.name not in others
    ]


def _max_lengths(schema: Schema) -> dict[str, int]:
    document: dict[str, Any] = schema.to_json()
    groups = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")
    fields = [each for group in groups for each in document.get(group) or ()]
    return {each["name"]: int(each["maxLength"]) for each in fields if each.get("maxLength")}


def message_format(
    stream: StreamConfig, avro_schema: str | None, subjects: Sequence[str] = ()
) -> MessageFormat:
    """Return the format of the messages, judging by Pinot's decoder.

    Args:
        stream: The input stream.
        avro_schema: Schema of Avro messages, as JSON; default: that of the stream config.
        subjects: Subjects of a schema registry that messages may use, beside those of the topic.

    Raises:
        ConfigError: The decoder is not supported, or the schema of Avro messages is unknown.
    """
    values = stream.values
    decoder = values.get(DECODER, "").rpartition(".")[2]
    if decoder in JSON_DECODERS:
        return MessageFormat()
    if decoder not in (PLAIN_AVRO, CONFLUENT_AVRO):
        raise ConfigError(
            f"the key coordinator cannot read messages of the decoder {decoder or '(none)'}",
            expected=f"one of {', '.join((*JSON_DECODERS, PLAIN_AVRO, CONFLUENT_AVRO))}",
            where=DECODER,
        )
    confluent = decoder == CONFLUENT_AVRO
    url = values.get(f"{_REGISTRY}rest.url") if confluent else None
    avro_schema = avro_schema or (None if confluent and url else values.get(_SCHEMA))
    if not avro_schema and not url:
        raise ConfigError(
            "the schema of the table's Avro messages is unknown",
            expected=f"{f'{_REGISTRY}rest.url' if confluent else _SCHEMA} in the stream config",
            where=_SCHEMA,
            remedy="pass --avro-schema FILE",
        )
    login = values.get(f"{_REGISTRY}basic.auth.user.info") if confluent else None
    if avro_schema:
        return MessageFormat(avro_schema, None, login, confluent)
    return MessageFormat(None, url, login, confluent, (stream.topic, *subjects))


def rank_function(name: str) -> RankFunction:
    """Import the user's function.

    Raises:
        ConfigError: There is no such function.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"the function that ranks records cannot be imported: {error}",
            expected="module:function, importable by the coordinator and, with Spark, by the executors",
            where=name,
        ) from error
    if not callable(found):
        raise ConfigError(f"{name} is a {type(found).__name__}", expected="a function", where=name)
    function: RankFunction = found
    return function
