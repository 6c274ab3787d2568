from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as spark

from controller_client.errors import DataError
from spark_connectors.read.assemble import assemble, null_positions
from spark_connectors.read.columns import ReadColumn, target_schema
from spark_connectors.read.data_table import DataTable, plain_decimal

NUMBER = ReadColumn("n", "INT", True, spark.IntegerType())
LIST = ReadColumn("l", "LONG", False, spark.ArrayType(spark.LongType(), containsNull=False))
ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans()), min_size=1, max_size=60)


def table_of(segments: list[str], numbers: list[int]) -> DataTable:
    count = len(segments)
    return DataTable(
        count,
        (
            pa.array(range(count), pa.int32()),
            pa.array([[n] * (n % 3) for n in range(count)], pa.list_(pa.int64())),
            pa.array(segments),
            pa.array(numbers, pa.int32()),
        ),
    )


@given(rows=ROWS)
def test_nulls_are_at_their_positions(rows: list[tuple[str, bool, bool]]) -> None:
    segments = [segment for segment, _, _ in rows]
    numbers = [segments[:n].count(segment) * 2 for n, segment in enumerate(segments)]
    nulls = {}
    for name, which in (("n", 1), ("l", 2)):
        here = [n for n, row in enumerate(rows) if row[which]]
        answer = table_of([segments[n] for n in here], [numbers[n] for n in here])
        nulls[name] = null_positions(iter([answer] if here else []))
    batches = list(assemble(table_of(segments, numbers), (NUMBER, LIST), nulls))
    whole = pa.Table.from_batches(batches)
    assert whole.schema.equals(target_schema((NUMBER, LIST)))
    assert whole["n"].to_pylist() == [None if row[1] else n for n, row in enumerate(rows)]
    assert whole["l"].to_pylist() == [None if row[2] else [n] * (n % 3) for n, row in enumerate(rows)]


def test_batches_are_as_large_as_sparks_own() -> None:
    table = table_of(["a"] * 25_000, list(range(25_000)))
    batches = list(assemble(table, (NUMBER, LIST), {"n": {"a": np.array([24_999])}}))
    assert [batch.num_rows for batch in batches] == [10_000, 10_000, 5_000]
    assert batches[-1]["n"].null_count == 1


def test_values_that_do_not_fit() -> None:
    rows = DataTable(2, (pa.array(["1.5", "1.25"]),))
    fits = ReadColumn("big", "BIG_DECIMAL", True, spark.DecimalType(5, 2))
    assert next(assemble(rows, (fits,), {}))["big"].to_pylist() == [Decimal("1.50"), Decimal("1.25")]
    short = ReadColumn("big", "BIG_DECIMAL", True, spark.DecimalType(5, 1))
    with pytest.raises(DataError, match="column big contains a value that does not fit the type decimal"):
        list(assemble(rows, (short,), {}))
    strict = ReadColumn("n", "INT", True, spark.IntegerType(), nullable=False)
    with pytest.raises(DataError, match="column n contains nulls"):
        list(assemble(table_of(["a"], [0]), (strict, LIST), {"n": {"a": np.array([0])}}))


@given(value=st.decimals(allow_nan=False, allow_infinity=False))
def test_decimals_are_written_without_exponents(value: Decimal) -> None:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    text = plain_decimal(unscaled, -exponent)
    assert Decimal(text) == value
    assert "E" not in text
