"""Every type written by Spark, and read back by SQL and in each way by Spark, value by value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row, SparkSession

from tests.integration.spark_connectors.conftest import Connector, MakeTable, SparkTable

LEAST_INT, LEAST_LONG = -(2**31), -(2**63)
# The default values for null in dimensions (for BIG_DECIMAL, in metrics), and the types that Spark reads.
DEFAULTS: dict[str, tuple[Any, str]] = {
    "INT": (LEAST_INT, "int"),
    "LONG": (LEAST_LONG, "bigint"),
    "FLOAT": (float("-inf"), "float"),
    "DOUBLE": (float("-inf"), "double"),
    "BIG_DECIMAL": (Decimal(0), "string"),
    "BOOLEAN": (False, "boolean"),
    "TIMESTAMP": ("1970-01-01 00:00:00.0", "timestamp"),
    "STRING": ("null", "string"),
    "JSON": ("null", "string"),
    "BYTES": ("", "binary"),
}


@dataclass(frozen=True)
class Column:
    """A column, with values (the smallest, the largest, an empty one) and their answers in SQL."""

    spark: str
    pinot: str
    values: list[tuple[Any, Any]]
    format: str | None = None

    @property
    def is_array(self) -> bool:
        return self.spark.startswith("array")

    @property
    def default(self) -> Any:
        value = self.comparable(DEFAULTS[self.pinot][0])
        return [value] if self.is_array else value

    @property
    def read_type(self) -> str:
        name = DEFAULTS[self.pinot][1]
        return f"array<{name}>" if self.is_array else name

    def expected(self) -> list[Any]:
        answers = [self.values[number % len(self.values)][1] for number in range(ROWS)]
        return answers if self.pinot == "JSON" else [self.comparable(answer) for answer in answers]

    def comparable(self, value: Any) -> Any:
        """Return a value that is equal for SQL's answer, and for what Spark reads."""
        if value is None or (value == "null" and self.pinot == "JSON"):
            return value
        if isinstance(value, list):
            return [self.comparable(each) for each in value]
        match self.pinot:
            case "JSON":  # by content
                return json.loads(value)
            case "BIG_DECIMAL":
                return Decimal(value)
            case "FLOAT":
                return float(np.float32(value))
            case "BYTES":
                return value if isinstance(value, str) else value.hex()
            case "TIMESTAMP" if isinstance(value, str):
                return datetime.fromisoformat(value).replace(tzinfo=UTC)
            case "TIMESTAMP":
                return value.astimezone(UTC)
        return value


EARLY = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
LATE = datetime(2262, 1, 1, 12, 30, 15, 123_456, tzinfo=UTC)
UNICODE = 'ü 漢字 🙂 "quoted", \\ back;slash\nline'
FLOAT_MAX = 3.4028234663852886e38
FLOAT_MAX_TEXT = 3.4028235e38  # the shortest text of that float

# Spark's type, Pinot's, the values with their answers in SQL, and the format of a time column.
_COLUMNS: dict[str, tuple[Any, ...]] = {
    "bool": ("boolean", "BOOLEAN", [(True, True), (False, False)]),
    "bool_text": ("boolean", "STRING", [(True, "true"), (False, "false")]),
    "byte_int": ("tinyint", "INT", [(-128, -128), (127, 127)]),
    "short_long": ("smallint", "LONG", [(-(2**15), -(2**15)), (2**15 - 1, 2**15 - 1)]),
    "int_int": ("int", "INT", [(-(2**31) + 1, -(2**31) + 1), (2**31 - 1, 2**31 - 1), (0, 0)]),
    "int_double": ("int", "DOUBLE", [(2**31 - 1, 2147483647.0), (-1, -1.0)]),
    "int_decimal": ("int", "BIG_DECIMAL", [(2**31 - 1, Decimal(2147483647)), (-1, Decimal(-1))]),
    "int_text": ("int", "STRING", [(-(2**31), "-2147483648"), (0, "0")]),
    "long_long": ("bigint", "LONG", [(-(2**63) + 1, -(2**63) + 1), (2**63 - 1, 2**63 - 1), (0, 0)]),
    "long_decimal": (
        "bigint",
        "BIG_DECIMAL",
        [(-(2**63), Decimal(-(2**63))), (2**63 - 1, Decimal(2**63 - 1))],
    ),
    "long_text": ("bigint", "STRING", [(2**63 - 1, "9223372036854775807")]),
    "long_time": (
        "bigint",
        "TIMESTAMP",
        [(0, "1970-01-01 00:00:00.0"), (1577836800123, "2020-01-01 00:00:00.123")],
    ),
    "float_float": (
        "float",
        "FLOAT",
        [(1.5, 1.5), (FLOAT_MAX, FLOAT_MAX_TEXT), (float("-inf"), float("-inf"))],
    ),
    "float_double": ("float", "DOUBLE", [(0.5, 0.5), (FLOAT_MAX, FLOAT_MAX)]),
    "double_double": (
        "double",
        "DOUBLE",
        [(5e-324, 5e-324), (1.7976931348623157e308, 1.7976931348623157e308), (-0.1, -0.1)],
    ),
    "decimal_decimal": (
        "decimal(38,18)",
        "BIG_DECIMAL",
        [
            (Decimal("12345678901234567890.123456789012345678"),) * 2,
            (Decimal("-0.000000000000000001"),) * 2,
        ],
    ),
    "decimal_text": (
        "decimal(12,4)",
        "STRING",
        [(Decimal("-1.5"), "-1.5000"), (Decimal("99999999.9999"), "99999999.9999")],
    ),
    "text": ("string", "STRING", [("", ""), (UNICODE, UNICODE), (" spaced ", " spaced "), ("null", "null")]),
    "text_json": ("string", "JSON", [('{"a": [1, "ü"]}', {"a": [1, "ü"]}), ('"text"', "text")]),
    "bytes": ("binary", "BYTES", [(b"", ""), (bytes(range(256)), bytes(range(256)).hex())]),
    "date_time": (
        "date",
        "TIMESTAMP",
        [
            (date(1969, 12, 31), "1969-12-31 00:00:00.0"),
            (date(2024, 2, 29), "2024-02-29 00:00:00.0"),
        ],
    ),
    "date_text": ("date", "STRING", [(date(1, 1, 1), "0001-01-01"), (date(9999, 12, 31), "9999-12-31")]),
    "ts": ("timestamp", "TIMESTAMP", [(EARLY, "1969-12-31 23:59:59.999"), (LATE, "2262-01-01 12:30:15.123")]),
    "ntz": (
        "timestamp_ntz",
        "TIMESTAMP",
        [
            (EARLY.replace(tzinfo=None), "1969-12-31 23:59:59.999"),
            (LATE.replace(tzinfo=None), "2262-01-01 12:30:15.123"),
        ],
    ),
    "map_json": ("map<string,array<int>>", "JSON", [({"k": [1, None]}, {"k": [1, None]}), ({}, {})]),
    "struct_json": (
        "struct<a:int,b:string>",
        "JSON",
        [(Row(a=1, b="ü"), {"a": 1, "b": "ü"}), (Row(a=None, b=None), {"a": None, "b": None})],
    ),
    "ts_days": (
        "timestamp",
        "INT",
        [(EARLY, -1), (datetime(2020, 1, 1, 23, tzinfo=UTC), 18262)],
        "1:DAYS:EPOCH",
    ),
    "date_days": ("date", "LONG", [(date(1969, 12, 31), -1), (date(2020, 1, 1), 18262)], "1:DAYS:EPOCH"),
    "ts_seconds": ("timestamp", "LONG", [(EARLY, -1), (LATE, int(LATE.timestamp()))], "1:SECONDS:EPOCH"),
    "ntz_millis": ("timestamp_ntz", "LONG", [(EARLY.replace(tzinfo=None), -1)], "1:MILLISECONDS:EPOCH"),
    "ints": ("array<int>", "INT", [([1, -(2**31) + 1, 2**31 - 1], [1, -(2**31) + 1, 2**31 - 1]), ([7], [7])]),
    "longs": ("array<bigint>", "LONG", [([2**63 - 1, 0], [2**63 - 1, 0])]),
    "floats": ("array<float>", "FLOAT", [([1.5, -FLOAT_MAX], [1.5, -FLOAT_MAX_TEXT])]),
    "doubles": ("array<double>", "DOUBLE", [([0.1, 5e-324], [0.1, 5e-324])]),
    "texts": ("array<string>", "STRING", [(["", "b", UNICODE], ["", "b", UNICODE]), (["one"], ["one"])]),
}
COLUMNS = {name: Column(*parts) for name, parts in _COLUMNS.items()}
SCHEMA: dict[str, Any] = {
    "dimensionFieldSpecs": [
        {"name": "row", "dataType": "INT"},
        *(
            {"name": name, "dataType": column.pinot, "singleValueField": not column.is_array}
            for name, column in COLUMNS.items()
            if column.pinot != "BIG_DECIMAL" and column.format is None
        ),
    ],
    # Pinot 0.11 supports BIG_DECIMAL only for metrics.
    "metricFieldSpecs": [
        {"name": name, "dataType": column.pinot}
        for name, column in COLUMNS.items()
        if column.pinot == "BIG_DECIMAL"
    ],
    "dateTimeFieldSpecs": [
        {"name": name, "dataType": column.pinot, "format": column.format, "granularity": "1:DAYS"}
        for name, column in COLUMNS.items()
        if column.format
    ],
}
ROWS = max(len(column.values) for column in COLUMNS.values())
DDL = ", ".join(["`row` int", *(f"`{name}` {column.spark}" for name, column in COLUMNS.items())])


def spark_rows() -> list[tuple[Any, ...]]:
    rows = [
        (number, *(column.values[number % len(column.values)][0] for column in COLUMNS.values()))
        for number in range(ROWS)
    ]
    return [*rows, (ROWS, *(None for _ in COLUMNS))]


def answers(table: SparkTable) -> dict[str, list[Any]]:
    """Return the answers in SQL, by column."""
    select = ", ".join(f'"{name}"' for name in COLUMNS)
    by_column = zip(*table.query(select, 'order by "row" limit 100'), strict=True)
    return {
        name: [column.comparable(answer) for answer in found]
        for (name, column), found in zip(COLUMNS.items(), by_column, strict=True)
    }


def null_rows(table: SparkTable) -> dict[str, list[int]]:
    """Return the numbers of the null rows according to SQL, by column."""
    where = {name: f'where "{name}" is null limit 100' for name in COLUMNS}
    return {name: [row for (row,) in table.query('"row"', where[name])] for name in COLUMNS}


@pytest.fixture
def far_from_utc(spark: SparkSession) -> Iterator[None]:
    """Use a session time zone other than UTC: timestamps are the same instants in every zone."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield
    spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.usefixtures("far_from_utc")
def test_every_type(spark: SparkSession, make_table: MakeTable) -> None:
    frame = spark.createDataFrame(spark_rows(), DDL).coalesce(1)
    table = make_table(SCHEMA)
    table.write(frame, "append")
    assert answers(table) == {name: [*column.expected(), column.default] for name, column in COLUMNS.items()}
    assert null_rows(table) == {name: [ROWS] for name in COLUMNS}

    def check(way: str) -> None:
        found = spark.read.format("pinot").options(**table.options, readFrom=way).load()
        types = {name: column.read_type for name, column in COLUMNS.items()}
        assert dict(found.drop("row").dtypes) == types, way
        rows = sorted(found.collect(), key=lambda row: row.row)
        read = {name: [column.comparable(row[name]) for row in rows] for name, column in COLUMNS.items()}
        assert read == {name: [*column.expected(), None] for name, column in COLUMNS.items()}, way

    with ThreadPoolExecutor() as pool:
        list(pool.map(check, ("servers", "segments", "broker")))
    exact = {"columns": "row,decimal_decimal", "decimalType": "decimal(38,18)"}
    found = spark.read.format("pinot").options(**table.options, **exact).load()
    assert found.dtypes == [("row", "int"), ("decimal_decimal", "decimal(38,18)")]
    decimals = [row.decimal_decimal for row in sorted(found.collect(), key=lambda row: int(row.row))]
    assert decimals == [*COLUMNS["decimal_decimal"].expected(), None]


def test_a_table_that_keeps_no_nulls(
    spark: SparkSession, connector: Connector, make_table: MakeTable
) -> None:
    table = make_table(SCHEMA, tableIndexConfig={"nullHandlingEnabled": False})
    # All columns but one are null.
    connector.write(table.options, "append", spark.createDataFrame([], DDL).schema, [{"row": 1}])
    assert answers(table) == {name: [column.default] for name, column in COLUMNS.items()}
    assert not any(null_rows(table).values())
    (read,) = connector.read(table.options, columns="int_int,text,ints")
    assert read == {"int_int": LEAST_INT, "text": "null", "ints": [LEAST_INT]}
