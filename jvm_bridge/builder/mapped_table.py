"""The table configs and schemas for mapping rows, before they go into segments of the real table.

All of them are JSON, in Pinot's own layout; without a JVM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["late_columns", "needs_plain_segments", "plain_config", "stored_schema", "unsorted"]

_NO_LIMIT = 2**31 - 1
_SPECS = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")


def needs_plain_segments(table_config: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Return whether Pinot's mapper cannot read this table's files itself."""
    return bool(late_columns(schema) or (table_config.get("ingestionConfig") or {}).get("complexTypeConfig"))


def late_columns(schema: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of the columns that mapped rows cannot store in their final form."""
    specs = [spec for kind in _SPECS for spec in schema.get(kind) or ()]
    return [spec["name"] for spec in specs if _mapped_type(spec) != spec.get("dataType")]


def _mapped_type(spec: Mapping[str, Any]) -> Any:
    """Return the type with which a stored value passes through the mapper unchanged."""
    data_type = spec.get("dataType")
    if data_type == "BIG_DECIMAL":
        return "BYTES"
    if data_type == "BYTES" and spec.get("singleValueField") is False:
        return "STRING"
    return data_type


def unsorted(table_config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table config without sorted columns, which would make the mapper reorder rows."""
    indexing = {**(table_config.get("tableIndexConfig") or {})}
    indexing.pop("sortedColumn", None)
    return {**table_config, "tableIndexConfig": indexing}


def plain_config(table_config: Mapping[str, Any], single_value: Sequence[str]) -> dict[str, Any]:
    """Return the table config with everything that affects rows, but without indexes.

    Args:
        table_config: The table's config.
        single_value: Names of the single-value columns: their values are stored without a dictionary.
    """
    indexing = table_config.get("tableIndexConfig") or {}
    plain = {key: value for key, value in table_config.items() if key != "fieldConfigList"}
    plain["tableIndexConfig"] = {
        "loadMode": "MMAP",
        "nullHandlingEnabled": indexing.get("nullHandlingEnabled", False),
        "noDictionaryColumns": list(single_value),
    }
    return plain


def stored_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of rows read from a segment: no derived columns, and other types for late columns."""
    return {**schema, **{kind: [_stored(spec) for spec in schema.get(kind) or ()] for kind in _SPECS}}


def _stored(spec: Mapping[str, Any]) -> dict[str, Any]:
    stored = {key: value for key, value in spec.items() if key != "transformFunction"}
    if _mapped_type(spec) != stored.get("dataType"):
        stored.pop("defaultNullValue", None)
        stored |= {"dataType": _mapped_type(spec), "maxLength": _NO_LIMIT}
    return stored
