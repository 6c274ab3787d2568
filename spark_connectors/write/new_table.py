"""``createTable``: creates a schema and a table from a DataFrame.

=====================================================  =================================================
Spark                                                  Pinot
=====================================================  =================================================
boolean, string, binary                                dimension BOOLEAN, STRING, BYTES
byte, short, int; long                                 dimension INT; LONG
float, double, decimal                                 metric FLOAT, DOUBLE, BIG_DECIMAL
date, timestamp, timestamp_ntz                         date-time TIMESTAMP
array of byte ... double or string                     multi-value dimension INT, LONG, FLOAT, DOUBLE, STRING
other arrays, map, struct                              dimension JSON
=====================================================  =================================================

Whole numbers are dimensions, since they are often keys. To have them as metrics, create the table yourself.
"""

from __future__ import annotations

import difflib
import logging
from contextlib import suppress
from typing import Any

from pyspark.sql import types as spark

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import ConfigError, ConflictError
from controller_client.models import Schema, TableConfig
from spark_connectors.options import WriteOptions
from spark_connectors.zookeeper import locked

__all__ = ["create_table", "schema_of"]

logger = logging.getLogger(__name__)

_DIMENSIONS: tuple[tuple[type[spark.DataType] | tuple[type[spark.DataType], ...], str], ...] = (
    (spark.BooleanType, "BOOLEAN"),
    ((spark.StringType, spark.CharType, spark.VarcharType), "STRING"),
    (spark.BinaryType, "BYTES"),
    ((spark.ByteType, spark.ShortType, spark.IntegerType), "INT"),
    (spark.LongType, "LONG"),
)
_METRICS = ((spark.FloatType, "FLOAT"), (spark.DoubleType, "DOUBLE"), (spark.DecimalType, "BIG_DECIMAL"))
_TIMES = (spark.DateType, spark.TimestampType, spark.TimestampNTZType)
_NO_MULTI_VALUE = ("BOOLEAN", "BYTES", "BIG_DECIMAL")


def create_table(
    client: ControllerClient, table: TableName, frame: spark.StructType, options: WriteOptions
) -> TableConfig:
    """Create a table and, if it does not exist, its schema; of two concurrent writes, one creates them.

    The lock is needed for Pinot 0.11: if two calls create the same table at the same time, the one that fails
    deletes the other's table when it cleans up.

    Args:
        client: The controller.
        table: Table name with type.
        frame: The DataFrame's schema.
        options: The options of the write.

    Returns:
        The table's config as returned by the controller.

    Raises:
        ConfigError: The type of a column has no counterpart, or an option names a missing column.
        RejectedError: Pinot rejects the table.
    """
    schema = schema_of(frame, table.raw)
    config = _config(table.raw, frame, options)
    with locked(options, client, table):
        if not client.tables.exists(table):
            with suppress(ConflictError):
                client.schemas.create(schema)
            client.tables.create(config)
            logger.info("%s was created", table)
    return client.tables.in_use(table)


def schema_of(frame: spark.StructType, name: str) -> Schema:
    """Create a schema according to the table above.

    Raises:
        ConfigError: The type of a column has no counterpart.
    """
    dimensions: list[dict[str, Any]] = []
    metrics: list[dict[str, Any]] = []
    times: list[dict[str, Any]] = []
    for field in frame.fields:
        kind, metric = field.dataType, _found(field.dataType, _METRICS)
        if isinstance(kind, _TIMES):
            unit = "1:MILLISECONDS"
            times.append(
                {
                    "name": field.name,
                    "dataType": "TIMESTAMP",
                    "format": f"{unit}:EPOCH",
                    "granularity": unit,
                }
            )
        elif metric is not None:
            metrics.append({"name": field.name, "dataType": metric})
        else:
            dimensions.append(_dimension(field.name, kind))
    return Schema.from_json(
        {
            "schemaName": name,
            "dimensionFieldSpecs": dimensions,
            "metricFieldSpecs": metrics,
            "dateTimeFieldSpecs": times,
        }
    )


def _dimension(name: str, kind: spark.DataType) -> dict[str, Any]:
    plain = _found(kind, _DIMENSIONS)
    if plain is not None:
        return {"name": name, "dataType": plain}
    if isinstance(kind, spark.ArrayType):
        element = _found(kind.elementType, (*_DIMENSIONS, *_METRICS))
        if element is not None and element not in _NO_MULTI_VALUE:
            return {"name": name, "dataType": element, "singleValueField": False}
    if isinstance(kind, (spark.ArrayType, spark.MapType, spark.StructType)):
        return {"name": name, "dataType": "JSON"}
    raise ConfigError(
        f"column {name}: Pinot has no type for {kind.simpleString()}", remedy="cast or drop the column"
    )


def _found(kind: spark.DataType, pairs: Any) -> str | None:
    return next((name for types, name in pairs if isinstance(kind, types)), None)


def _config(raw_table: str, frame: spark.StructType, options: WriteOptions) -> TableConfig:
    segments: dict[str, Any] = {"replication": str(options.replication)}
    indexing: dict[str, Any] = {"nullHandlingEnabled": options.null_handling}
    if options.time_column is not None:
        _check_columns("timeColumnName", (options.time_column,), frame)
        if not isinstance(frame[options.time_column].dataType, _TIMES):
            raise ConfigError(
                f"'timeColumnName' {options.time_column} has the type"
                f" {frame[options.time_column].dataType.simpleString()}",
                expected="a date or timestamp column",
                remedy="cast it, or create the table yourself with the format of its numbers",
            )
        segments["timeColumnName"] = options.time_column
    for option, key, columns in (
        ("invertedIndexColumns", "invertedIndexColumns", options.inverted_index_columns),
        ("noDictionaryColumns", "noDictionaryColumns", options.no_dictionary_columns),
        ("bloomFilterColumns", "bloomFilterColumns", options.bloom_filter_columns),
        ("rangeIndexColumns", "rangeIndexColumns", options.range_index_columns),
        ("sortedColumn", "sortedColumn", (options.sorted_column,) if options.sorted_column else ()),
    ):
        if columns:
            _check_columns(option, columns, frame)
            indexing[key] = list(columns)
    return TableConfig.from_json(
        {
            "tableName": raw_table,
            "tableType": "OFFLINE",
            "segmentsConfig": segments,
            "tenants": {},
            "tableIndexConfig": indexing,
            "metadata": {},
        }
    )


def _check_columns(option: str, columns: tuple[str, ...], frame: spark.StructType) -> None:
    names = frame.fieldNames()
    for column in columns:
        if column not in names:
            near = difflib.get_close_matches(column, names, n=1)
            raise ConfigError(
                f"{option!r} names the column {column!r}, which the DataFrame does not have"
                + (f", did you mean {near[0]!r}?" if near else ""),
                expected=", ".join(names),
            )
