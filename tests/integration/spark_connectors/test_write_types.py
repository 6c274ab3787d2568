"""Every type written by Spark and read back by SQL, value by value."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import Row, SparkSession

from controller_client.broker.client import BrokerClient
from tests.integration.spark_connectors.conftest import MakeTable
from tests.support.cluster import PinotCluster

TYPES = {
    "bool": ("boolean", "BOOLEAN"),
    "bool_text": ("boolean", "STRING"),
    "byte_int": ("tinyint", "INT"),
    "short_long": ("smallint", "LONG"),
    "int_int": ("int", "INT"),
    "int_double": ("int", "DOUBLE"),
    "int_decimal": ("int", "BIG_DECIMAL"),
    "int_text": ("int", "STRING"),
    "long_long": ("bigint", "LONG"),
    "long_decimal": ("bigint", "BIG_DECIMAL"),
    "long_text": ("bigint", "STRING"),
    "long_time": ("bigint", "TIMESTAMP"),
    "float_float": ("float", "FLOAT"),
    "float_double": ("float", "DOUBLE"),
    "double_double": ("double", "DOUBLE"),
    "decimal_decimal": ("decimal(38,18)", "BIG_DECIMAL"),
    "decimal_text": ("decimal(12,4)", "STRING"),
    "text": ("string", "STRING"),
    "text_json": ("string", "JSON"),
    "bytes": ("binary", "BYTES"),
    "date_time": ("date", "TIMESTAMP"),
    "date_text": ("date", "STRING"),
    "ts": ("timestamp", "TIMESTAMP"),
    "ntz": ("timestamp_ntz", "TIMESTAMP"),
    "map_json": ("map<string,array<int>>", "JSON"),
    "struct_json": ("struct<a:int,b:string>", "JSON"),
}
EPOCHS = {
    "ts_days": ("timestamp", "INT", "1:DAYS:EPOCH"),
    "date_days": ("date", "LONG", "1:DAYS:EPOCH"),
    "ts_seconds": ("timestamp", "LONG", "1:SECONDS:EPOCH"),
    "ntz_millis": ("timestamp_ntz", "LONG", "1:MILLISECONDS:EPOCH"),
}
MANY = {
    "ints": ("array<int>", "INT"),
    "longs": ("array<bigint>", "LONG"),
    "floats": ("array<float>", "FLOAT"),
    "doubles": ("array<double>", "DOUBLE"),
    "texts": ("array<string>", "STRING"),
}
SCHEMA: dict[str, Any] = {
    "dimensionFieldSpecs": [
        {"name": "row", "dataType": "INT"},
        *({"name": name, "dataType": pinot} for name, (_, pinot) in TYPES.items() if pinot != "BIG_DECIMAL"),
        *({"name": name, "dataType": pinot, "singleValueField": False} for name, (_, pinot) in MANY.items()),
    ],
    # Pinot 0.11 supports BIG_DECIMAL only for metrics.
    "metricFieldSpecs": [
        {"name": name, "dataType": pinot} for name, (_, pinot) in TYPES.items() if pinot == "BIG_DECIMAL"
    ],
    "dateTimeFieldSpecs": [
        {"name": name, "dataType": pinot, "format": text, "granularity": "1:DAYS"}
        for name, (_, pinot, text) in EPOCHS.items()
    ],
}
DDL = ", ".join(
    ["`row` int"]
    + [f"`{name}` {kind}" for name, (kind, _) in TYPES.items()]
    + [f"`{name}` {kind}" for name, (kind, _, _) in EPOCHS.items()]
    + [f"`{name}` {kind}" for name, (kind, _) in MANY.items()]
)

EARLY = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
LATE = datetime(2262, 1, 1, 12, 30, 15, 123_456, tzinfo=UTC)
UNICODE = 'ü 漢字 🙂 "quoted", \\ back;slash\nline'
FLOAT_MAX = 3.4028234663852886e38
FLOAT_MAX_TEXT = 3.4028235e38  # the shortest text of that float

# Spark's value and the answer in SQL: the smallest, the largest, and an empty one if there is one.
VALUES: dict[str, list[tuple[Any, Any]]] = {
    "bool": [(True, True), (False, False)],
    "bool_text": [(True, "true"), (False, "false")],
    "byte_int": [(-128, -128), (127, 127)],
    "short_long": [(-(2**15), -(2**15)), (2**15 - 1, 2**15 - 1)],
    "int_int": [(-(2**31) + 1, -(2**31) + 1), (2**31 - 1, 2**31 - 1), (0, 0)],
    "int_double": [(2**31 - 1, 2147483647.0), (-1, -1.0)],
    "int_decimal": [(2**31 - 1, Decimal(2147483647)), (-1, Decimal(-1))],
    "int_text": [(-(2**31), "-2147483648"), (0, "0")],
    "long_long": [(-(2**63) + 1, -(2**63) + 1), (2**63 - 1, 2**63 - 1), (0, 0)],
    "long_decimal": [(-(2**63), Decimal(-(2**63))), (2**63 - 1, Decimal(2**63 - 1))],
    "long_text": [(2**63 - 1, "9223372036854775807")],
    "long_time": [(0, "1970-01-01 00:00:00.0"), (1577836800123, "2020-01-01 00:00:00.123")],
    "float_float": [(1.5, 1.5), (FLOAT_MAX, FLOAT_MAX_TEXT), (float("-inf"), float("-inf"))],
    "float_double": [(0.5, 0.5), (FLOAT_MAX, FLOAT_MAX)],
    "double_double": [(5e-324, 5e-324), (1.7976931348623157e308, 1.7976931348623157e308), (-0.1, -0.1)],
    "decimal_decimal": [
        (Decimal("12345678901234567890.123456789012345678"),) * 2,
        (Decimal("-0.000000000000000001"),) * 2,
    ],
    "decimal_text": [(Decimal("-1.5"), "-1.5000"), (Decimal("99999999.9999"), "99999999.9999")],
    "text": [("", ""), (UNICODE, UNICODE), (" spaced ", " spaced "), ("null", "null")],
    "text_json": [('{"a": [1, "ü"]}', {"a": [1, "ü"]}), ('"text"', "text")],
    "bytes": [(b"", ""), (bytes(range(256)), bytes(range(256)).hex())],
    "date_time": [
        (date(1969, 12, 31), "1969-12-31 00:00:00.0"),
        (date(2024, 2, 29), "2024-02-29 00:00:00.0"),
    ],
    "date_text": [(date(1, 1, 1), "0001-01-01"), (date(9999, 12, 31), "9999-12-31")],
    "ts": [(EARLY, "1969-12-31 23:59:59.999"), (LATE, "2262-01-01 12:30:15.123")],
    "ntz": [
        (EARLY.replace(tzinfo=None), "1969-12-31 23:59:59.999"),
        (LATE.replace(tzinfo=None), "2262-01-01 12:30:15.123"),
    ],
    "map_json": [({"k": [1, None]}, {"k": [1, None]}), ({}, {})],
    "struct_json": [(Row(a=1, b="ü"), {"a": 1, "b": "ü"}), (Row(a=None, b=None), {"a": None, "b": None})],
    "ts_days": [(EARLY, -1), (datetime(2020, 1, 1, 23, tzinfo=UTC), 18262)],
    "date_days": [(date(1969, 12, 31), -1), (date(2020, 1, 1), 18262)],
    "ts_seconds": [(EARLY, -1), (LATE, int(LATE.timestamp()))],
    "ntz_millis": [(EARLY.replace(tzinfo=None), -1)],
    "ints": [([1, -(2**31) + 1, 2**31 - 1], [1, -(2**31) + 1, 2**31 - 1]), ([7], [7])],
    "longs": [([2**63 - 1, 0], [2**63 - 1, 0])],
    "floats": [([1.5, -FLOAT_MAX], [1.5, -FLOAT_MAX_TEXT])],
    "doubles": [([0.1, 5e-324], [0.1, 5e-324])],
    "texts": [(["", "b", UNICODE], ["", "b", UNICODE]), (["one"], ["one"])],
}
COLUMNS = [*TYPES, *EPOCHS, *MANY]
LEAST_INT, LEAST_LONG = -(2**31), -(2**63)
# The default values for null in dimensions (for BIG_DECIMAL, in metrics).
DEFAULTS: dict[str, Any] = {
    "INT": LEAST_INT,
    "LONG": LEAST_LONG,
    "FLOAT": float("-inf"),
    "DOUBLE": float("-inf"),
    "BIG_DECIMAL": Decimal(0),
    "BOOLEAN": False,
    "TIMESTAMP": "1970-01-01 00:00:00.0",
    "STRING": "null",
    "JSON": "null",
    "BYTES": "",
}
ROWS = max(len(values) for values in VALUES.values())


def pinot_type(column: str) -> str:
    return next(table[column][1] for table in (TYPES, EPOCHS, MANY) if column in table)


def spark_rows() -> list[tuple[Any, ...]]:
    rows = [
        (number, *(VALUES[name][number % len(VALUES[name])][0] for name in COLUMNS)) for number in range(ROWS)
    ]
    return [*rows, (ROWS, *(None for _ in COLUMNS))]


def answers(broker: BrokerClient, table: str) -> dict[str, list[Any]]:
    """Return the answers in SQL, by column."""
    select = ", ".join(f'"{name}"' for name in COLUMNS)
    result = broker.query(f'select {select} from "{table}" order by "row" limit 100')
    return {name: [row[number] for row in result.rows] for number, name in enumerate(COLUMNS)}


def null_rows(broker: BrokerClient, table: str, column: str) -> list[int]:
    """Return the numbers of the null rows according to SQL."""
    rows = broker.query(f'select "row" from "{table}" where "{column}" is null limit 100').rows
    return [row[0] for row in rows]


def expected(column: str) -> list[Any]:
    values = VALUES[column]
    return [values[number % len(values)][1] for number in range(ROWS)]


def read(column: str, values: list[Any]) -> list[Any]:
    """Compare JSON by content."""
    if pinot_type(column) != "JSON":
        return values
    return [value if value in (None, "null") else json.loads(value) for value in values]


def test_every_type(spark: SparkSession, make_table: MakeTable, pinot: PinotCluster) -> None:
    frame = spark.createDataFrame(spark_rows(), DDL).coalesce(1)
    with_nulls, without = (
        make_table(SCHEMA, tableIndexConfig={"nullHandlingEnabled": kept}) for kept in (True, False)
    )
    with BrokerClient([pinot.broker_url]) as broker:
        for table, nulls in ((with_nulls, [ROWS]), (without, [])):
            table.write(frame, "append")
            found = answers(broker, table.name)
            assert {name: read(name, values[:ROWS]) for name, values in found.items()} == {
                name: expected(name) for name in COLUMNS
            }
            assert {name: values[ROWS] for name, values in found.items()} == {
                name: [DEFAULTS[pinot_type(name)]] if name in MANY else DEFAULTS[pinot_type(name)]
                for name in COLUMNS
            }
            assert {name: null_rows(broker, table.name, name) for name in COLUMNS} == dict.fromkeys(
                COLUMNS, nulls
            )
