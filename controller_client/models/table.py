"""A table config (org.apache.pinot.spi.config.table.TableConfig)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field

from controller_client.common.names import TableName, TableType
from controller_client.common.parsing import whole_number
from controller_client.errors import ConfigError
from controller_client.models.base import PinotModel

__all__ = ["SegmentsConfig", "TableConfig", "TableTaskConfig", "record_document"]


def record_document(simple_fields: Mapping[str, str]) -> dict[str, Any]:
    """Return a table's config from the fields of its record in ZooKeeper.

    Raises:
        ConfigError: A field is not valid JSON.
    """
    document: dict[str, Any] = {}
    for name, text in simple_fields.items():
        # Names and types are plain strings, everything else is JSON.
        is_json = text[:1] in ("{", "[") or text in ("true", "false")
        try:
            document[name] = json.loads(text) if is_json else text
        except ValueError as error:
            table = simple_fields.get("tableName")
            raise ConfigError(f"{name} of the config of {table} is not valid JSON", where=table) from error
    return document


class SegmentsConfig(PinotModel):
    """The segments part (SegmentsValidationAndRetentionConfig)."""

    schema_name: str | None = None
    time_column_name: str | None = None
    time_type: str | None = None
    # Pinot writes the numbers of this part as strings, and reads both.
    replication: str | int | None = None
    retention_time_unit: str | None = None
    retention_time_value: str | int | None = None


class TableTaskConfig(PinotModel):
    """The minion tasks part: task type -> its configs, all strings."""

    task_type_configs_map: dict[str, dict[str, str]] = Field(default_factory=dict)


class TableConfig(PinotModel):
    """A table's config. Parts that no caller uses yet stay plain documents."""

    table_name: str
    table_type: TableType
    segments_config: SegmentsConfig = Field(default_factory=SegmentsConfig)
    table_index_config: dict[str, Any] = Field(default_factory=dict)
    task: TableTaskConfig | None = None

    @property
    def name_with_type(self) -> TableName:
        """E.g. ``flights_OFFLINE``, whether or not ``table_name`` has the type."""
        return TableName.of(self.table_name, self.table_type)

    @property
    def raw_name(self) -> str:
        """E.g. ``flights``."""
        return self.name_with_type.raw

    @property
    def schema_names(self) -> tuple[str, ...]:
        """Possible names of the table's schema; the first existing one counts, as in Pinot 0.11."""
        return tuple(dict.fromkeys(filter(None, (self.raw_name, self.segments_config.schema_name))))

    @property
    def time_column(self) -> str | None:
        """Name of the time column, if the table has one."""
        return self.segments_config.time_column_name

    @property
    def tenants(self) -> dict[str, Any]:
        """Its tenants: ``server``, ``broker``, and others for certain tiers or kinds of segments."""
        return dict((self.model_extra or {}).get("tenants") or {})

    @property
    def replicas(self) -> int:
        """Number of servers for each partition of a REALTIME table; 1 if it is a template."""
        segments: dict[str, Any] = self.to_json().get("segmentsConfig") or {}
        named = str(segments.get("replicasPerPartition") or segments.get("replication") or 1)
        replicas = whole_number(named)
        return 1 if replicas is None else replicas

    @property
    def pinots_upsert(self) -> str | None:
        """Mode of Pinot's own upsert, e.g. ``FULL`` or ``PARTIAL``; None if it is not used."""
        upsert = (self.model_extra or {}).get("upsertConfig")
        # Pinot 1.x treats a config without this setting as FULL.
        mode = "NONE" if upsert is None else str(upsert.get("mode") or "FULL").upper()
        return None if mode == "NONE" else mode

    @property
    def pinots_dedup(self) -> bool:
        """Whether Pinot itself drops rows with a key it has already seen."""
        dedup = (self.model_extra or {}).get("dedupConfig")
        # Pinot 1.x treats a config without this setting as enabled.
        return dedup is not None and dedup.get("dedupEnabled") is not False

    def task_config(self, task_type: str) -> dict[str, str] | None:
        """Return the configs of a task type; None if the table has none."""
        if self.task is None:
            return None
        configs = self.task.task_type_configs_map.get(task_type)
        return None if configs is None else dict(configs)

    def with_tenants(self, *, server: str | None = None, broker: str | None = None) -> Self:
        """Return a copy with other tenants; None leaves a tenant unchanged."""
        given = {"server": server, "broker": broker}
        changed = {role: name for role, name in given.items() if name is not None}
        document = self.to_json()
        document["tenants"] = {**(document.get("tenants") or {}), **changed}
        return self.from_json(document)

    def with_task_config(self, task_type: str, configs: Mapping[str, str] | None) -> Self:
        """Return a copy with a task type's configs replaced, or removed if None."""
        document = self.to_json()
        task = document.setdefault("task", None) or {}
        by_type = dict(task.get("taskTypeConfigsMap") or {})
        if configs is None:
            by_type.pop(task_type, None)
        else:
            by_type[task_type] = dict(configs)
        document["task"] = {**task, "taskTypeConfigsMap": by_type}
        return self.from_json(document)
