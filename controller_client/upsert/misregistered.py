"""Detects realtime tables that look like upsert tables but were registered without our settings."""

from __future__ import annotations

import json
from collections.abc import Iterable

from controller_client.errors import ConfigError
from controller_client.models import TableConfig
from controller_client.upsert.columns import SYSTEM_COLUMNS
from controller_client.upsert.settings import is_upsert
from controller_client.zookeeper import PropertyStore

__all__ = ["MisregisteredError", "check_table", "traces_of_upsert"]

_OWN_COLUMNS = {name.lower() for name in SYSTEM_COLUMNS}
_OWN_KEYS = ("updatesemantic", "primarykey")


class MisregisteredError(ConfigError):
    """A table looks like an upsert table but is a plain one: queries would see all of its rows."""


def traces_of_upsert(config: TableConfig, columns: Iterable[str]) -> str | None:
    """Return what makes a plain table look like an upsert table; None if nothing does.

    Args:
        config: The table's config.
        columns: Names of the columns of its schema.
    """
    if is_upsert(config):
        return None
    document = config.to_json()
    custom = (document.get("metadata") or {}).get("customConfigs") or {}
    if str(custom.get("updateSemantic") or "").strip().lower() == "append":
        return None
    keys = [key for key in custom if key.lower() in _OWN_KEYS or key.startswith("upsert.")]
    if keys:
        return f"its customConfigs have {', '.join(sorted(keys))}"
    named = [key for key in document if key.lower() in _OWN_KEYS]
    if named:
        return f"its config has {', '.join(sorted(named))}"
    own = sorted(name for name in columns if name.lower() in _OWN_COLUMNS)
    return f"its schema has {', '.join(own)}" if own else None


def check_table(store: PropertyStore, config: TableConfig) -> None:
    """Refuse a plain table that looks like an upsert table.

    Args:
        store: The cluster's property store, which contains the table's schema.
        config: The table's config.

    Raises:
        MisregisteredError: It looks like an upsert table but is a plain one.
        UnreachableError: ZooKeeper does not answer.
    """
    traces = traces_of_upsert(config, _column_names(store, config))
    if traces is not None:
        name = config.name_with_type
        raise MisregisteredError(
            f"{name} looks like an upsert table ({traces}) but was registered as a plain one: its rows have "
            f"no versions, so queries would see all of them",
            expected="a table created with 'pinotctl upsert create'",
            where=name,
            remedy="delete it and create it from the same files with 'pinotctl upsert create'; the query "
            "option skipUpsert=true shows all of its current rows",
        )


def _column_names(store: PropertyStore, config: TableConfig) -> list[str]:
    for name in config.schema_names:
        found = store.get(f"/SCHEMAS/{name}")
        if found is not None:
            document = json.loads(found.record.simple_fields.get("schemaJSON") or "{}")
            lists = [value for key, value in document.items() if key.endswith("FieldSpecs")]
            return [str(field.get("name")) for fields in lists for field in fields]
    return []
