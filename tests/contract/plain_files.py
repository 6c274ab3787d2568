"""Rows of all plain types, and files with them in each format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.contract.avro_files import AVRO_TYPES, write_avro_file
from tests.contract.tables import MULTI_VALUE_TYPES, arrow_schema, schema_of, table_config

STRINGS = ["foo", "", None, "Zürich", "日本", "😀 smile", "a b", "x" * 600, "nul\0cut", "a,b"]
STRINGS += ["ünïcödé" * 100]
SCHEMA = schema_of(
    {f"d_{kind.lower()}": kind for kind in ("INT", "LONG", "FLOAT", "DOUBLE", "BOOLEAN", "STRING")},
    multi_values={f"mv_{kind.lower()}": kind for kind in MULTI_VALUE_TYPES},
    metrics={f"m_{kind.lower()}": kind for kind in ("INT", "LONG", "FLOAT", "DOUBLE")},
    times={"ts": "1:MILLISECONDS:EPOCH"},
)
ARROW_SCHEMA = arrow_schema(SCHEMA)
CONFIG = table_config(time_column="ts")
ROWS: list[dict[str, Any]] = [
    {
        "d_int": number - 5,
        "d_long": (number - 5) * 4_000_000_001,
        "d_float": (number - 5) * 0.1,
        "d_double": [1.5, -1.75, 0.0, 1e300, -2.25][number % 5],
        "d_boolean": number % 2 == 0,
        "d_string": STRINGS[number % len(STRINGS)],
        "m_int": number % 3,
        "m_long": 2**62 - number,
        "m_float": 0.5 * number,
        "m_double": 1 / (number + 1),
        "mv_int": [number, -number, number],
        "mv_long": [number * 10**12],
        "mv_float": [0.25, 0.5 * number],
        "mv_double": [1.0 / 3, number / 7],
        "mv_string": ["a", f"v{number % 4}", "Zürich"],
        "ts": 1_600_000_000_000 + 86_400_000 * number,
    }
    for number in range(64)
]
# Each column lacks its value in some rows, and one row has no value except the time.
for _place, _column in enumerate(name for name in ROWS[0] if name != "ts"):
    ROWS[_place + 20][_column] = None
for _column in ROWS[40]:
    if _column != "ts":
        ROWS[40][_column] = None


def _csv_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ";".join(_csv_value(each) for each in value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in ',"\n\r') else text


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    lines = [",".join(rows[0]), *(",".join(_csv_value(value) for value in row.values()) for row in rows)]
    _write(path, "\n".join(lines) + "\n")


def write_json(path: Path, rows: list[dict[str, Any]]) -> None:
    # A null is written in every second row and omitted in the others.
    lines = [
        json.dumps(
            {k: v for k, v in row.items() if v is not None or number % 2}, ensure_ascii=number % 3 == 0
        )
        for number, row in enumerate(rows)
    ]
    _write(path, "\n".join(lines) + "\n")


def _write(path: Path, text: str) -> None:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def _types_of(row: Mapping[str, Any], schema: pa.Schema) -> dict[str, pa.DataType]:
    return {name: schema.field(name).type if name in schema.names else pa.string() for name in row}


def write_parquet(path: Path, rows: list[dict[str, Any]], schema: pa.Schema = ARROW_SCHEMA) -> None:
    types = pa.schema(_types_of(rows[0], schema))
    pq.write_table(pa.Table.from_pylist(rows, schema=types), path, row_group_size=20)


def write_avro(path: Path, rows: list[dict[str, Any]], schema: pa.Schema = ARROW_SCHEMA) -> None:
    def avro_type(kind: pa.DataType) -> Any:
        if pa.types.is_list(kind):
            return {"type": "array", "items": AVRO_TYPES[kind.value_type]}
        return AVRO_TYPES[kind]

    types = _types_of(rows[0], schema)
    fields = [{"name": name, "type": ["null", avro_type(kind)]} for name, kind in types.items()]
    write_avro_file(path, fields, rows, codec="deflate")


WRITERS = {
    "rows.csv": write_csv,
    "rows.csv.gz": write_csv,
    "rows.json": write_json,
    "rows.json.gz": write_json,
    "rows.parquet": write_parquet,
    "rows.avro": write_avro,
    "rows.avro.gz": write_avro,
}
"""By file name, what writes rows in its format."""


def expected_row(row: Mapping[str, Any], *, empty_is_null: bool) -> dict[str, Any]:
    """The values that Pinot must return for a row: Python's view of the data, without the reader's nulls."""
    result: dict[str, Any] = {}
    for name, value in row.items():
        if value is None or (empty_is_null and value == ""):
            result[name] = None
        elif isinstance(value, list):
            result[name] = [_stored(name, each) for each in value]
        else:
            result[name] = _stored(name, value)
    return result


def _stored(name: str, value: Any) -> Any:
    if name.endswith("string"):
        return value.split("\0")[0][:512]
    if name.endswith("float"):
        return {"float": repr(pa.scalar(value, pa.float32()).as_py())}
    if name.endswith("double"):
        return {"double": repr(float(value))}
    return int(value)
