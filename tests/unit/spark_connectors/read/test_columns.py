from __future__ import annotations

import pytest
from pyspark.sql import types as spark

from controller_client.errors import ConfigError
from controller_client.models import Schema
from spark_connectors.read.columns import choose, columns_of, spark_schema

SCHEMA = Schema.from_json(
    {
        "schemaName": "t",
        "dimensionFieldSpecs": [
            {"name": "i", "dataType": "INT"},
            {"name": "tags", "dataType": "STRING", "singleValueField": False},
            {"name": "big", "dataType": "BIG_DECIMAL"},
        ],
        "metricFieldSpecs": [{"name": "f", "dataType": "FLOAT"}],
        "dateTimeFieldSpecs": [
            {"name": "at", "dataType": "TIMESTAMP", "format": "TIMESTAMP", "granularity": "1:MILLISECONDS"}
        ],
    }
)
COLUMNS = columns_of(SCHEMA, None)


def test_types_in_the_order_of_the_schema() -> None:
    found = [(field.name, field.dataType.simpleString()) for field in spark_schema(COLUMNS).fields]
    assert found == [
        ("i", "int"),
        ("tags", "array<string>"),
        ("big", "string"),
        ("f", "float"),
        ("at", "timestamp"),
    ]
    assert columns_of(SCHEMA, (20, 2), ["big"])[0].spark_type == spark.DecimalType(20, 2)


def struct(**fields: spark.DataType) -> spark.StructType:
    return spark.StructType([spark.StructField(name, kind) for name, kind in fields.items()])


@pytest.mark.parametrize(
    "asked",
    [
        struct(f=spark.FloatType(), i=spark.IntegerType()),
        struct(i=spark.LongType()),
        struct(f=spark.DoubleType()),
        struct(big=spark.DecimalType(10, 2)),
        struct(at=spark.LongType()),
        struct(tags=spark.ArrayType(spark.StringType())),
    ],
)
def test_a_schema_of_the_user(asked: spark.StructType) -> None:
    assert spark_schema(choose(COLUMNS, asked)) == asked


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (struct(j=spark.IntegerType()), "no column j"),
        (struct(i=spark.ShortType()), "i: smallint, but the column is read as int"),
        (
            struct(i=spark.IntegerType(), at=spark.StringType()),
            "at: string, but the column is read as timestamp",
        ),
        (struct(tags=spark.StringType()), "but the column is read as array<string>"),
        (struct(i=spark.ArrayType(spark.IntegerType())), "but the column is read as int"),
        (struct(big=spark.DoubleType()), "but the column is read as string"),
        (struct(), "no columns"),
    ],
)
def test_a_schema_that_does_not_fit(asked: spark.StructType, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        choose(COLUMNS, asked)


def test_unknown_names_and_types() -> None:
    with pytest.raises(ConfigError, match="no column nowhere"):
        columns_of(SCHEMA, None, ["i", "nowhere"])
    odd = Schema.from_json({"schemaName": "t", "dimensionFieldSpecs": [{"name": "m", "dataType": "MAP"}]})
    with pytest.raises(ConfigError, match="column m has the type MAP"):
        columns_of(odd, None)
