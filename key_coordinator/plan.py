"""The parts of a table's config and schema that its key coordinator uses."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controller_client.client import ControllerClient
from controller_client.common.extras import missing_module
from controller_client.common.names import TableName
from controller_client.errors import ConfigError, SetupError
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
from key_coordinator.reading.columns import CheckedColumn, KeyColumn, TimeColumn
from key_coordinator.reading.recipe import MessageFormat, RankFunction, Recipe

__all__ = ["RANK_FUNCTIONS", "KeyedTable", "message_format", "plan_of", "rank_function"]

RANK_FUNCTIONS = "pinot_plugins.rank_functions"
"""Entry points of functions that rank records: ``name = "module:function"``, each a :data:`RankFunction`."""

_SCHEMA = f"{DECODER_PROPERTY}schema"
_REGISTRY = f"{DECODER_PROPERTY}schema.registry."
_MAX_LENGTH = 512
"""Of a STRING, in UTF-16 units, if the schema does not set it."""


@dataclass(frozen=True)
class KeyedTable:
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


def plan_of(client: ControllerClient, table: TableName, avro_schema: str | None = None) -> KeyedTable:
    """Read a table.

    Args:
        client: Client of the table's cluster.
        table: Its name with type.
        avro_schema: Schema of Avro messages, as JSON; default: that of the stream config.

    Raises:
        NotFoundError: There is no such table.
        ConfigError: It is not an upsert table or cannot be one, or its messages cannot be read here.
        SetupError: Its rank function is not installed here.
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
    return KeyedTable(table, settings, stream, recipe)


def _checked(schema: Schema, config: TableConfig, settings: UpsertSettings) -> list[CheckedColumn]:
    transforms = ((config.to_json().get("ingestionConfig") or {}).get("transformConfigs")) or ()
    others = {
        *settings.primary_key,
        settings.timestamp_column,
        *SYSTEM_COLUMNS,
        *(str(transform.get("columnName")) for transform in transforms),
    }
    return [
        CheckedColumn(field.name, field.data_type, field.single_value)
        for field in schema.fields
        if field.name not in others
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
    """Load a rank function that an installed package registers; nothing else is imported.

    Args:
        name: Its name in the group :data:`RANK_FUNCTIONS`, as a table config gives it.

    Raises:
        SetupError: No package registers it, several packages register it differently, or it cannot be loaded.
    """
    what = f"the rank function {name!r}"
    installed = importlib.metadata.entry_points(group=RANK_FUNCTIONS)
    points = {point.value: point for point in installed.select(name=name)}
    if not points:
        raise SetupError(
            f"no installed package registers {what}, which the table config names",
            expected=f"one of those installed here: {', '.join(sorted(installed.names)) or 'none'}",
            where="upsert.order",
            remedy="install a package that registers it under exactly this name, as an entry point of the "
            f"group {RANK_FUNCTIONS}; a name of the form module:function is not imported any more",
        )
    if len(points) > 1:
        raise SetupError(
            f"{what} is registered more than once: {', '.join(sorted(points))}",
            expected="one function, because it determines which rows are visible",
            where=RANK_FUNCTIONS,
            remedy="uninstall the other packages",
        )
    (point,) = points.values()
    try:
        function: RankFunction = point.load()
    except ModuleNotFoundError as error:
        raise missing_module(error, what, point.extras) from error
    except Exception as error:  # a module may raise anything while it is imported
        raise SetupError(
            f"{what} cannot be imported: {type(error).__name__}: {error}",
            where=point.value,
            remedy="repair the package that registers it",
        ) from error
    if not callable(function):
        raise SetupError(f"{what} is a {type(function).__name__}", expected="a function", where=point.value)
    return function
