"""Schemas and table configs of the contract tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from hypothesis import settings

ARROW_TYPES: Mapping[str, pa.DataType] = {
    "INT": pa.int32(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BIG_DECIMAL": pa.string(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.int64(),
    "STRING": pa.string(),
    "JSON": pa.string(),
    "BYTES": pa.binary(),
}
TYPES = tuple(ARROW_TYPES)
MULTI_VALUE_TYPES = ("INT", "LONG", "FLOAT", "DOUBLE", "STRING")
MULTI_VALUE_TYPES_SINCE_1 = (*MULTI_VALUE_TYPES, "BOOLEAN", "TIMESTAMP", "BYTES")
FIELD_KINDS = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")


def schema_of(
    dimensions: Mapping[str, str],
    *,
    multi_values: Mapping[str, str] | None = None,
    metrics: Mapping[str, str] | None = None,
    times: Mapping[str, str] | None = None,
    extra: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return a schema; the values of ``times`` are a format, all LONG; ``extra`` adds keys to a field."""
    more = extra or {}

    def spec(name: str, data_type: str, **keys: Any) -> dict[str, Any]:
        return {"name": name, "dataType": data_type, **keys, **more.get(name, {})}

    return {
        "schemaName": "t",
        "dimensionFieldSpecs": [spec(name, kind) for name, kind in dimensions.items()]
        + [spec(name, kind, singleValueField=False) for name, kind in (multi_values or {}).items()],
        "metricFieldSpecs": [spec(name, kind) for name, kind in (metrics or {}).items()],
        "dateTimeFieldSpecs": [
            spec(name, "LONG", format=kind, granularity="1:DAYS") for name, kind in (times or {}).items()
        ],
    }


def arrow_schema(schema: Mapping[str, Any]) -> pa.Schema:
    """Return the types of an Arrow table that fits a table."""
    specs = [spec for kind in FIELD_KINDS for spec in schema.get(kind, ())]
    kinds = {spec["name"]: ARROW_TYPES[spec["dataType"]] for spec in specs}
    many = {spec["name"] for spec in specs if not spec.get("singleValueField", True)}
    return pa.schema([(name, pa.list_(kind) if name in many else kind) for name, kind in kinds.items()])


def table_config(
    *,
    time_column: str | None = None,
    null_handling: bool = True,
    indexing: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    segments = {"replication": "1", **({"timeColumnName": time_column} if time_column else {})}
    return {
        "tableName": "t_OFFLINE",
        "tableType": "OFFLINE",
        "segmentsConfig": segments,
        "tenants": {},
        "tableIndexConfig": {"loadMode": "MMAP", "nullHandlingEnabled": null_handling, **(indexing or {})},
        "metadata": {},
        **more,
    }


def examples(few: int, many: int) -> int:
    """Return how many examples a random test tries: few by default, many with ``--full`` or ``--seed``."""
    return few if settings().max_examples <= 100 else many
