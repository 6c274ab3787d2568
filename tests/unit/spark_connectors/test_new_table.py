from __future__ import annotations

import pytest
from pyspark.sql import types as spark

from controller_client.errors import ConfigError
from spark_connectors.types import plan_casts
from spark_connectors.write.new_table import schema_of

FRAME = spark.StructType(
    [
        spark.StructField(kind.simpleString(), kind)
        for kind in (
            *(spark.BooleanType(), spark.StringType(), spark.BinaryType(), spark.ByteType()),
            *(spark.ShortType(), spark.IntegerType(), spark.LongType(), spark.FloatType()),
            *(spark.DoubleType(), spark.DecimalType(10, 2), spark.DateType(), spark.TimestampType()),
            *(spark.TimestampNTZType(), spark.ArrayType(spark.ByteType())),
            *(spark.ArrayType(spark.LongType()), spark.ArrayType(spark.FloatType())),
            *(spark.ArrayType(spark.StringType()), spark.ArrayType(spark.BooleanType())),
            *(spark.ArrayType(spark.DecimalType(10, 2)), spark.ArrayType(spark.DateType())),
            spark.MapType(spark.StringType(), spark.LongType()),
            spark.StructType([spark.StructField("a", spark.LongType())]),
        )
    ]
)


def test_every_type_has_a_counterpart_that_accepts_it() -> None:
    schema = schema_of(FRAME, "t")
    assert {
        field.name: (field.role.value, field.data_type, field.single_value) for field in schema.fields
    } == {
        "boolean": ("DIMENSION", "BOOLEAN", True),
        "string": ("DIMENSION", "STRING", True),
        "binary": ("DIMENSION", "BYTES", True),
        "tinyint": ("DIMENSION", "INT", True),
        "smallint": ("DIMENSION", "INT", True),
        "int": ("DIMENSION", "INT", True),
        "bigint": ("DIMENSION", "LONG", True),
        "float": ("METRIC", "FLOAT", True),
        "double": ("METRIC", "DOUBLE", True),
        "decimal(10,2)": ("METRIC", "BIG_DECIMAL", True),
        "date": ("DATE_TIME", "TIMESTAMP", True),
        "timestamp": ("DATE_TIME", "TIMESTAMP", True),
        "timestamp_ntz": ("DATE_TIME", "TIMESTAMP", True),
        "array<tinyint>": ("DIMENSION", "INT", False),
        "array<bigint>": ("DIMENSION", "LONG", False),
        "array<float>": ("DIMENSION", "FLOAT", False),
        "array<string>": ("DIMENSION", "STRING", False),
        "array<boolean>": ("DIMENSION", "JSON", True),
        "array<decimal(10,2)>": ("DIMENSION", "JSON", True),
        "array<date>": ("DIMENSION", "JSON", True),
        "map<string,bigint>": ("DIMENSION", "JSON", True),
        "struct<a:bigint>": ("DIMENSION", "JSON", True),
    }
    assert len(plan_casts(FRAME, schema)) == len(FRAME.fields)


def test_a_type_without_a_counterpart() -> None:
    with pytest.raises(ConfigError, match="column c: Pinot has no type for interval"):
        schema_of(spark.StructType([spark.StructField("c", spark.DayTimeIntervalType())]), "t")
