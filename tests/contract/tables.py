"""Schemas and table configs of the contract tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

TYPES = ("INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL", "BOOLEAN", "TIMESTAMP", "STRING", "JSON", "BYTES")
MULTI_VALUE_TYPES = ("INT", "LONG", "FLOAT", "DOUBLE", "STRING")
METRIC_TYPES = ("INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL")


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


def columns_of(schema: Mapping[str, Any]) -> Sequence[str]:
    kinds = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs")
    return [spec["name"] for kind in kinds for spec in schema[kind]]
