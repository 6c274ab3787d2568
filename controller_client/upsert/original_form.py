"""Schema and table in the form of the original upsert design, with ``updateSemantic`` and ``primaryKey``.

::

    {"schemaName": "balances", "updateSemantic": "upsert", "primaryKey": "user,account", ...}
    {"tableName": "balances", "updateSemantic": "upsert", ...}

Pinot knows neither field and silently drops both, so a table registered in this form through its REST API is
a plain one. This module reads and removes the fields.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from controller_client.upsert.columns import SYSTEM_COLUMNS

__all__ = ["GivenSettings", "read_original_form"]

_SEMANTIC, _KEY = "updateSemantic", "primaryKey"
_UPSERT = "upsert"
_FIELD_LISTS = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")
_OWN = frozenset(name.lower() for name in SYSTEM_COLUMNS)


@dataclass(frozen=True)
class GivenSettings:
    """A table to turn into an upsert table, and the settings in its files.

    Attributes:
        schema: The schema without the fields of the original form and without the columns that every upsert
            table gets.
        table: The table's config without these fields.
        primary_key: The key's columns; empty if the files name none.
        timestamp_column: The table's time column, used as the default; None if it has none.
    """

    schema: Schema
    table: TableConfig
    primary_key: tuple[str, ...]
    timestamp_column: str | None

    def key_or(self, named: str | None) -> tuple[str, ...]:
        """Return the key: the user's comma-separated columns, or those of the files.

        Raises:
            ConfigError: There is none, or the two differ.
        """
        own = _names(named) if named else ()
        if own and self.primary_key and own != self.primary_key:
            raise ConfigError(
                f"the given key is {','.join(own)}, but the files name {','.join(self.primary_key)}",
                where=self.table.name_with_type,
                remedy="omit --primary-key, or change the files",
            )
        if not own and not self.primary_key:
            raise ConfigError(
                f"{self.table.name_with_type} has no key",
                expected=f"--primary-key, or {_KEY} in the schema or in the table's config",
            )
        return own or self.primary_key

    def timestamp_or(self, named: str | None) -> str:
        """Return the timestamp: the user's column, or the table's time column.

        Raises:
            ConfigError: There is none.
        """
        column = named or self.timestamp_column
        if not column:
            raise ConfigError(
                f"{self.table.name_with_type} has no timestamp: none is given, and it has no time column",
                expected="--timestamp",
            )
        return column


def read_original_form(schema: Schema, table: TableConfig) -> GivenSettings:
    """Read the fields of the original form from a schema and a table's config, and remove them.

    Raises:
        ConfigError: They set something other than upsert, or different keys.
    """
    documents = [copy.deepcopy(schema.to_json()), copy.deepcopy(table.to_json())]
    semantics, keys = set(), set()
    for part in _parts(*documents):
        if _SEMANTIC in part:
            semantics.add(str(part.pop(_SEMANTIC)).strip().lower())
        if _KEY in part:
            keys.add(_names(part.pop(_KEY)))
    custom = (documents[1].get("metadata") or {}).get("customConfigs") or {}
    if _KEY in custom:
        keys.add(_names(custom[_KEY]))
    if semantics - {_UPSERT}:
        raise ConfigError(
            f"{_SEMANTIC} is {' and '.join(sorted(semantics))}", expected=_UPSERT, where=table.name_with_type
        )
    if len(keys) > 1:
        raise ConfigError(
            f"the files name different keys: {' and '.join(sorted(','.join(key) for key in keys))}",
            where=table.name_with_type,
            remedy=f"use the same {_KEY} everywhere",
        )
    for name in _FIELD_LISTS:
        fields = documents[0].get(name)
        if fields:
            documents[0][name] = [each for each in fields if str(each.get("name")).lower() not in _OWN]
    return GivenSettings(
        Schema.from_json(documents[0]),
        TableConfig.from_json(documents[1]),
        next(iter(keys), ()),
        table.time_column,
    )


def _parts(schema: dict[str, Any], table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    yield table
    for part in ("segmentsConfig", "tableIndexConfig"):
        if isinstance(table.get(part), dict):
            yield table[part]


def _names(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else str(value).split(",")
    return tuple(str(part).strip() for part in parts)
