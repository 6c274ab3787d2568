"""Which Spark types can be stored as which Pinot types, and how Arrow columns are converted.

No value is narrowed or rounded silently. A conversion that could lose information is rejected before the job
starts, and the error names the column.

==========================  ===========================================================================
Spark                       Pinot
==========================  ===========================================================================
boolean                     BOOLEAN, STRING
byte, short, int            INT, LONG, DOUBLE, BIG_DECIMAL, STRING
long                        LONG, BIG_DECIMAL, STRING; TIMESTAMP (epoch milliseconds)
float                       FLOAT, DOUBLE
double                      DOUBLE
decimal                     BIG_DECIMAL, STRING
string, char, varchar       STRING, JSON
binary                      BYTES
date, timestamp             TIMESTAMP; LONG and INT with an EPOCH format, in the format's unit
timestamp_ntz               the same, interpreted as UTC
date                        also STRING (ISO 8601)
array of one of these       multi-value of the type (INT, LONG, FLOAT, DOUBLE, STRING); JSON
map, struct, other arrays   JSON
==========================  ===========================================================================

Pinot's TIMESTAMP has millisecond precision: microseconds are truncated towards the past. Days and hours of an
EPOCH format are in UTC. Pinot itself truncates strings to the field's ``maxLength`` (512 if the schema sets
none) and at a null character.

If ``tableIndexConfig.nullHandlingEnabled`` is set for the table, nulls are preserved: ``IS NULL`` finds them,
and queries with the option ``enableNullHandling=true`` return them (in 0.11 only from servers with
``pinot.server.instance.currentDataTableVersion=4``). Other queries, and all queries of other tables, return
the column's default value instead: ``defaultNullValue`` of the schema, or Pinot's own default (the smallest
INT or LONG, ``"null"``, 0 for a metric). Pinot treats an empty array as a null.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_schema

from controller_client.errors import ConfigError, DataError
from controller_client.models import EpochFormat, Schema, SchemaField
from jvm_bridge.time_conversion import MILLI_NS, steps_of

__all__ = ["ColumnCast", "arrow_schema", "cast_batch", "epoch_format", "plan_casts", "stored_numbers"]

Convert = Callable[[Any], Any]

_MULTI_VALUE = {
    "INT": (spark.ByteType, spark.ShortType, spark.IntegerType),
    "LONG": (spark.ByteType, spark.ShortType, spark.IntegerType, spark.LongType),
    "FLOAT": (spark.FloatType,),
    "DOUBLE": (spark.FloatType, spark.DoubleType),
    "STRING": (spark.StringType,),
}
_INTEGERS = (spark.ByteType, spark.ShortType, spark.IntegerType)
_TIMES = (spark.DateType, spark.TimestampType, spark.TimestampNTZType)
_NESTED = (spark.ArrayType, spark.MapType, spark.StructType)
_JSON_LEAVES = (
    *(spark.NullType, spark.BooleanType, spark.BinaryType, spark.DecimalType, *_TIMES),
    *(spark.StringType, spark.CharType, spark.VarcharType),
    *(*_INTEGERS, spark.LongType, spark.FloatType, spark.DoubleType),
)
# JSON has no such numbers; Spark's to_json writes these strings.
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def arrow_schema(frame: spark.StructType) -> pa.Schema:
    """Return the Arrow schema in which Spark passes a DataFrame, with times in UTC."""
    schema: pa.Schema = to_arrow_schema(frame, timezone="UTC")
    return schema


@dataclass(frozen=True)
class ColumnCast:
    """The conversion of a DataFrame column to a table column.

    Attributes:
        name: Name of both columns.
        convert: Converts an Arrow array of the DataFrame's type to one that the segment builder accepts.
    """

    name: str
    convert: Convert


def plan_casts(
    frame: spark.StructType, schema: Schema, *, required: str | None = None, free_columns: bool = False
) -> tuple[ColumnCast, ...]:
    """Choose the conversion for each column of a DataFrame.

    Args:
        frame: The DataFrame's schema.
        schema: The table's schema.
        required: A column that the DataFrame must have: the table's time column.
        free_columns: Whether the DataFrame may have other columns, which the table's transforms may use.

    Raises:
        ConfigError: Columns do not fit the table (the error names all of them), or the required column is
            missing.
    """
    casts, refused = [], []
    names = frame.fieldNames()
    for column in frame.fields:
        field = schema.field(column.name)
        if names.count(column.name) > 1:
            refused.append(f"{column.name}: appears in the DataFrame more than once")
            continue
        if field is None:
            if free_columns:
                casts.append(ColumnCast(column.name, _same))
            else:
                refused.append(f"{column.name}: the table has no such column{_nearest(column.name, schema)}")
            continue
        convert = _conversion(column.dataType, field)
        if convert is None:
            many = "" if field.single_value else " (multi-value)"
            refused.append(
                f"{column.name}: {column.dataType.simpleString()} cannot be stored as {field.data_type}{many}"
            )
        else:
            casts.append(ColumnCast(column.name, convert))
    if required is not None and required not in names:
        refused.append(f"{required}: the table's time column is missing in the DataFrame")
    if refused:
        raise ConfigError(
            "the DataFrame does not fit the table:\n  " + "\n  ".join(refused),
            expected="columns of the table, with types that can be converted to the table's",
            remedy="cast, rename or drop these columns",
        )
    return tuple(casts)


def cast_batch(batch: pa.RecordBatch, casts: tuple[ColumnCast, ...]) -> pa.RecordBatch:
    """Convert a record batch to the form that the segment builder accepts.

    Raises:
        DataError: A value cannot be stored, e.g. a null in an array.
    """
    columns = []
    for cast in casts:
        try:
            columns.append(cast.convert(batch.column(cast.name)))
        except (pa.ArrowException, ValueError) as error:
            raise DataError(f"column {cast.name}: {error}") from error
    return pa.RecordBatch.from_arrays(columns, names=[cast.name for cast in casts])


def _nearest(name: str, schema: Schema) -> str:
    by_lower = {field.name.lower(): field.name for field in schema.fields}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f", did you mean {by_lower[near[0]]!r}?" if near else ""


def _conversion(kind: spark.DataType, field: SchemaField) -> Convert | None:
    if not field.single_value:
        if isinstance(kind, spark.ArrayType) and isinstance(
            kind.elementType, _MULTI_VALUE.get(field.data_type, ())
        ):
            return _without_null_elements
        return None
    if isinstance(kind, _TIMES):
        return _of_time(kind, field)
    if isinstance(kind, _NESTED):
        return _to_json if field.data_type == "JSON" and _has_json(kind) else None
    return _SCALARS.get((_family(kind), field.data_type))


def _family(kind: spark.DataType) -> str:
    if isinstance(kind, _INTEGERS):
        return "int"
    if isinstance(kind, (spark.StringType, spark.CharType, spark.VarcharType)):
        return "string"
    return kind.typeName().partition("(")[0]


def _of_time(kind: spark.DataType, field: SchemaField) -> Convert | None:
    if field.data_type == "TIMESTAMP":
        return _same
    if field.data_type == "STRING":
        return _to_text if isinstance(kind, spark.DateType) else None
    epoch = EpochFormat.parse(field.format)
    if field.data_type not in ("INT", "LONG") or epoch is None:
        return None
    target = pa.int32() if field.data_type == "INT" else pa.int64()

    return lambda array: steps_of(array, epoch.step_ns).cast(target)


def epoch_format(field: SchemaField) -> EpochFormat | None:
    """Return what the numbers of a time column count; None if it does not contain epoch numbers."""
    if field.data_type == "TIMESTAMP":
        return EpochFormat(1, "MILLISECONDS")
    return EpochFormat.parse(field.format) if field.data_type in ("INT", "LONG") else None


def stored_numbers(array: Any, data_type: str) -> Any:
    """Return the integers that Pinot stores for a converted column of type INT, LONG or TIMESTAMP."""
    if data_type == "TIMESTAMP" and not pa.types.is_integer(array.type):
        return steps_of(array, MILLI_NS)
    return array


def _same(array: Any) -> Any:
    return array


def _to_text(array: Any) -> Any:
    return array.cast(pa.large_string())


def _to_long(array: Any) -> Any:
    return array.cast(pa.int64())


def _to_double(array: Any) -> Any:
    return array.cast(pa.float64())


def _decimal_text(array: Any) -> Any:
    # Like BigDecimal.toPlainString, without an exponent.
    texts = [None if value is None else format(value, "f") for value in array.to_pylist()]
    return pa.array(texts, pa.large_string())


def _without_null_elements(array: Any) -> Any:
    if array.flatten().null_count:
        raise ValueError("an array contains a null, which a multi-value column cannot store")
    return array


def _to_json(array: Any) -> Any:
    texts = [
        None if value is None else json.dumps(_plain(value))
        for value in array.to_pylist(maps_as_pydicts="strict")
    ]
    return pa.array(texts, pa.large_string())


def _has_json(kind: spark.DataType) -> bool:
    if isinstance(kind, spark.ArrayType):
        return _has_json(kind.elementType)
    if isinstance(kind, spark.MapType):
        return not isinstance(kind.keyType, _NESTED) and _has_json(kind.keyType) and _has_json(kind.valueType)
    if isinstance(kind, spark.StructType):
        return all(_has_json(field.dataType) for field in kind.fields)
    return isinstance(kind, _JSON_LEAVES)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return _NOT_FINITE[str(value)]
    return value


def _key(value: Any) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain)


_SCALARS: Mapping[tuple[str, str], Convert] = {
    ("boolean", "BOOLEAN"): _same,
    ("boolean", "STRING"): _to_text,
    ("int", "INT"): _same,
    ("int", "LONG"): _to_long,
    ("int", "DOUBLE"): _to_double,
    ("int", "BIG_DECIMAL"): _to_text,
    ("int", "STRING"): _to_text,
    ("long", "LONG"): _same,
    ("long", "TIMESTAMP"): _same,
    ("long", "BIG_DECIMAL"): _to_text,
    ("long", "STRING"): _to_text,
    ("float", "FLOAT"): _same,
    ("float", "DOUBLE"): _to_double,
    ("double", "DOUBLE"): _same,
    ("decimal", "BIG_DECIMAL"): _decimal_text,
    ("decimal", "STRING"): _decimal_text,
    ("string", "STRING"): _same,
    ("string", "JSON"): _same,
    ("binary", "BYTES"): _same,
}
