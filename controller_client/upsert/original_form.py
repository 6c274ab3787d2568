"""Schema and table as the original design of upsert has them: ``updateSemantic`` and ``primaryKey`` in them.

::

    {"schemaName": "balances", "updateSemantic": "upsert", "primaryKey": "user,account", ...}
    {"tableName": "balances", "updateSemantic": "upsert", ...}

Pinot knows neither field and drops them without a word, so that what is registered through its REST API in
this form is a plain table. Here they are read, and taken out.
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
    """What is to be made an upsert table, and what the files say about it.

    Attributes:
        schema: Without the fields of the original form, and without definitions of the columns that every
            upsert table gets.
        table: Without these fields.
        primary_key: The key's columns; empty where the files name none.
        timestamp_column: The table's time column, which is the default; None without one.
    """

    schema: Schema
    table: TableConfig
    primary_key: tuple[str, ...]
    timestamp_column: str | None

    def key_or(self, named: str | None) -> tuple[str, ...]:
        """Return the key: columns that the user has named, by comma, or those of the files.

        Raises:
            ConfigError: There are none, or the two differ.
        """
        own = _names(named) if named else ()
        if own and self.primary_key and own != self.primary_key:
            raise ConfigError(
                f"the key is {','.join(own)}, and the files name {','.join(self.primary_key)}",
                where=self.table.name_with_type,
                remedy="leave --primary-key out, or change the files",
            )
        if not own and not self.primary_key:
            raise ConfigError(
                f"no key is named for {self.table.name_with_type}",
                expected=f"--primary-key, or {_KEY} in the schema or in the table's config",
            )
        return own or self.primary_key

    def timestamp_or(self, named: str | None) -> str:
        """Return the timestamp: the column that the user has named, or the table's time column.

        Raises:
            ConfigError: There is none.
        """
        found = named or self.timestamp_column
        if not found:
            raise ConfigError(
                f"no timestamp is named for {self.table.name_with_type}, which has no time column",
                expected="--timestamp",
            )
        return found


def read_original_form(schema: Schema, table: TableConfig) -> GivenSettings:
    """Take the fields of the original form out of a schema and a table's config.

    Raises:
        ConfigError: They ask for something else than upsert, or for different keys.
    """
    documents = [copy.deepcopy(schema.to_json()), copy.deepcopy(table.to_json())]
    semantics, keys = set(), set()
    for place in _places(*documents):
        if _SEMANTIC in place:
            semantics.add(str(place.pop(_SEMANTIC)).strip().lower())
        if _KEY in place:
            keys.add(_names(place.pop(_KEY)))
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
            remedy=f"let {_KEY} be the same everywhere",
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


def _places(schema: dict[str, Any], table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    yield table
    for part in ("segmentsConfig", "tableIndexConfig"):
        if isinstance(table.get(part), dict):
            yield table[part]


def _names(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else str(value).split(",")
    return tuple(str(part).strip() for part in parts)
