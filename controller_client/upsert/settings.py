"""The settings of an upsert table, stored in the ``customConfigs`` of its table config.

::

    metadata.customConfigs
        updateSemantic           upsert
        primaryKey               user,account        columns, comma-separated
        upsert.timestampColumn   updatedAt           LONG or TIMESTAMP, milliseconds
        upsert.updatesTopic      t_REALTIME.updates
        upsert.order             by_priority         name of a rank function; only if it is not the timestamp
        upsert.schemaSubjects    flights-value       only if messages use schemas of other topics
        upsert.format            2                   version of these settings; omitted if it is 1

Version 1 also had ``upsert.retentionMs``, the retention that the table had when it was created.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller_client.common.formats import Format
from controller_client.errors import ConfigError
from controller_client.models import TableConfig

__all__ = ["SETTINGS_FORMAT", "UpsertSettings", "is_upsert", "named_order", "named_topic"]

SETTINGS_FORMAT = Format("the list of settings of an upsert table", version=2, field="upsert.format")

_SEMANTIC, _UPSERT = "updateSemantic", "upsert"
_PRIMARY_KEY = "primaryKey"
_TIMESTAMP = "upsert.timestampColumn"
_TOPIC = "upsert.updatesTopic"
_ORDER = "upsert.order"
_SUBJECTS = "upsert.schemaSubjects"
_OF_VERSION_1 = "upsert.retentionMs"


@dataclass(frozen=True)
class UpsertSettings:
    """How a table's records are resolved, and where its updates are sent.

    Attributes:
        primary_key: The key's columns, in order.
        timestamp_column: Of two records with the same key, the one with the greater time wins; then the
            greater offset, then the greater partition.
        updates_topic: Kafka topic of the segment update events, in the table's own Kafka cluster.
        order: Name of the registered function that ranks records; None: the timestamp ranks them.
        schema_subjects: Subjects of the schema registry that the input topic's messages may use, beside those
            of the topic.
    """

    primary_key: tuple[str, ...]
    timestamp_column: str
    updates_topic: str
    order: str | None = None
    schema_subjects: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: TableConfig) -> UpsertSettings:
        """Read the settings from a table's config.

        Raises:
            ConfigError: It is not an upsert table, or its settings are incomplete.
            FormatVersionError: A later release wrote the settings.
        """
        custom = _custom(table.to_json())
        SETTINGS_FORMAT.check(custom, f"the customConfigs of {table.name_with_type}")
        if not is_upsert(table):
            raise ConfigError(
                f"{table.name_with_type} is not an upsert table",
                expected=f"{_SEMANTIC}: {_UPSERT} in its customConfigs",
                where=table.name_with_type,
                remedy="create it with 'pinotctl upsert create'",
            )
        missing = [key for key in (_PRIMARY_KEY, _TIMESTAMP, _TOPIC) if not custom.get(key)]
        if missing:
            raise ConfigError(
                f"the customConfigs of {table.name_with_type} lack {', '.join(missing)}",
                expected="all settings of an upsert table",
                where=table.name_with_type,
            )
        return cls(
            tuple(part.strip() for part in custom[_PRIMARY_KEY].split(",")),
            custom[_TIMESTAMP],
            custom[_TOPIC],
            named_order(table),
            tuple(part.strip() for part in custom.get(_SUBJECTS, "").split(",") if part.strip()),
        )

    def put_into(self, table: TableConfig) -> TableConfig:
        """Return a copy of a table's config with these settings."""
        document = table.to_json()
        values = SETTINGS_FORMAT.stamp(
            {
                _SEMANTIC: _UPSERT,
                _PRIMARY_KEY: ",".join(self.primary_key),
                _TIMESTAMP: self.timestamp_column,
                _TOPIC: self.updates_topic,
                **({_ORDER: self.order} if self.order else {}),
                **({_SUBJECTS: ",".join(self.schema_subjects)} if self.schema_subjects else {}),
            }
        )
        kept = {key: value for key, value in _custom(document).items() if key not in (_ORDER, _OF_VERSION_1)}
        document["metadata"] = {**(document.get("metadata") or {}), "customConfigs": {**kept, **values}}
        return TableConfig.from_json(document)


def named_topic(table: TableConfig) -> str | None:
    """Return the updates topic that a config names, whether it is that of an upsert table or not."""
    return _custom(table.to_json()).get(_TOPIC) or None


def named_order(table: TableConfig) -> str | None:
    """Return the order that a config names, whether it is that of an upsert table or not."""
    return _custom(table.to_json()).get(_ORDER) or None


def is_upsert(table: TableConfig) -> bool:
    """Whether a table is an upsert table of this project; Pinot's own upsert is a different feature."""
    return _custom(table.to_json()).get(_SEMANTIC) == _UPSERT


def _custom(document: dict[str, Any]) -> dict[str, str]:
    custom = (document.get("metadata") or {}).get("customConfigs")
    if not isinstance(custom, Mapping):
        return {}
    return {key: text for key, text in custom.items() if isinstance(text, str)}
