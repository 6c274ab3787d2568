"""Results as rows, dicts, and Arrow, pandas and polars tables."""

from __future__ import annotations

import json
import math
import pickle
import sys
from datetime import datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.broker.client import Column, QueryResult, QueryStats
from controller_client.broker.reply import parse_answer
from controller_client.errors import ConfigError, DataError, SetupError

_STATS = QueryStats(1, 1, 1, 1, 0, 1, 1, 1, False, False, 0, False)


def result(columns: dict[str, str], *rows: list[Any]) -> QueryResult:
    """Return a result as parsed from Pinot's response."""
    schema = {"columnNames": list(columns), "columnDataTypes": list(columns.values())}
    document = parse_answer(json.dumps({"resultTable": {"dataSchema": schema, "rows": rows}}).encode())
    found = tuple(Column(name, kind) for name, kind in columns.items())
    return QueryResult(found, document["resultTable"]["rows"], _STATS, "http://broker")


def one(kind: str, *values: Any) -> QueryResult:
    return result({"x": kind}, *([value] for value in values))


@pytest.mark.parametrize(
    ("kind", "values", "arrow", "expected"),
    [
        ("INT", [1, None], pa.int32(), [1, None]),
        ("LONG", [2**63 - 1, -(2**63)], pa.int64(), [2**63 - 1, -(2**63)]),
        ("FLOAT", [1.5, "-Infinity", None], pa.float32(), [1.5, -math.inf, None]),
        ("DOUBLE", [0.1, "Infinity", 3], pa.float64(), [0.1, math.inf, 3.0]),
        ("BOOLEAN", [True, False, None], pa.bool_(), [True, False, None]),
        (
            "TIMESTAMP",
            ["2023-11-14 22:13:20.123", "1967-04-06 23:59:59.9", "1970-01-01 00:00:00.0", None],
            pa.timestamp("ms"),
            [
                datetime(2023, 11, 14, 22, 13, 20, 123000),  # noqa: DTZ001  # the broker's zone
                datetime(1967, 4, 6, 23, 59, 59, 900000),  # noqa: DTZ001
                datetime(1970, 1, 1),  # noqa: DTZ001
                None,
            ],
        ),
        ("STRING", ["ü", None], pa.string(), ["ü", None]),
        ("JSON", ['{"a":1}'], pa.string(), ['{"a":1}']),
        ("BYTES", ["00ff", "", None], pa.binary(), [b"\x00\xff", b"", None]),
        ("INT_ARRAY", [[1, 2], [], None, [3]], pa.list_(pa.int32()), [[1, 2], [], None, [3]]),
        ("STRING_ARRAY", [None, ["a"]], pa.list_(pa.string()), [None, ["a"]]),
        ("DOUBLE_ARRAY", [["Infinity", 1.5]], pa.list_(pa.float64()), [[math.inf, 1.5]]),
        ("BYTES_ARRAY", [["AP8="]], pa.list_(pa.string()), [["AP8="]]),
        ("MAP", [{"a": 1}, None], pa.string(), ['{"a": 1}', None]),
        ("UNKNOWN", [None], pa.string(), [None]),
    ],
)
def test_arrow_keeps_pinots_types(kind: str, values: list[Any], arrow: pa.DataType, expected: Any) -> None:
    table = one(kind, *values).to_arrow()
    assert table.schema.field("x").type == arrow
    assert table.column("x").to_pylist() == expected


def test_nan_is_not_null() -> None:
    found = one("DOUBLE", "NaN", None)
    assert math.isnan(found.to_arrow().column("x")[0].as_py())
    frame = found.to_pandas()
    assert frame.dtypes["x"] == pd.Float64Dtype()
    assert [value is pd.NA for value in frame["x"]] == [False, True]
    assert found.to_polars()["x"].is_null().to_list() == [False, True]


def _places(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


# With 26 digits before the point and 50 after it, all values of a list fit Arrow's 76 digits.
_DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**25), max_value=10**25).filter(
    lambda value: _places(value) <= 50
)


@given(st.lists(st.none() | _DECIMALS, max_size=5))
def test_decimals_are_exact_as_strings_and_as_numbers(values: list[Decimal | None]) -> None:
    plain = [None if value is None else format(value, "f") for value in values]
    written = [plain, [None if text is None else f"#{text}#" for text in plain]]
    for texts in written:
        # 0.11 writes numbers, later versions strings.
        raw = json.dumps([[text] for text in texts]).replace('"#', "").replace('#"', "")
        schema = {"columnNames": ["x"], "columnDataTypes": ["BIG_DECIMAL"]}
        content = f'{{"resultTable": {{"dataSchema": {json.dumps(schema)}, "rows": {raw}}}}}'
        cells = parse_answer(content.encode())["resultTable"]["rows"]
        found = QueryResult((Column("x", "BIG_DECIMAL"),), cells, _STATS, "")
        assert [row[0] for row in found.rows] == values
        assert found.to_pandas()["x"].tolist() == values
        assert found.to_arrow().column("x").to_pylist() == values


@pytest.mark.parametrize(
    ("text", "arrow"),
    [
        ("9" * 38, pa.decimal128(38, 0)),
        ("-0.5", pa.decimal128(38, 1)),
        ("9" * 30 + "." + "9" * 30, pa.decimal256(76, 30)),
        ("-" + "9" * 38, pa.decimal128(38, 0)),
    ],
)
def test_decimals_have_the_digits_of_their_values(text: str, arrow: pa.DataType) -> None:
    column = one("BIG_DECIMAL", text, "1").to_arrow().column("x")
    assert (column.type, column[0].as_py()) == (arrow, Decimal(text))


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_zero_before_the_point_is_no_digit(sign: str) -> None:
    text = f"{sign}0.{'9' * 76}"
    column = one("BIG_DECIMAL", text).to_arrow().column("x")
    assert (column.type, column[0].as_py()) == (pa.decimal256(76, 76), Decimal(text))


def test_a_value_that_does_not_fit_names_its_column() -> None:
    endless = one("BIG_DECIMAL", "9" * 77)
    with pytest.raises(DataError, match=r"column x \(BIG_DECIMAL\).*77 digits"):
        endless.to_arrow()
    assert endless.to_pandas()["x"][0] == Decimal("9" * 77)
    with pytest.raises(DataError, match="column x have more than the 38 digits"):
        one("BIG_DECIMAL", "9" * 39).to_polars()
    with pytest.raises(DataError, match="Julian calendar"):
        one("TIMESTAMP", "1500-01-01 00:00:00.0").to_arrow()
    with pytest.raises(DataError, match="column x"):
        one("TIMESTAMP", "no time").to_pandas()


def test_pandas_has_nullable_types_if_there_are_nulls() -> None:
    names = ("INT", "LONG", "FLOAT", "BOOLEAN", "STRING", "INT_ARRAY", "BYTES")
    kinds = dict(zip("ilfbsad", names, strict=True))
    row = [1, 2, 0.5, True, "x", [1], "0f"]
    whole = result(kinds, row).to_pandas()
    assert [str(each) for each in whole.dtypes] == [
        *("int32", "int64", "float32", "bool", "object", "object", "object")
    ]
    assert whole["a"].tolist() == [[1]]
    assert whole["d"].tolist() == [b"\x0f"]
    some = result(kinds, row, [None] * len(kinds)).to_pandas()
    assert [str(each) for each in some.dtypes] == [
        *("Int32", "Int64", "Float32", "boolean", "object", "object", "object")
    ]
    assert some["l"].tolist() == [2, pd.NA]
    times = one("TIMESTAMP", "2023-11-14 22:13:20.123", None).to_pandas()["x"]
    assert (str(times.dtype), times.isna().tolist()) == ("datetime64[ms]", [False, True])


def test_polars_has_the_types_of_arrow() -> None:
    kinds = {"i": "INT", "t": "TIMESTAMP", "d": "BIG_DECIMAL", "a": "STRING_ARRAY", "b": "BYTES"}
    frame = result(kinds, [1, "2023-11-14 22:13:20.123", "1.50", ["x"], "0f"]).to_polars()
    assert frame.schema == {
        "i": pl.Int32(),
        "t": pl.Datetime("ms"),
        "d": pl.Decimal(38, 2),
        "a": pl.List(pl.String()),
        "b": pl.Binary(),
    }
    assert frame.row(0)[2:] == (Decimal("1.50"), ["x"], b"\x0f")


def test_rows_dicts_and_iteration() -> None:
    found = result({"a": "INT", "b": "DOUBLE"}, [1, "NaN"], [2, 3])
    assert [row[0] for row in found] == [1, 2]
    assert found.dicts()[1] == {"a": 2, "b": 3.0}
    assert type(found.rows[1][1]) is float
    assert found.rows is found.rows
    assert pickle.loads(pickle.dumps(found)).dicts()[1] == {"a": 2, "b": 3.0}  # noqa: S301  # made here


def test_two_columns_with_the_same_name() -> None:
    found = QueryResult((Column("n", "INT"), Column("n", "INT")), [[1, 2]], _STATS, "")
    for call in (found.dicts, found.to_polars):
        with pytest.raises(ConfigError, match="several columns with the name n"):
            call()
    assert found.to_arrow().num_columns == 2
    assert found.to_pandas().iloc[0].tolist() == [1, 2]


def test_a_result_without_segments() -> None:
    empty = QueryResult((), (), _STATS, "")
    assert (empty.rows, empty.dicts(), list(empty)) == ((), [], [])
    assert empty.to_arrow().num_columns == 0
    assert empty.to_pandas().empty
    assert one("BIG_DECIMAL").to_arrow().num_rows == 0
    assert one("INT_ARRAY").to_pandas().columns.tolist() == ["x"]


def test_a_lone_surrogate_is_read() -> None:
    schema = '{"columnNames": ["x"], "columnDataTypes": ["STRING"]}'
    content = f'{{"resultTable": {{"dataSchema": {schema}, "rows": [["\\ud800"]]}}}}'.encode()
    assert parse_answer(content)["resultTable"]["rows"] == [["\ud800"]]


@pytest.mark.parametrize(
    ("module", "call", "extra"),
    [("pyarrow", "to_arrow", "arrow"), ("pandas", "to_pandas", "pandas"), ("polars", "to_polars", "polars")],
)
def test_a_missing_module_names_the_extra(
    module: str, call: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("controller_client.broker.")]:
        if name.endswith(("arrow", "_frame")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "controller_client.common.arrow_types", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SetupError, match=f"Python module {module}") as caught:
        getattr(one("INT", 1), call)()
    assert caught.value.remedy == f"pip install 'pinot-plugins[{extra}]'"
