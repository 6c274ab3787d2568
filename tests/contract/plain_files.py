"""Rows of all plain types, and files with them in each format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

STRINGS = [
    "foo",
    "",
    None,
    "Zürich",
    "日本",
    "😀 smile",
    "a b",
    "x" * 600,
    "nul\0cut",
    "ünïcödé" * 100,
    "comma,inside",
]


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


ARROW_SCHEMA = pa.schema(
    {
        "d_int": pa.int32(),
        "d_long": pa.int64(),
        "d_float": pa.float32(),
        "d_double": pa.float64(),
        "d_boolean": pa.bool_(),
        "d_string": pa.string(),
        "m_int": pa.int32(),
        "m_long": pa.int64(),
        "m_float": pa.float32(),
        "m_double": pa.float64(),
        "mv_int": pa.list_(pa.int32()),
        "mv_long": pa.list_(pa.int64()),
        "mv_float": pa.list_(pa.float32()),
        "mv_double": pa.list_(pa.float64()),
        "mv_string": pa.list_(pa.string()),
        "ts": pa.int64(),
    }.items()
)


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=ARROW_SCHEMA), path, row_group_size=20)


def write_avro(path: Path, rows: list[dict[str, Any]]) -> None:
    kinds = {"i": "int", "l": "long", "f": "float", "d": "double", "b": "boolean", "s": "string"}

    def kind(name: str) -> Any:
        if name == "ts":
            return "long"
        role, data_type = name.split("_")
        scalar = kinds[data_type[0]]
        return ["null", {"type": "array", "items": scalar} if role == "mv" else scalar]

    schema = {"type": "record", "name": "r", "fields": [{"name": n, "type": kind(n)} for n in rows[0]]}
    plain = path.with_name("plain.avro")
    with plain.open("wb") as file:
        fastavro.writer(file, schema, rows, codec="deflate")
    path.write_bytes(gzip.compress(plain.read_bytes()) if path.suffix == ".gz" else plain.read_bytes())


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
