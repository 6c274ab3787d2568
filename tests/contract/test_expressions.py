"""Transforms and filters over columns give the segment that Pinot's own reader gives, to the byte."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.random_expressions import with_random_expressions
from tests.contract.random_tables import random_table
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

_NAMES = ["Aachen", "bern", "Ünal", "", "ÇA", "日本 x", None, "a,b", "zz"]
ROWS: list[dict[str, Any]] = [
    {
        "ms": None if number == 3 else 1_600_000_000_000 + 43_200_123 * (number % 40) * (-1) ** number,
        "days": 18_000 + number % 9,
        "day_text": f"2021-0{number % 9 + 1}-1{number % 10}",
        "name": _NAMES[number % len(_NAMES)],
        "code": None if number % 11 == 0 else f"c{number % 4}",
        "i": None if number == 5 else (number % 7) - 3,
        "big": 5_000_000_000 + number % 3,
        "d": None if number == 8 else [0.5, -1.25, 3.75, 1e10 + 0.5][number % 4],
        "whole": [2.0, 0.5, -3.0][number % 3],
        "o": None if number == 2 else number % 2 == 0,
        "doc": None if number % 10 == 9 else json.dumps({"a": {"b": number % 5}, "l": [number % 3, "x"]}),
        "spare": None,
    }
    for number in range(100)
]
ARROW_SCHEMA = pa.schema(
    {
        "ms": pa.int64(),
        "days": pa.int32(),
        "day_text": pa.string(),
        "name": pa.string(),
        "code": pa.string(),
        "i": pa.int32(),
        "big": pa.int64(),
        "d": pa.float64(),
        "whole": pa.float64(),
        "o": pa.bool_(),
        "doc": pa.string(),
        "spare": pa.string(),
    }.items()
)
_OWN = {"code": "STRING", "i": "INT", "big": "LONG", "o": "BOOLEAN"}
"""Columns that are taken as they are, whether functions take them too or not."""


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {key: str(value).lower() if isinstance(value, bool) else value for key, value in row.items()}
            )


def _write_json(path: Path, rows: list[dict[str, Any]]) -> None:
    # A key without a value is left out of every other row.
    lines = [
        json.dumps({key: value for key, value in row.items() if value is not None or number % 2})
        for number, row in enumerate(rows)
    ]
    path.write_text("".join(f"{line}\n" for line in lines))


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=ARROW_SCHEMA), path)


WRITERS: Mapping[str, Callable[[Path, list[dict[str, Any]]], None]] = {
    "rows.csv": _write_csv,
    "rows.json": _write_json,
    "rows.parquet": _write_parquet,
}


@dataclass(frozen=True)
class Case:
    """Computed columns, each with its type and its function, and a filter."""

    columns: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    filter_function: str | None = None
    multi_values: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    in_schema: bool = False

    def schema(self) -> dict[str, Any]:
        own = {name: kind for name, kind in _OWN.items() if name not in self.columns}
        extra = {name: {"transformFunction": function} for name, (_, function) in self.columns.items()}
        kinds = {**own, **{name: kind for name, (kind, _) in self.columns.items()}}
        return schema_of(
            {name: kind for name, kind in kinds.items() if kind != "BIG_DECIMAL"},
            metrics={name: kind for name, kind in kinds.items() if kind == "BIG_DECIMAL"},
            multi_values={name: kind for name, (kind, _) in self.multi_values.items()},
            extra=extra if self.in_schema else None,
        )

    def config(self, *, null_handling: bool) -> dict[str, Any]:
        functions = {} if self.in_schema else {name: each for name, (_, each) in self.columns.items()}
        functions |= {name: each for name, (_, each) in self.multi_values.items()} | dict(self.helpers)
        ingestion: dict[str, Any] = {
            "transformConfigs": [
                {"columnName": name, "transformFunction": each} for name, each in functions.items()
            ]
        }
        if self.filter_function is not None:
            ingestion["filterConfig"] = {"filterFunction": self.filter_function}
        return table_config(null_handling=null_handling, ingestionConfig=ingestion)


CASES: Mapping[str, Case] = {
    "epochs": Case(
        {
            "to_days": ("INT", "toEpochDays(ms)"),
            "to_hours": ("LONG", "toEpochHours(ms)"),
            "to_rounded": ("LONG", "toEpochMinutesRounded(ms, 30)"),
            "to_bucket": ("STRING", "toEpochSecondsBucket(ms, 600)"),
            "from_days": ("TIMESTAMP", "fromEpochDays(days)"),
        }
    ),
    "dates": Case(
        {
            "shown": ("STRING", "toDateTime(ms, 'yyyy-MM-dd HH')"),
            "read": ("LONG", "fromDateTime(day_text, 'yyyy-MM-dd')"),
            "days_later": ("INT", "toEpochDays(fromDateTime(day_text, 'yyyy-MM-dd'))"),
        }
    ),
    "texts": Case(
        {
            "lower_name": ("STRING", "lower(name)"),
            "upper_name": ("STRING", "upper(name)"),
            "name_length": ("INT", "length(name)"),
            "name_and_code": ("STRING", "concat(name, code, '-')"),
            "number_as_text": ("STRING", "concat(i, big, '/')"),
        }
    ),
    "numbers": Case(
        {
            "sum": ("DOUBLE", "plus(i, d)"),
            "product": ("FLOAT", "times(i, big)"),
            "less": ("LONG", "plus(big, -5000000000)"),
            "of_whole": ("DOUBLE", "times(whole, 2)"),
        }
    ),
    "renames": Case(
        {
            "i2": ("INT", "i"),
            "i_as_text": ("STRING", "i"),
            "big_as_double": ("DOUBLE", "big"),
            "d_as_text": ("STRING", "d"),
            "o_as_boolean": ("BOOLEAN", "o"),
            "o_as_text": ("STRING", "o"),
            "nothing": ("STRING", "spare"),
            "absent": ("LONG", "unheard_of"),
            "doc_as_json": ("JSON", "doc"),
            "i_as_decimal": ("BIG_DECIMAL", "i"),
            "d_as_decimal": ("BIG_DECIMAL", "d"),
            "code_as_bytes": ("BYTES", "toUtf8(code)"),
        }
    ),
    "paths": Case(
        {
            "b": ("LONG", "jsonPathLong(doc, '$.a.b', -1)"),
            "b_text": ("STRING", "jsonPathString(doc, '$.a.b', 'none')"),
            "a": ("JSON", "jsonPathString(doc, '$.a')"),
        },
        multi_values={"l": ("STRING", "jsonPathArrayDefaultEmpty(doc, '$.l')")},
    ),
    "scripts": Case(
        {
            "plus_one": ("LONG", "Groovy({i + 1}, i)"),
            "both": ("STRING", "Groovy({name + '|' + code}, name, code)"),
            "class_name": ("STRING", "Groovy({i == null ? null : i.getClass().getSimpleName()}, i)"),
            "class_of_big": ("STRING", "Groovy({big.getClass().getSimpleName()}, big)"),
            "class_of_o": ("STRING", "Groovy({o == null ? null : o.getClass().getSimpleName()}, o)"),
            "class_of_d": ("STRING", "Groovy({d == null ? null : d.getClass().getSimpleName()}, d)"),
            "none": ("STRING", "Groovy({'always'})"),
        }
    ),
    "chains": Case(
        {
            "days2": ("INT", "toEpochDays(ms)"),
            "ms2": ("LONG", "fromEpochDays(days2)"),
            "shown2": ("STRING", "toDateTime(helper, 'yyyy-MM-dd')"),
            "code": ("STRING", "upper(name)"),
            "of_code": ("STRING", "concat(code, 'x', '_')"),
        },
        helpers={"helper": "fromEpochDays(days)"},
    ),
    "of the schema": Case(
        {"to_days": ("INT", "toEpochDays(ms)"), "i2": ("STRING", "concat(i, code, '')")}, in_schema=True
    ),
    "a filter alone": Case(filter_function="Groovy({i == 2 || i == null}, i)"),
    "a filter by a function": Case(filter_function="startsWith(code, 'c1')"),
    "a filter by two columns": Case(filter_function="Groovy({i.toString() > '0' && code != 'c2'}, i, code)"),
    "a filter of nothing": Case(filter_function="Groovy({i == 77}, i)"),
    "a filter of a column that is none": Case(filter_function="startsWith(unheard_of, 'x')"),
    "a filter of what is computed": Case(
        {"to_days": ("INT", "toEpochDays(ms)"), "lower_name": ("STRING", "lower(name)")},
        filter_function="Groovy({to_days == null || to_days % 2 == 0}, to_days)",
    ),
    "a filter of all": Case({"i2": ("INT", "i")}, filter_function="Groovy({true}, i)"),
}


def _as_readers_give_it(table: pa.Table) -> pa.Table:
    """Return a table whose booleans are texts, as all of Pinot's readers have them."""
    for number, column in enumerate(table.schema):
        if pa.types.is_boolean(column.type):
            table = table.set_column(number, column.name, table[column.name].cast(pa.string()))
    return table


@pytest.mark.every_pinot
@pytest.mark.parametrize("null_handling", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_arrow_data_gives_what_rows_give(child: SegmentChild, case: str, null_handling: bool) -> None:
    config, schema = CASES[case].config(null_handling=null_handling), CASES[case].schema()
    table = pa.Table.from_pylist(ROWS, schema=ARROW_SCHEMA)
    by_rows = child.build(config, schema, _as_readers_give_it(table), "rows", read_back=True)
    assert "error" not in by_rows
    by_columns = child.build(config, schema, table, "auto", read_back=True)
    assert by_columns == {**by_rows, "reader": "arrow"}


@pytest.mark.parametrize("null_handling", [True, False])
@pytest.mark.parametrize("file_name", WRITERS)
@pytest.mark.parametrize("case", CASES)
def test_same_as_pinot(
    child: SegmentChild, source_dir: Path, case: str, file_name: str, null_handling: bool
) -> None:
    path = source_dir / file_name
    child.require_reader(path)
    WRITERS[file_name](path, ROWS)
    config, schema = CASES[case].config(null_handling=null_handling), CASES[case].schema()
    by_pinot = child.build(config, schema, path, "pinot", read_back=True)
    assert "error" not in by_pinot
    by_columns = child.build(config, schema, path, "auto", read_back=True)
    assert by_columns == {**by_pinot, "reader": "arrow"}


_EACH_RUN, _FULL = 120, 2_000


@pytest.mark.every_pinot
def test_random_tables(child: SegmentChild, request: pytest.FixtureRequest) -> None:
    first = (request.config.option.seed or 0) * _FULL
    count = _FULL if request.config.option.full else _EACH_RUN
    refused, built = [], 0
    for number in range(first, first + count):
        table = random_table(number, of_pinot_1=child.features["is_pinot_1"])
        table = with_random_expressions(table, number, of_existing=True)
        if table.has_build_time:
            continue
        by_columns = child.build(table.config, table.schema, table.rows, "arrow")
        by_rows = child.build(table.config, table.schema, _as_readers_give_it(table.rows), "rows")
        if "error" in by_columns:
            refused += [] if "error" in by_rows else [by_columns["message"]]
            continue
        assert "error" not in by_rows, f"table {number}: {by_rows}; {table}"
        same = ("crc", "rows", "segment_size_bytes")
        found, expected = ([built.get(key) for key in same] for built in (by_columns, by_rows))
        assert found == expected, f"table {number}: {by_columns} is not {by_rows}; {table}"
        built += 1
    assert built > count // 2, refused
    assert len(refused) < count // 4, refused
