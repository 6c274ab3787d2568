"""Random files of each format, with values of its types: plain ones, and those at the limits of columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

__all__ = ["FORMATS", "Kind", "RandomColumn", "write_file"]


@dataclass(frozen=True)
class Kind:
    """A type of values in files of a format.

    Attributes:
        name: Its name.
        make: Returns a random value.
        form: The type as the format's library needs it.
    """

    name: str
    make: Callable[[Random], Any]
    form: Any = None


@dataclass(frozen=True)
class RandomColumn:
    """A column of a file."""

    name: str
    kind: Kind
    values: Sequence[Any]


_EDGES = (0, 1, 1, 2**31 - 1, 2**31, 3_000_000_000, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1)
_TEXTS: tuple[str, ...] = (
    "a",
    "Zürich",
    "日本",
    "😀",
    "true",
    "FALSE",
    "0",
    "1",
    "-5",
    " 7 ",
    "007",
    "1.50",
    "1e3",
    "2147483648",
)
_TEXTS += ("9223372036854775808", "1d", "0x1p3", "ff", "0aF", "fff", "[1, 2.50]", '{"a": null}', '"x"', "[1")
_TEXTS += (
    "2024-02-29 12:00:00",
    "2023-02-29 12:00:00",
    "1700000000000",
    "NULL",
    "a b",
    "12345678901234567890.5",
)
_DOUBLES = (0.0, 1.0, -1.0, 1.5, -1.9, 0.1, 1e300, 1e19, 2.0**53, 3.0e9, -(2.0**31), 2.0**63, float("inf"))


def _integers(low: int, high: int) -> Callable[[Random], int]:
    edges = [edge for each in _EDGES for edge in (each, -each, -each - 1) if low <= edge <= high]
    return lambda random: random.choice(
        [random.choice(edges), random.randint(low, high), random.randint(0, 99)]
    )


def _double(random: Random) -> float:
    return random.choice([*_DOUBLES, random.uniform(-1e6, 1e6), float(random.randint(-(2**40), 2**40))])


def _single(random: Random) -> Any:
    return np.float32(random.choice([0.0, 1.0, 0.1, -2.5, 16777216.0, 3e38, float("inf"), random.random()]))


def _decimals(digits: int, scale: int) -> Callable[[Random], Decimal]:
    def make(random: Random) -> Decimal:
        unscaled = random.choice([0, 1, 10**scale, 3 * 10**scale, random.randint(0, 10**digits - 1)])
        if unscaled >= 10**digits:
            unscaled = 1
        is_negative = (
            unscaled > 0 and random.random() < 0.5
        )  # fastavro writes another number for a negative zero
        return Decimal((int(is_negative), tuple(map(int, str(unscaled))), -scale))

    return make


def _text(random: Random) -> str:
    return random.choice([random.choice(_TEXTS), str(random.randint(-(10**12), 10**12))])


def _bytes(random: Random) -> bytes:
    return random.randbytes(random.randint(1, 6))


def _boolean(random: Random) -> bool:
    return random.random() < 0.5


def _list_of(make: Callable[[Random], Any], most: int = 3) -> Callable[[Random], list[Any]]:
    return lambda random: [make(random) for _ in range(random.randint(0, most))]


def _object(make: Callable[[Random], Any]) -> Callable[[Random], dict[str, Any]]:
    return lambda random: {"a": make(random), "b": random.choice([None, make(random)])}


def _arrow(name: str, form: pa.DataType, make: Callable[[Random], Any]) -> Kind:
    return Kind(name, make, form)


_BITS = (8, 16, 32, 64)
_SIGNED = [
    _arrow(f"int{bits}", getattr(pa, f"int{bits}")(), _integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    for bits in _BITS
]
_UNSIGNED = [_arrow(f"uint{bits}", getattr(pa, f"uint{bits}")(), _integers(0, 2**bits - 1)) for bits in _BITS]
_DECIMALS = [
    _arrow(f"decimal({digits},{scale})", pa.decimal128(digits, scale), _decimals(digits, scale))
    for digits, scale in ((5, 2), (9, 0), (18, 4), (38, 10))
]
_LONGS = _integers(-(2**63), 2**63 - 1)
_COLUMNAR = [
    *_SIGNED,
    *_DECIMALS,
    _arrow("float", pa.float32(), _single),
    _arrow("double", pa.float64(), _double),
    _arrow("boolean", pa.bool_(), _boolean),
    _arrow("string", pa.string(), _text),
    _arrow("binary", pa.binary(), _bytes),
    _arrow("list of int64", pa.list_(pa.int64()), _list_of(_LONGS)),
    _arrow("list of string", pa.list_(pa.string()), _list_of(_text)),
    _arrow("list of double", pa.list_(pa.float64()), _list_of(_double)),
    _arrow("struct", pa.struct([("a", pa.int64()), ("b", pa.int64())]), _object(_LONGS)),
]
_PARQUET = [
    *_COLUMNAR,
    *_UNSIGNED,
    _arrow("fixed", pa.binary(2), lambda random: random.randbytes(2)),
    _arrow("float16", pa.float16(), lambda random: np.float16(random.choice([0.0, 1.0, 0.5, -2.0, 2048.0]))),
]
_AVRO = [
    Kind("int", _integers(-(2**31), 2**31 - 1), "int"),
    Kind("long", _LONGS, "long"),
    Kind("float", _single, "float"),
    Kind("double", _double, "double"),
    Kind("boolean", _boolean, "boolean"),
    Kind("string", _text, "string"),
    Kind("bytes", _bytes, "bytes"),
    Kind("fixed", lambda random: random.randbytes(2), {"type": "fixed", "name": "f", "size": 2}),
    Kind(
        "decimal",
        _decimals(18, 4),
        {"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 4},
    ),
    Kind(
        "fixed decimal",
        _decimals(9, 2),
        {"type": "fixed", "name": "d", "size": 8, "logicalType": "decimal", "precision": 9, "scale": 2},
    ),
    Kind("enum", lambda random: random.choice("AB"), {"type": "enum", "name": "e", "symbols": ["A", "B"]}),
    Kind("array of long", _list_of(_LONGS), {"type": "array", "items": "long"}),
    Kind("array of string", _list_of(_text), {"type": "array", "items": "string"}),
    Kind("map of long", _object(_LONGS), {"type": "map", "values": ["null", "long"]}),
]
_JSON = [
    Kind("integer", _integers(-(10**20), 10**20)),
    Kind("decimal", _decimals(20, 4)),
    Kind("decimal beyond a double", _decimals(38, 20)),
    Kind("boolean", _boolean),
    Kind("string", _text),
    Kind("array of integers", _list_of(_integers(-(2**63), 2**63 - 1))),
    Kind("array of strings", _list_of(_text)),
    Kind("object", _object(_integers(-(2**40), 2**40))),
]
_CSV = [Kind("text", _text), Kind("number", lambda random: str(_integers(-(2**64), 2**64)(random)))]
FORMATS: Mapping[str, Sequence[Kind]] = {
    "parquet": _PARQUET,
    "orc": _COLUMNAR,
    "avro": _AVRO,
    "json": _JSON,
    "csv": _CSV,
}
"""The types of each format."""


def write_file(path: Path, columns: Sequence[RandomColumn]) -> None:
    """Write a file, in the format of its suffix."""
    {".parquet": _write_parquet, ".orc": _write_orc, ".avro": _write_avro, ".json": _write_json}.get(
        path.suffix, _write_csv
    )(path, columns)


def arrow_table(columns: Sequence[RandomColumn]) -> pa.Table:
    """Return the columns as an Arrow table."""
    return pa.table({each.name: pa.array(each.values, each.kind.form) for each in columns})


def _write_parquet(path: Path, columns: Sequence[RandomColumn]) -> None:
    # Decimals as Spark and DuckDB store them.
    pq.write_table(arrow_table(columns), path, store_decimal_as_integer=True)


def _write_orc(path: Path, columns: Sequence[RandomColumn]) -> None:
    orc.write_table(arrow_table(columns), path)


def _write_avro(path: Path, columns: Sequence[RandomColumn]) -> None:
    fields = [{"name": each.name, "type": ["null", _named(each)]} for each in columns]
    schema = fastavro.parse_schema({"type": "record", "name": "row", "fields": fields})
    with path.open("wb") as file:
        fastavro.writer(file, schema, _rows(columns))


def _named(column: RandomColumn) -> Any:
    """Return a type whose name no other column has."""
    form = column.kind.form
    return {**form, "name": f"{form['name']}_{column.name}"} if "name" in form else form


def _write_json(path: Path, columns: Sequence[RandomColumn]) -> None:
    path.write_text("".join(f"{_json_text(row)}\n" for row in _rows(columns)), encoding="utf-8")


def _json_text(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list):
        return f"[{','.join(map(_json_text, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(key)}:{_json_text(each)}' for key, each in value.items())}}}"
    return json.dumps(value)


def _write_csv(path: Path, columns: Sequence[RandomColumn]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([each.name for each in columns])
        writer.writerows(row.values() for row in _rows(columns))


def _rows(columns: Sequence[RandomColumn]) -> list[dict[str, Any]]:
    return [{each.name: each.values[number] for each in columns} for number in range(len(columns[0].values))]
