"""Random table configs and schemas with all the fields of Pinot's own classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

__all__ = ["COLUMNS", "TABLE_CONFIG", "other_value", "schemas", "table_configs"]

TABLE_CONFIG = "org.apache.pinot.spi.config.table.TableConfig"

COLUMNS = ("alpha", "beta", "gamma", "delta", "ts")

# Fields that identify the table or decide where it is stored.
_FIXED = {"tableName", "tableType", "replication", "replicasPerPartition", "tenants", "schemaName"}
_FIXED |= {"isDimTable", "instancePartitionsMap", "tableSamplers"}
_REQUIRED = {"name", "taskTypeConfigsMap", "columnName", "columnPartitionMap", "functionName", "tag"}
_REQUIRED |= {
    "numPartitions",
    "constraints",
    "segmentSelectorType",
    "storageType",
    "enricherType",
    "dimensionsSplitOrder",
}
_REQUIRED |= {"functionColumnPairs", "tagPoolConfig", "replicaGroupPartitionConfig", "mode", "dedupEnabled"}
_WORDS = {
    **dict.fromkeys(("segmentPushType", "segmentIngestionType"), ("APPEND", "REFRESH")),
    **dict.fromkeys(("segmentPushFrequency", "segmentIngestionFrequency"), ("DAILY", "HOURLY")),
    **dict.fromkeys(("retentionTimeUnit", "untrackedSegmentsRetentionTimeUnit"), ("DAYS", "HOURS")),
    "timeType": ("DAYS", "HOURS", "MILLISECONDS"),
    "retentionTimeValue": ("3000", "4000"),
    "untrackedSegmentsRetentionTimeValue": ("3", "4"),
    "untrackedSegmentsDeletionBatchSize": ("100", "200"),
    "deletedSegmentsRetentionPeriod": ("1d", "7d"),
    "loadMode": ("MMAP", "HEAP"),
    "segmentFormatVersion": ("v1", "v3"),
    "columnMinMaxValueGeneratorMode": ("NONE", "ALL", "TIME"),
    "storage": ("1G", "200M"),
    "maxQueriesPerSecond": ("10.5", "20.5"),
    "segmentAge": ("30d", "60d"),
    "segmentSelectorType": ("time", "fixed"),
    "storageType": ("pinot_server",),
    "functionName": ("Murmur", "Modulo"),
    "completionMode": ("DEFAULT", "DOWNLOAD"),
    "timeColumnName": ("ts",),
    "peerSegmentDownloadScheme": ("http", "https"),
    "functionColumnPairs": ("SUM__delta", "MAX__delta", "COUNT__*"),
    "partitionSelector": ("INSTANCE_REPLICA_GROUP_PARTITION_SELECTOR",),
    "aggregationFunction": ("SUM(delta)", "MAX(delta)"),
    "format": ("1:DAYS:EPOCH", "1:MILLISECONDS:EPOCH"),
    "targetMaxChunkSize": ("1M", "2M"),
}
_DATA_TYPES = ("INT", "LONG", "FLOAT", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP", "BYTES", "JSON")

_text = st.text(alphabet="abcäöß_ .'\"#:-${}01", min_size=1, max_size=12).map(lambda text: f"x{text}")
_columns = st.sampled_from(COLUMNS)


def table_configs(classes: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return configs of offline tables, without their names.

    Args:
        classes: Fields by class, as :mod:`tests.support.class_fields` prints them.
    """
    return _object(classes, TABLE_CONFIG)


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Return schemas, without their names, with a time column ``ts`` and others."""
    dimension = st.fixed_dictionaries(
        {"dataType": st.sampled_from(_DATA_TYPES)},
        optional={
            "singleValueField": st.booleans(),
            "maxLength": st.integers(1, 10_000),
            "notNull": st.booleans(),
            "virtualColumnProvider": _text,
        },
    )
    metric = st.fixed_dictionaries(
        {"dataType": st.sampled_from(("INT", "LONG", "DOUBLE"))},
        optional={"defaultNullValue": st.integers(0, 9)},
    )
    grains = st.sampled_from(("1:MILLISECONDS", "1:DAYS"))
    kinds = st.sampled_from(("LONG", "TIMESTAMP"))
    time = st.fixed_dictionaries({"dataType": kinds, "granularity": grains})
    return st.builds(_schema, st.lists(dimension, min_size=3, max_size=3), metric, time, st.booleans())


def _schema(
    dimensions: list[dict[str, Any]], metric: dict[str, Any], time: dict[str, Any], keyed: bool
) -> dict[str, Any]:
    named = [{"name": name, **field} for name, field in zip(COLUMNS, dimensions, strict=False)]
    for field in named:
        if field["dataType"] in ("BOOLEAN", "TIMESTAMP", "JSON", "BYTES"):
            field.pop("singleValueField", None)
    named[0].pop("virtualColumnProvider", None)  # such a column cannot be a key
    document = {
        "dimensionFieldSpecs": named,
        "metricFieldSpecs": [{"name": "delta", **metric}],
        "dateTimeFieldSpecs": [{"name": "ts", "format": "1:MILLISECONDS:EPOCH", **time}],
    }
    return {**document, "primaryKeyColumns": ["alpha"]} if keyed else document


def _object(classes: Mapping[str, Any], name: str) -> st.SearchStrategy[dict[str, Any]]:
    fields = {key: each for key, each in classes[name].items() if key not in _FIXED}
    values = {key: _value(classes, key, each) for key, each in fields.items()}
    known = {key: value for key, value in values.items() if value is not None}
    required = {key for key in known if fields[key].get("required") or key in _REQUIRED}
    return st.fixed_dictionaries(
        {key: value for key, value in known.items() if key in required},
        optional={key: value for key, value in known.items() if key not in required},
    )


def _value(classes: Mapping[str, Any], key: str, wanted: Mapping[str, Any]) -> Any:
    kind = wanted["kind"]
    if key in _WORDS and kind in ("text", "list"):
        words = st.sampled_from(_WORDS[key])
        return words if kind == "text" else st.lists(words, min_size=1, max_size=2, unique=True)
    if kind == "text":
        return _columns if "column" in key.lower() else _text
    if kind == "whole":
        return st.integers(1, 1000)
    if kind == "number":
        return st.sampled_from((0.25, 0.5, 0.75))
    if kind == "truth":
        return st.booleans()
    if kind == "choice":
        return st.sampled_from(wanted["choices"])
    if kind == "object":
        return _object(classes, wanted["class"])
    if kind == "map":
        inner = _value(classes, "", wanted["of"])
        return None if inner is None else st.dictionaries(_columns, inner, max_size=2)
    if kind == "list":
        of = wanted["of"]["kind"]
        inner = _columns if of == "text" else _value(classes, "", wanted["of"])
        return None if inner is None else st.lists(inner, max_size=2, unique=of in ("text", "choice"))
    return None


def other_value(key: str, value: Any, choices: list[str] | None) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value / 2 or 0.25
    for words in ((choices or ()), _WORDS.get(key, ())):
        others = [word for word in words if word != value]
        if others:
            return others[0]
    return f"{value}x"
