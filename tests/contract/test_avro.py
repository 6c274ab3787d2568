"""Avro files give the same segments by columns and by row, with the values that Pinot's own reader gives."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.contract.avro_files import (
    AVRO_TYPES,
    CODECS,
    avro_block,
    avro_header,
    encoded,
    varint,
    write_avro_file,
)
from tests.contract.random_tables import REFUSED, RandomTable, random_table
from tests.contract.same_segments import same_as_pinot
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import (
    ARROW_TYPES,
    FIELD_KINDS,
    MULTI_VALUE_TYPES,
    MULTI_VALUE_TYPES_SINCE_1,
    schema_of,
    table_config,
)
from tests.support.tiers import FULL

pytestmark = pytest.mark.jvm

SAME = ("rows", "crc", "read", "start_time", "end_time", "segment_size_bytes")
COLOURS = {"type": "enum", "name": "colour", "symbols": ["red", "green", "Blue_1"]}
PAIR = {"type": "fixed", "name": "pair", "size": 2}


def _fields(**kinds: Any) -> list[dict[str, Any]]:
    return [{"name": name, "type": kind} for name, kind in kinds.items()]


def shapes(kind: Any) -> dict[str, Any]:
    """Return the ways in which a field can have values of a type, with or without nulls."""
    array = {"type": "array", "items": kind}
    of_nulls = {"type": "array", "items": [kind, "null"]}
    return {
        "plain": kind,
        "nullable": ["null", kind],
        "null last": [kind, "null"],
        "alone in a union": [kind],
        "array": array,
        "nullable array": [array, "null"],
        "array with nulls": of_nulls,
        "nullable array with nulls": ["null", of_nulls],
    }


# By Avro type: values, and the types of table columns that accept them.
TYPES: Mapping[str, tuple[Any, Sequence[Any], Sequence[str]]] = {
    "boolean": ("boolean", [True, False], ["BOOLEAN", "STRING"]),
    "int": ("int", [0, 1, -1, 2**31 - 1, -(2**31)], ["INT", "LONG", "DOUBLE", "STRING"]),
    "booleans as numbers": ("int", [0, 1], ["BOOLEAN"]),
    "long": ("long", [0, 7, -(2**63), 2**63 - 1], ["LONG", "DOUBLE", "STRING", "TIMESTAMP"]),
    "float": ("float", [0.5, -0.0, 0.1, float("inf")], ["FLOAT", "DOUBLE"]),
    "double": ("double", [0.5, -1.75, 1e-3, 2.0**40], ["DOUBLE", "FLOAT"]),
    "string": ("string", ["", "a", "Zürich", "日本", "x" * 700, "nul\0cut", "5"], ["STRING"]),
    "numbers as texts": ("string", ["5", "-7", "0"], ["INT", "LONG", "DOUBLE", "BIG_DECIMAL", "JSON"]),
    "bytes": ("bytes", [b"", b"\x00\xff", b"abc" * 200], ["BYTES"]),
    "enum": (COLOURS, ["red", "Blue_1", "green"], ["STRING"]),
}


def values_of(shape: str, values: Sequence[Any]) -> list[Any]:
    """Return some values of this shape."""
    found: list[Any] = list(values)
    if "array" in shape:
        found = [[], [values[0]], list(values), list(values[-2:]) * 40]
        if shape.endswith("with nulls"):
            found += [[None], [None, values[0], None, values[-1]]]
    return [None, *found, None] if shape.startswith("null") else found


class Columns:
    """Columns of a file, each of its own type, and the table columns that take them."""

    def __init__(self) -> None:
        self.schema = schema_of({})
        self.fields: list[dict[str, Any]] = []
        self._values: dict[str, list[Any]] = {}

    def add(self, name: str, kind: Any, shape: str, values: Sequence[Any], **spec: Any) -> None:
        """Add a column.

        Args:
            name: Its name; the one in the table has the shape too.
            kind: Its Avro type.
            shape: One of the shapes.
            values: Values of that type.
            spec: Its entry in the schema: as a time if it has a format, as a metric if it is a decimal.
        """
        full_name = f"{name} {shape}".replace(" ", "_")
        if isinstance(kind, Mapping) and "name" in kind:
            kind = {**kind, "name": f"type_of_{full_name}"}
        self.fields.append({"name": full_name, "type": shapes(kind)[shape]})
        self._values[full_name] = values_of(shape, values)
        group = "dateTimeFieldSpecs" if "format" in spec else "dimensionFieldSpecs"
        group = "metricFieldSpecs" if spec["dataType"] == "BIG_DECIMAL" else group
        self.schema[group].append({**spec, "name": full_name})

    def write(self, path: Path) -> int:
        """Write the file, in which short columns are repeated; return its number of rows."""
        count = max(map(len, self._values.values()))
        columns = [islice(cycle(values), count) for values in self._values.values()]
        rows = [dict(zip(self._values, row, strict=True)) for row in zip(*columns, strict=True)]
        write_avro_file(path, self.fields, rows, block_rows=3)
        return count


@pytest.mark.every_pinot
@pytest.mark.parametrize("name", TYPES)
def test_types(child: SegmentChild, tmp_path: Path, name: str) -> None:
    kind, values, data_types = TYPES[name]
    multi_value = MULTI_VALUE_TYPES_SINCE_1 if child.features["is_pinot_1"] else MULTI_VALUE_TYPES
    columns, path = Columns(), tmp_path / "rows.avro"
    for shape in shapes(kind):
        for data_type in data_types:
            if "array" not in shape:
                columns.add(f"one {data_type}", kind, shape, values, dataType=data_type)
            if data_type in multi_value:
                columns.add(
                    f"many {data_type}", kind, shape, values, dataType=data_type, singleValueField=False
                )
    count = columns.write(path)
    assert same_as_pinot(child, columns.schema, path)["rows"] == count


@FULL
@pytest.mark.every_pinot
@pytest.mark.parametrize("shape", shapes(PAIR))
def test_fixed(child: SegmentChild, tmp_path: Path, shape: str) -> None:
    is_list, columns, path = "array" in shape, Columns(), tmp_path / "rows.avro"
    columns.add("c", PAIR, shape, [b"ab", b"\x00\xff"], dataType="BYTES", singleValueField=not is_list)
    columns.write(path)
    is_refused = is_list and not child.features["is_pinot_1"]
    # Pinot 0.11 alone stores a meaningless text, and later versions may store the bytes of the next row.
    same_as_pinot(child, columns.schema, path, "is multi-value BYTES" if is_refused else None, alone=False)


# --- types that Pinot does not have, and values of other types ---------------------------------------------

_NESTED = {"type": "record", "name": "inner", "fields": [{"name": "x", "type": "int"}]}
_MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
_TIMED = {"type": "long", "logicalType": "timestamp-millis"}
MEANT: Mapping[str, tuple[Any, Sequence[Any], str, Sequence[Any]]] = {
    "nothing": ("null", [None, None], "STRING", [None, None]),
    "a union with nothing else": (["null"], [None, None], "INT", [None, None]),
    "fixed bytes": (PAIR, [b"ab", b"\x00\xff"], "BYTES", [{"bytes": "6162"}, {"bytes": "00ff"}]),
    "a map": ({"type": "map", "values": "int"}, [{"a": 1}, {}], "JSON", ['{"a":1}', "{}"]),
    "a record": (_NESTED, [{"x": 5}], "JSON", ['{"x":5}']),
    "a record for a text": (_NESTED, [{"x": 5}], "STRING", ['{"x":5}']),
    "arrays of arrays": (
        {"type": "array", "items": {"type": "array", "items": "int"}},
        [[[1], [2, 3], []], []],
        "JSON",
        ["[[1],[2,3],[]]", "[]"],
    ),
    "an array with nulls": (
        {"type": "array", "items": ["null", "int"]},
        [[1, None], [None], []],
        "JSON",
        ["[1,null]", "[null]", "[]"],
    ),
    "a decimal": (_MONEY, [b"\x01", b"\xff\x6a"], "STRING", ["0.01", "-1.50"]),
    "decimals in an array": ({"type": "array", "items": _MONEY}, [[b"\x00\x96"]], "JSON", ["[1.50]"]),
    "decimals in a map": ({"type": "map", "values": _MONEY}, [{"a": b"\x00\x96"}], "JSON", ['{"a":1.50}']),
    "a fixed decimal": (
        {"type": "fixed", "name": "f", "size": 3, "logicalType": "decimal", "precision": 6, "scale": 2},
        [b"\xff\xff\x6a"],
        "DOUBLE",
        [{"double": "-1.5"}],
    ),
    "a time in a record": (
        {"type": "record", "name": "timed", "fields": [{"name": "t", "type": _TIMED}]},
        [{"t": 1_709_209_845_678}],
        "JSON",
        ['{"t":"2024-02-29T12:30:45.678Z"}'],
    ),
}
OTHERS: Mapping[str, tuple[Any, Sequence[Any], str]] = {
    "a union of types": (["null", "int", "string"], [None, 5, "text"], "STRING"),
    "an array for one value": ({"type": "array", "items": "int"}, [[1], [2]], "INT"),
    "bytes for a text": ("bytes", [b"ab"], "STRING"),
    "a fraction for a text": ("double", [0.1], "STRING"),
    "a long that does not fit": ("long", [2**31], "INT"),
    "a decimal that does not fit": (_MONEY, [b"\x01"], "LONG"),
    "texts that are no numbers": ("string", ["1.5f"], "DOUBLE"),
}


@pytest.mark.every_pinot
@pytest.mark.parametrize("case", MEANT)
def test_what_values_mean(child: SegmentChild, tmp_path: Path, case: str) -> None:
    kind, values, data_type, expected = MEANT[case]
    path = tmp_path / "rows.avro"
    write_avro_file(path, [{"name": "c", "type": kind}], [{"c": each} for each in values])
    built = same_as_pinot(child, schema_of({"c": data_type}), path, alone=False)
    assert [row.get("c") for row in built["read"]] == expected


@pytest.mark.every_pinot
@pytest.mark.parametrize("case", OTHERS)
def test_columns_that_are_read_by_row(child: SegmentChild, tmp_path: Path, case: str) -> None:
    kind, values, data_type = OTHERS[case]
    path = tmp_path / "rows.avro"
    write_avro_file(path, [{"name": "c", "type": kind}], [{"c": each} for each in values])
    same_as_pinot(child, schema_of({"c": data_type}), path, "column c", alone=False)


@pytest.mark.every_pinot
def test_texts_that_are_no_utf8(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.avro"
    fields = [{"name": "c", "type": "string"}]
    for text in (b"caf\xe9", b"\xed\xa0\x80", b"\xc0\x80", b"\xf0\x9f\x98"):
        data = avro_block(1, varint(len(text)) + text)
        path.write_bytes(avro_header(fields) + data)
        built = same_as_pinot(child, schema_of({"c": "STRING"}), path, "Invalid UTF8")
        assert "rows.avro, row 1, field c: Invalid UTF8" in built["message"]


LOGICAL: Mapping[str, tuple[Any, Sequence[Any]]] = {
    "date": ("int", [0, 19_782, -1]),
    "time-millis": ("int", [0, 86_399_999]),
    "time-micros": ("long", [0, 2**31 - 1]),
    "timestamp-millis": ("long", [0, 1_709_209_845_678, -1, 5]),
    "timestamp-micros": ("long", [0, 1_709_209_845_678_901, -1, -1_000, 999]),
    "timestamp-nanos": ("long", [0, 1_709_209_845_678_901_234, -1]),
    "local-timestamp-millis": ("long", [0, 1_709_209_845_678, -1]),
    "local-timestamp-micros": ("long", [0, 1_709_209_845_678_901, -1]),
    "uuid": ("string", ["123e4567-e89b-12d3-a456-426614174000", "0-0-0-0-A"]),
    "something of one's own": ("long", [1, 2]),
}
_TIMES: Mapping[str, Mapping[str, Any]] = {
    "long": {"dataType": "LONG"},
    "noted": {"dataType": "TIMESTAMP"},
    "many": {"dataType": "LONG", "singleValueField": False},
    "ms": {"dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:DAYS"},
    "us": {"dataType": "LONG", "format": "1:MICROSECONDS:EPOCH", "granularity": "1:DAYS"},
    "s": {"dataType": "INT", "format": "1:SECONDS:EPOCH", "granularity": "1:DAYS"},
    "day": {"dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"},
    "stamp": {"dataType": "TIMESTAMP", "format": "1:MILLISECONDS:TIMESTAMP", "granularity": "1:DAYS"},
    "text": {"dataType": "STRING"},
}


_BY_DEFAULT = ("date", "timestamp-micros", "uuid", "something of one's own")


@pytest.mark.every_pinot
@pytest.mark.parametrize(
    "logical", [name if name in _BY_DEFAULT else pytest.param(name, marks=FULL) for name in LOGICAL]
)
def test_logical_types(child: SegmentChild, tmp_path: Path, logical: str) -> None:
    base, values = LOGICAL[logical]
    kind = {"type": base, "logicalType": logical}
    path = tmp_path / "rows.avro"
    stored = 0
    for column, spec in _TIMES.items():
        for shape in shapes(kind):
            if "array" in shape and column != "many":
                continue
            columns = Columns()
            columns.add(column, kind, shape, values, **spec)
            columns.write(path)
            by_choice = child.build(table_config(), columns.schema, path, "auto", read_back=True)
            by_row = child.build(table_config(), columns.schema, path, "pinot", read_back=True)
            assert by_choice.get("read") == by_row.get("read")
            assert by_choice.get("message") == by_row.get("message")
            stored += "read" in by_row
            # Pinot 1.5 alone does not convert the lists of a union, writes each UUID in full, and the text of
            # a timestamp in the time zone of its process.
            of_pinot = ("long",) if logical.startswith(("timestamp", "uuid")) else ("long", "text")
            if column in of_pinot and child.reads_files:
                alone = child.build(table_config(), columns.schema, path, "alone", read_back=True)
                assert by_row.get("read") == alone.get("read"), (column, shape)
    assert stored


# --- files -------------------------------------------------------------------------------------------------

MIXED: list[dict[str, Any]] = [
    {
        "name": "skipped",
        "type": {"type": "map", "values": ["null", "int", {"type": "array", "items": "string"}]},
    },
    {"name": "i", "type": ["null", "int"]},
    {"name": "inner", "type": ["null", {**_NESTED, "fields": [{"name": "e", "type": COLOURS}]}]},
    {"name": "s", "type": "string"},
    {
        "name": "more",
        "type": {"type": "array", "items": ["null", "double", PAIR, "boolean", "float", "bytes"]},
    },
    {"name": "e", "type": ["null", "colour"]},
    {"name": "ms", "type": ["null", {"type": "array", "items": "string"}]},
    {
        "name": "tree",
        "type": {"type": "record", "name": "node", "fields": [{"name": "next", "type": ["null", "node"]}]},
    },
]
MIXED_SCHEMA = schema_of({"i": "INT", "s": "STRING", "e": "STRING"}, multi_values={"ms": "STRING"})


def mixed_rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "skipped": {"a": None, "b": 5, "c": ["x"] * (number % 3)},
            "i": None if number % 5 == 0 else number,
            "inner": None if number % 2 else {"e": "green"},
            "s": f"text {number % 17}",
            "more": [None, 1.5, ("pair", b"ab"), True, ("float", 2.5), b"", ("bytes", b"abc")][: number % 8],
            "e": [None, "red", "green"][number % 3],
            "ms": None if number % 7 == 0 else [f"v{each}" for each in range(number % 4)],
            "tree": {"next": {"next": {"next": None}}},
        }
        for number in range(count)
    ]


@pytest.mark.every_pinot
@pytest.mark.parametrize("suffix", ["avro", "avro.gz"])
@pytest.mark.parametrize("codec", CODECS)
def test_codecs(child: SegmentChild, tmp_path: Path, codec: str, suffix: str) -> None:
    path = tmp_path / f"rows.{suffix}"
    rows = mixed_rows(200)
    write_avro_file(path, MIXED, rows, codec=codec, block_rows=70)
    # The jars of both versions lack xz.
    if codec == "xz":
        assert "xz" in child.build(table_config(), MIXED_SCHEMA, path, "auto")["message"]
    else:
        built = same_as_pinot(child, MIXED_SCHEMA, path)
        assert [row["s"] for row in built["read"]] == [row["s"] for row in rows]


@pytest.mark.every_pinot
def test_names_that_do_not_say_what_is_gzip(child: SegmentChild, tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain.avro", tmp_path / "packed.avro.gz"
    for path in (plain, packed):
        write_avro_file(path, MIXED, mixed_rows(30))
    for source, name in ((plain, "a.avro.gz"), (packed, "b.avro"), (packed, "é.avro.gz"), (plain, "ü.avro")):
        path = tmp_path / name
        path.write_bytes(source.read_bytes())
        same_as_pinot(child, MIXED_SCHEMA, path, alone=False)  # Pinot 0.11 alone goes by the name


@pytest.mark.every_pinot
def test_files_without_rows(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.avro"
    for blocks in (b"", avro_block(0, b"")):
        path.write_bytes(avro_header(MIXED) + blocks)
        assert same_as_pinot(child, MIXED_SCHEMA, path)["rows"] == 0


def test_rows_behind_a_block_without_rows(child: SegmentChild, tmp_path: Path) -> None:
    # Avro's library treats it as the end.
    path = tmp_path / "rows.avro"
    block = avro_block(9, b"".join(encoded(MIXED, mixed_rows(9))))
    path.write_bytes(avro_header(MIXED) + block + avro_block(0, b"") + block)
    for reader in ("pinot", "auto", "arrow"):
        refused = child.build(table_config(), MIXED_SCHEMA, path, reader)
        assert "the block after row 9 is empty, but more blocks follow" in refused["message"]
    path.write_bytes(avro_header(MIXED) + block * 2 + avro_block(0, b""))
    assert same_as_pinot(child, MIXED_SCHEMA, path)["rows"] == 18


@pytest.mark.every_pinot
def test_more_rows_than_a_batch(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.avro"
    fields = _fields(i="int", s=["null", "string"])
    rows = [
        {"i": number, "s": None if number > 100_000 else f"t{number % 1000}"} for number in range(140_000)
    ]
    write_avro_file(path, fields, rows, block_rows=90_000, codec="deflate")
    schema = schema_of({"i": "INT", "s": "STRING"})
    by_columns = child.build(table_config(), schema, path, "arrow")
    assert by_columns["rows"] == len(rows)
    if child.reads_files:
        assert by_columns["crc"] == child.build(table_config(), schema, path, "pinot")["crc"]


@pytest.mark.every_pinot
def test_long_texts_are_not_all_in_memory(child: SegmentChild, tmp_path: Path) -> None:
    # The child's heap has 384 MiB, and this number of rows is less than a batch.
    path = tmp_path / "rows.avro"
    fields = _fields(s="string", i="int")
    row = encoded(fields, [{"s": "x" * 100_000, "i": 1}])[0]
    block = avro_block(100, row * 100, "deflate")
    path.write_bytes(avro_header(fields, "deflate") + block * 42)
    built = child.build(table_config(), schema_of({"s": "STRING", "i": "INT"}), path, "arrow", read_back=True)
    assert built["rows"] == 4_200
    assert built["read"][-1] == {"s": "x" * 512, "i": 1}


@pytest.mark.every_pinot
def test_files_of_different_schemas(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"i": "LONG", "s": "STRING", "e": "STRING"}, multi_values={"ms": "STRING"})
    others: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = [
        (_fields(i="int", s=["null", "string"], ms="string"),
         [{"i": 5, "s": None, "ms": "one"}, {"i": -5, "s": "b", "ms": ""}]),
        (_fields(e="string", x="bytes", i=["long", "null"]),
         [{"e": "free", "x": b"1", "i": 2**40}, {"e": "", "x": b"", "i": None}]),
        (_fields(s=COLOURS, i="long"), [{"s": "red", "i": 1}]),
        (MIXED, mixed_rows(40)),
        (MIXED, []),
    ]  # fmt: skip
    paths = []
    for number, (fields, rows) in enumerate(others):
        paths.append(tmp_path / f"{number}.avro")
        write_avro_file(paths[-1], fields, rows, codec=["null", "deflate", "snappy"][number % 3])
    by_columns = child.build_files(table_config(), schema, paths, "arrow", 30, read_back=True)
    assert by_columns["failures"] == {}
    assert [part["rows"] for part in by_columns["segments"]] == [30, 15]
    assert by_columns["segments"][0]["read"][0].get("s") is None
    if child.reads_files:
        by_pinot = child.build_files(table_config(), schema, paths, "pinot", 30, read_back=True)
        for mine, other in zip(by_columns["segments"], by_pinot["segments"], strict=True):
            assert {key: mine[key] for key in SAME} == {key: other[key] for key in SAME}


# --- random tables -----------------------------------------------------------------------------------------


def write_random_table(path: Path, table: RandomTable, random: Random) -> None:
    """Write its rows in a random layout, among unused fields."""
    fields, rows = [], table.rows.to_pylist()
    for spec in (spec for kind in FIELD_KINDS for spec in table.schema.get(kind, ())):
        name = spec["name"]
        kind: Any = AVRO_TYPES[ARROW_TYPES[spec["dataType"]]]
        if not spec.get("singleValueField", True):
            kind = {"type": "array", "items": random.choice((kind, [kind], ["null", kind]))}
        if any(row[name] is None for row in rows) or random.random() < 0.3:
            kind = random.choice((["null", kind], [kind, "null"]))
        fields.append({"name": name, "type": kind})
    random.shuffle(fields)
    for place in range(random.randint(0, 3)):
        fields.insert(random.randint(0, len(fields)), {**MIXED[(0, 2, 4)[place]], "name": f"unread{place}"})
    fillers = mixed_rows(16)
    for number, row in enumerate(rows):
        filler = fillers[number % len(fillers)]
        row |= {"unread0": filler["skipped"], "unread1": filler["inner"], "unread2": filler["more"]}
    write_avro_file(
        path,
        fields,
        rows,
        codec=random.choice(("null", "deflate", "snappy", "zstandard", "bzip2")),
        block_rows=random.choice((1, 7, 300, 100_000)),
    )


@pytest.mark.every_pinot
def test_random_tables(child: SegmentChild, tmp_path: Path, numbers: Callable[[int, int], range]) -> None:
    compared, tables = 0, numbers(13, 200)
    for number in tables:
        random = Random(number)
        table = random_table(number, of_pinot_1=child.features["is_pinot_1"])
        if not child.features["special_values"]:
            table = table.with_one_zero()
        path = tmp_path / random.choice(("rows.avro", "rows.avro.gz"))
        write_random_table(path, table, random)
        found = child.build(table.config, table.schema, path, "arrow", describe=table.has_build_time)
        if any(reason in found.get("message", "") for reason in REFUSED):
            continue
        # Rows one by one through Pinot's driver, where it has no reader of Avro.
        source = (path, "alone") if child.reads_files else (table.rows, "rows")
        expected = child.build(table.config, table.schema, *source, describe=table.has_build_time)
        if "error" in expected:
            assert "error" in found, f"table {number}: {expected}"
            continue
        assert table.compared(found) == table.compared(expected), f"table {number}: {found}"
        compared += 1
    assert compared > len(tables) // 2


# --- damage ------------------------------------------------------------------------------------------------

_DAMAGED_FIELDS: list[dict[str, Any]] = [
    {"name": "a", "type": ["null", "string"]},
    {"name": "b", "type": {"type": "array", "items": ["null", "long"]}},
    {"name": "x", "type": {"type": "array", "items": COLOURS}},
    {"name": "c", "type": ["null", "colour"]},
    {"name": "y", "type": ["string", "int"]},
    {"name": "d", "type": "double"},
]
_DAMAGED_SCHEMA = schema_of(
    {"a": "STRING", "c": "STRING"}, metrics={"d": "DOUBLE"}, multi_values={"b": "LONG"}
)


def test_damaged_blocks(child: SegmentChild, tmp_path: Path, full: bool) -> None:
    path = tmp_path / "rows.avro"
    rows = [
        {
            "a": None if number % 3 else f"t{number}",
            "b": [number, None][: number % 3],
            "x": ["red"],
            "c": "green" if number % 2 else None,
            "y": "text" if number % 2 else number,
            "d": number / 4,
        }
        for number in range(6)
    ]
    data = b"".join(encoded(_DAMAGED_FIELDS, rows))
    random = Random(1)
    kinds = {"same": 0, "by row": 0, "refused": 0}
    count = 120 if full else 40
    for _ in range(count):
        spoilt = bytearray(data)
        for _ in range(random.randint(1, 2)):
            spoilt[random.randrange(len(spoilt))] = random.choice((0, 1, 2, 3, 4, 0x7F, 0x80, 0xFF, 0x81))
        path.write_bytes(avro_header(_DAMAGED_FIELDS) + avro_block(len(rows), bytes(spoilt)))
        by_pinot = child.build(table_config(), _DAMAGED_SCHEMA, path, "pinot", read_back=True)
        by_choice = child.build(table_config(), _DAMAGED_SCHEMA, path, "auto", read_back=True)
        if "error" in by_pinot:
            assert by_choice == by_pinot, bytes(spoilt)
            kinds["refused"] += 1
        else:
            assert {key: by_choice[key] for key in SAME} == {key: by_pinot[key] for key in SAME}
            kinds["same" if by_choice["reader"] == "arrow" else "by row"] += 1
    assert kinds["same"] > count // 12
    assert kinds["refused"] > count // 12


@pytest.mark.parametrize("reader", ["auto", pytest.param("arrow", marks=FULL)])
def test_sizes_that_are_not_true(child: SegmentChild, tmp_path: Path, reader: str) -> None:
    path = tmp_path / "rows.avro"
    fields = _fields(a="string", b={"type": "array", "items": "int"})
    schema = schema_of({"a": "STRING"}, multi_values={"b": "INT"})
    row = varint(1) + b"x" + varint(0)
    cases = {
        "a text of 2 GB": avro_block(1, varint(2**31 - 10) + b"x" + varint(0)),
        "a text of less than nothing": avro_block(1, varint(-5) + b"x" + varint(0)),
        "a trillion items": avro_block(1, varint(1) + b"x" + varint(2**40) + varint(1)),
        "more rows than there are": avro_block(2**40, row),
        "fewer rows than there are": avro_block(1, row * 2),
        "fewer rows than none": avro_block(-1, row),
        "a packed block of 300 MB": avro_block(1, b"\0" * 300_000_000, "deflate"),
    }
    for case, blocks in cases.items():
        path.write_bytes(avro_header(fields, "deflate" if "packed" in case else "null") + blocks)
        built = child.build(table_config(), schema, path, reader)
        assert built.get("error") in ("DataError", "UnreadableFileError"), f"{case}: {built}"
    # The process continues with its existing state.
    path.write_bytes(avro_header(fields) + avro_block(2, row * 2))
    assert child.build(table_config(), schema, path, reader)["rows"] == 2


NOTHING: Any = {"type": "record", "name": "nothing", "fields": []}
NESTED_LIST: Any = {"type": "record", "name": "N", "fields": _fields(next=["null", "N"])}
ENDLESS: Any = {"type": "record", "name": "E", "fields": _fields(next="E")}


@pytest.mark.parametrize("reader", ["auto", pytest.param("arrow", marks=FULL)])
def test_items_without_bytes(child: SegmentChild, tmp_path: Path, reader: str) -> None:
    path = tmp_path / "rows.avro"
    kinds = (
        "null",
        NOTHING,
        {"type": "array", "items": "null"},
        ["null", {"type": "array", "items": "null"}],
    )
    billions = varint(2**31 - 10) + varint(0)
    for kind in kinds:
        data = {"null": billions, "record": billions, "array": varint(1) + billions + varint(0)}
        value = (
            varint(1) + varint(1) + billions + varint(0)
            if isinstance(kind, list)
            else data[kind if isinstance(kind, str) else kind["type"]]
        )
        fields = _fields(a="string", b={"type": "array", "items": kind})
        for columns in ({"a": "STRING"}, {"a": "STRING", "b": "JSON"}):  # skipped, read
            schema = schema_of(columns)
            path.write_bytes(avro_header(fields) + avro_block(1, varint(1) + b"x" + value))
            built = child.build(table_config(), schema, path, reader)
            assert "more items than the file has bytes" in built.get("message", ""), f"{kind}: {built}"
            # What Spark and other writers make of arrays that are always empty.
            path.write_bytes(avro_header(fields) + avro_block(2, (varint(1) + b"x" + varint(0)) * 2))
            assert child.build(table_config(), schema, path, reader)["rows"] == 2
            few = value.replace(billions, varint(3) + varint(0))
            path.write_bytes(avro_header(fields) + avro_block(1, varint(1) + b"x" + few))
            assert child.build(table_config(), schema, path, reader)["rows"] == 1


@pytest.mark.parametrize(
    ("kind", "data"),
    [(NESTED_LIST, varint(1) * 1_000_000 + varint(0)), (ENDLESS, b"")],
    ids=["deep", "endless"],
)
def test_records_within_themselves(child: SegmentChild, tmp_path: Path, kind: Any, data: bytes) -> None:
    path = tmp_path / "rows.avro"
    path.write_bytes(avro_header(_fields(a="string", b=kind)) + avro_block(1, varint(1) + b"x" + data))
    for columns in ({"a": "STRING"}, {"a": "STRING", "b": "JSON"}):  # skipped, read
        built = child.build(table_config(), schema_of(columns), path, "auto")
        assert built.get("error") == "DataError", built
        assert "nested too deeply" in built["message"], built
    # Few levels are a value like any other.
    path.write_bytes(
        avro_header(_fields(a="string", b=NESTED_LIST))
        + avro_block(1, varint(1) + b"x" + varint(1) * 50 + varint(0))
    )
    for columns in ({"a": "STRING"}, {"a": "STRING", "b": "JSON"}):
        assert child.build(table_config(), schema_of(columns), path, "auto")["rows"] == 1


def test_a_wrong_sync_marker(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.avro"
    write_avro_file(path, MIXED, mixed_rows(30), block_rows=10)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    built = child.build(table_config(), MIXED_SCHEMA, path, "auto")
    assert "does not end where it should" in built["message"]
    packed = tmp_path / "rows.avro.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert (
        "does not end where it should" in child.build(table_config(), MIXED_SCHEMA, packed, "auto")["message"]
    )
