from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyspark.sql import types as spark

from controller_client.errors import ConfigError, DataError
from controller_client.models import Schema
from spark_connectors.types import arrow_schema, cast_batch, plan_casts

PINOT_TYPES = (
    *("INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL", "BOOLEAN"),
    *("TIMESTAMP", "STRING", "JSON", "BYTES"),
)
# The module's table, row by row; times stored as TIMESTAMP and EPOCH formats have their own tests.
FITTING: dict[spark.DataType, set[str]] = {
    spark.BooleanType(): {"BOOLEAN", "STRING"},
    spark.ByteType(): {"INT", "LONG", "DOUBLE", "BIG_DECIMAL", "STRING"},
    spark.ShortType(): {"INT", "LONG", "DOUBLE", "BIG_DECIMAL", "STRING"},
    spark.IntegerType(): {"INT", "LONG", "DOUBLE", "BIG_DECIMAL", "STRING"},
    spark.LongType(): {"LONG", "BIG_DECIMAL", "STRING", "TIMESTAMP"},
    spark.FloatType(): {"FLOAT", "DOUBLE"},
    spark.DoubleType(): {"DOUBLE"},
    spark.DecimalType(20, 3): {"BIG_DECIMAL", "STRING"},
    spark.StringType(): {"STRING", "JSON"},
    spark.VarcharType(9): {"STRING", "JSON"},
    spark.CharType(9): {"STRING", "JSON"},
    spark.BinaryType(): {"BYTES"},
    spark.DateType(): {"TIMESTAMP", "STRING"},
    spark.TimestampType(): {"TIMESTAMP"},
    spark.TimestampNTZType(): {"TIMESTAMP"},
    spark.ArrayType(spark.IntegerType()): {"JSON"},
    spark.MapType(spark.LongType(), spark.StringType()): {"JSON"},
    spark.StructType([spark.StructField("a", spark.DateType())]): {"JSON"},
    spark.ArrayType(spark.DayTimeIntervalType()): set(),
    spark.MapType(spark.StructType([]), spark.StringType()): set(),
    spark.NullType(): set(),
    spark.DayTimeIntervalType(): set(),
}
MULTI: dict[spark.DataType, set[str]] = {
    spark.ByteType(): {"INT", "LONG"},
    spark.IntegerType(): {"INT", "LONG"},
    spark.LongType(): {"LONG"},
    spark.FloatType(): {"FLOAT", "DOUBLE"},
    spark.DoubleType(): {"DOUBLE"},
    spark.StringType(): {"STRING"},
    spark.BooleanType(): set(),
    spark.ArrayType(spark.IntegerType()): set(),
}


def table(data_type: str, *, many: bool = False, epoch: str | None = None) -> Schema:
    spec: dict[str, Any] = {"name": "c", "dataType": data_type}
    if epoch is not None:
        spec |= {"format": epoch, "granularity": "1:DAYS"}
        return Schema.from_json({"schemaName": "t", "dateTimeFieldSpecs": [spec]})
    return Schema.from_json(
        {"schemaName": "t", "dimensionFieldSpecs": [{**spec, "singleValueField": not many}]}
    )


def frame(*columns: tuple[str, spark.DataType]) -> spark.StructType:
    return spark.StructType([spark.StructField(name, kind) for name, kind in columns])


def fits(kind: spark.DataType, schema: Schema) -> bool:
    try:
        plan_casts(frame(("c", kind)), schema)
    except ConfigError as error:
        if f"c: {kind.simpleString()} cannot be stored as" not in str(error):
            raise
        return False
    return True


def elsewhere(kind: Any) -> Any:
    """Return an Arrow type with its times in another zone than UTC."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(elsewhere(field.type)) for field in kind])
    return pa.timestamp("us", "Asia/Kolkata") if kind == pa.timestamp("us", "UTC") else kind


def cast(kind: spark.DataType, schema: Schema, values: list[Any]) -> list[Any]:
    arrow_type = elsewhere(arrow_schema(frame(("c", kind))).field("c").type)
    batch = pa.RecordBatch.from_arrays([pa.array(values, arrow_type)], names=["c"])
    found: list[Any] = (
        cast_batch(batch, plan_casts(frame(("c", kind)), schema))
        .column("c")
        .to_pylist(maps_as_pydicts="strict")
    )
    return found


@pytest.mark.parametrize("kind", FITTING, ids=lambda kind: kind.simpleString())
def test_single_values(kind: spark.DataType) -> None:
    assert {name for name in PINOT_TYPES if fits(kind, table(name))} == FITTING[kind]


@pytest.mark.parametrize("kind", MULTI, ids=lambda kind: kind.simpleString())
def test_multi_values(kind: spark.DataType) -> None:
    array = spark.ArrayType(kind)
    assert {name for name in PINOT_TYPES if fits(array, table(name, many=True))} == MULTI[kind]
    if not isinstance(kind, spark.ArrayType):
        assert not any(fits(kind, table(name, many=True)) for name in PINOT_TYPES)


@pytest.mark.parametrize(
    ("kind", "data_type", "values", "expected"),
    [
        (spark.BooleanType(), "STRING", [True, None, False], ["true", None, "false"]),
        (spark.ByteType(), "LONG", [-128, None, 127], [-128, None, 127]),
        (spark.ShortType(), "STRING", [-5, None], ["-5", None]),
        (spark.IntegerType(), "DOUBLE", [2**31 - 1, None], [2147483647.0, None]),
        (spark.LongType(), "BIG_DECIMAL", [-(2**63), 2**63 - 1], [str(-(2**63)), str(2**63 - 1)]),
        (spark.FloatType(), "DOUBLE", [0.5, float("inf")], [0.5, float("inf")]),
        (
            spark.DecimalType(38, 10),
            "STRING",
            [Decimal("0.0000000001"), Decimal("-1e20"), None],
            ["0.0000000001", "-100000000000000000000.0000000000", None],
        ),
        (spark.DateType(), "STRING", [date(1, 1, 1), date(9999, 12, 31)], ["0001-01-01", "9999-12-31"]),
    ],
)
def test_values(kind: spark.DataType, data_type: str, values: list[Any], expected: list[Any]) -> None:
    assert cast(kind, table(data_type), values) == expected


EPOCHS = {
    "1:MICROSECONDS:EPOCH": timedelta(microseconds=1),
    "1:MILLISECONDS:EPOCH": timedelta(milliseconds=1),
    "EPOCH|MILLISECONDS|1": timedelta(milliseconds=1),
    "EPOCH|SECONDS": timedelta(seconds=1),
    "5:MINUTES:EPOCH": timedelta(minutes=5),
    "1:HOURS:EPOCH": timedelta(hours=1),
    "EPOCH|DAYS|1": timedelta(days=1),
    "7:DAYS:EPOCH": timedelta(days=7),
}
BEGIN = datetime(1970, 1, 1)  # noqa: DTZ001 - what Spark calls TIMESTAMP_NTZ


@given(moments=st.lists(st.none() | st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1))))  # noqa: DTZ001
@example(moments=[datetime(1969, 12, 31, 23, 59, 59, 999999), None, BEGIN])  # noqa: DTZ001
def test_epoch_units_round_towards_the_past(moments: list[datetime | None]) -> None:
    aware = [None if moment is None else moment.replace(tzinfo=UTC) for moment in moments]
    days = [None if moment is None else moment.date() for moment in moments]
    since = [None if day is None else timedelta(days=day.toordinal() - BEGIN.toordinal()) for day in days]
    for epoch, unit in EPOCHS.items():
        schema = table("LONG", epoch=epoch)
        expected = [None if moment is None else (moment - BEGIN) // unit for moment in moments]
        assert cast(spark.TimestampNTZType(), schema, moments) == expected, epoch
        assert cast(spark.TimestampType(), schema, aware) == expected, epoch
        whole_days = [None if each is None else each // unit for each in since]
        assert cast(spark.DateType(), schema, days) == whole_days, epoch


def test_an_epoch_too_large_for_the_column_is_rejected() -> None:
    schema = table("INT", epoch="1:SECONDS:EPOCH")
    last = datetime(2038, 1, 19, 3, 14, 7, tzinfo=UTC)
    assert cast(spark.TimestampType(), schema, [last]) == [2**31 - 1]
    with pytest.raises(DataError, match="column c"):
        cast(spark.TimestampType(), schema, [last + timedelta(seconds=1)])


@pytest.mark.parametrize("epoch", ["1:DAYS:SIMPLE_DATE_FORMAT:yyyyMMdd", "0:DAYS:EPOCH", "1:WEEKS:EPOCH"])
def test_times_cannot_be_stored_in_other_formats(epoch: str) -> None:
    assert not fits(spark.TimestampType(), table("LONG", epoch=epoch))


def test_a_null_in_an_array_is_rejected() -> None:
    schema, kind = table("STRING", many=True), spark.ArrayType(spark.StringType())
    assert cast(kind, schema, [["a", ""], [], None]) == [["a", ""], [], None]
    with pytest.raises(DataError, match="column c: an array contains a null"):
        cast(kind, schema, [["a"], ["b", None]])


def test_nested_values_become_json() -> None:
    kind = spark.StructType(
        [
            spark.StructField("map", spark.MapType(spark.IntegerType(), spark.DateType())),
            spark.StructField("flags", spark.MapType(spark.BooleanType(), spark.DoubleType())),
            spark.StructField("list", spark.ArrayType(spark.DecimalType(9, 2))),
            spark.StructField("bytes", spark.BinaryType()),
            spark.StructField("at", spark.TimestampType()),
        ]
    )
    values: list[Any] = [
        None,
        {
            "map": {7: date(2020, 2, 29), 8: None},
            "flags": {True: float("-inf"), False: 0.5},
            "list": [Decimal("1.20"), None],
            "bytes": b"\x00\xff",
            "at": datetime(2020, 1, 1, tzinfo=UTC),
        },
        {"map": None, "flags": {}, "list": [], "bytes": None, "at": None},
    ]
    texts = cast(kind, table("JSON"), values)
    assert texts[0] is None
    assert json.loads(texts[1]) == {
        "map": {"7": "2020-02-29", "8": None},
        "flags": {"true": "-Infinity", "false": 0.5},
        "list": ["1.20", None],
        "bytes": "00ff",
        "at": "2020-01-01T05:30:00+05:30",
    }
    assert json.loads(texts[2]) == {"map": None, "flags": {}, "list": [], "bytes": None, "at": None}


def test_all_faults_are_reported_at_once() -> None:
    schema = Schema.from_json(
        {
            "schemaName": "t",
            "dimensionFieldSpecs": [{"name": "City", "dataType": "STRING"}, {"name": "n", "dataType": "INT"}],
        }
    )
    columns = frame(
        ("city", spark.StringType()),
        ("n", spark.LongType()),
        ("x", spark.LongType()),
        ("x", spark.LongType()),
    )
    with pytest.raises(ConfigError) as caught:
        plan_casts(columns, schema, required="ts")
    text = str(caught.value)
    assert "city: the table has no such column, did you mean 'City'?" in text
    assert "n: bigint cannot be stored as INT" in text
    assert "x: appears in the DataFrame more than once" in text
    assert "ts: the table's time column is missing" in text


def test_columns_for_transforms_are_passed_unchanged() -> None:
    casts = plan_casts(frame(("other", spark.DoubleType())), table("INT"), free_columns=True)
    batch = pa.RecordBatch.from_pydict({"other": [1.5]})
    assert cast_batch(batch, casts) == batch
