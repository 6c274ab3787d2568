"""Avro files read by columns give the same segments as Pinot's reader, which reads all other files."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.contract.avro_files import CODECS, avro_block, avro_header, encoded, varint, write_avro_file
from tests.contract.random_tables import RandomTable, random_table
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

SAME = ("rows", "crc", "read", "start_time", "end_time", "segment_size_bytes")
COLOURS = {"type": "enum", "name": "colour", "symbols": ["red", "green", "Blue_1"]}
PAIR = {"type": "fixed", "name": "pair", "size": 2}


def check(
    child: SegmentChild,
    schema: Mapping[str, Any],
    path: Path,
    reason: str | None = None,
    *,
    config: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build with the automatic choice and with Pinot's reader, if any; return the common result or error."""
    config = config or table_config()
    by_choice = child.build(config, schema, path, "auto", read_back=True)
    if not child.reads("avro"):
        if reason is None:
            assert by_choice.get("reader") == "arrow", by_choice
        return by_choice
    by_pinot = child.build(config, schema, path, "pinot", read_back=True)
    if "error" in by_pinot:
        assert by_choice == by_pinot
        assert reason is not None, by_pinot
        refused = child.build(config, schema, path, "arrow")
        assert reason in refused["message"], refused
        return by_choice
    assert {key: by_choice[key] for key in SAME} == {key: by_pinot[key] for key in SAME}
    if reason is None:
        assert (by_choice["reader"], by_choice["fallback_reason"]) == ("arrow", None)
    else:
        assert by_choice["reader"] == "pinot"
        assert reason in by_choice["fallback_reason"]
    return by_choice


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
    "int": ("int", [0, 1, -1, 2**31 - 1, -(2**31)], ["INT", "LONG", "DOUBLE", "STRING", "BOOLEAN"]),
    "long": ("long", [0, 7, -(2**63), 2**63 - 1], ["LONG", "DOUBLE", "STRING", "TIMESTAMP"]),
    "float": ("float", [0.5, -0.0, 0.1, float("inf")], ["FLOAT", "DOUBLE"]),
    "double": ("double", [0.5, -1.75, 1e-3, 2.0**40], ["DOUBLE", "FLOAT"]),
    "string": ("string", ["", "a", "Zürich", "日本", "x" * 700, "nul\0cut", "5"], ["STRING"]),
    "numbers as texts": ("string", ["5", "-7", "0"], ["INT", "LONG", "DOUBLE", "BIG_DECIMAL", "JSON"]),
    "bytes": ("bytes", [b"", b"\x00\xff", b"abc" * 200], ["BYTES"]),
    "enum": (COLOURS, ["red", "Blue_1", "green"], ["STRING"]),
}
_MULTI_VALUE = ("INT", "LONG", "FLOAT", "DOUBLE", "STRING")
_MULTI_VALUE_SINCE_1 = (*_MULTI_VALUE, "BOOLEAN", "TIMESTAMP", "BYTES")


def rows_of(shape: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return some rows with values of this shape as column c."""
    found: list[Any] = list(values)
    if "array" in shape:
        found = [[], [values[0]], list(values), list(values[-2:]) * 40]
        if shape.endswith("with nulls"):
            found += [[None], [None, values[0], None, values[-1]]]
    if shape.startswith("null"):
        found = [None, *found, None]
    return [{"c": each} for each in found]


@pytest.mark.every_pinot
@pytest.mark.parametrize("name", TYPES)
def test_types(child: SegmentChild, source_dir: Path, name: str) -> None:
    kind, values, data_types = TYPES[name]
    path = source_dir / "rows.avro"
    multi_value = _MULTI_VALUE_SINCE_1 if child.features["is_pinot_1"] else _MULTI_VALUE
    for shape, field in shapes(kind).items():
        write_avro_file(path, [{"name": "c", "type": field}], rows_of(shape, values), block_rows=3)
        for data_type in data_types:
            single, many = schema_of({"c": data_type}), schema_of({}, multi_values={"c": data_type})
            if data_type == "BIG_DECIMAL":
                single = schema_of({}, metrics={"c": data_type})
            if "array" not in shape:
                read = check(child, single, path)["read"]
                assert len(read) == len(rows_of(shape, values))
            if data_type in multi_value:
                check(child, many, path)


@pytest.mark.every_pinot
@pytest.mark.parametrize("shape", shapes(PAIR))
def test_fixed(child: SegmentChild, source_dir: Path, shape: str) -> None:
    path = source_dir / "rows.avro"
    fields = [{"name": "c", "type": shapes(PAIR)[shape]}]
    write_avro_file(path, fields, rows_of(shape, [b"ab", b"\x00\xff"]))
    is_single = "array" not in shape
    schema = schema_of({"c": "BYTES"}) if is_single else schema_of({}, multi_values={"c": "BYTES"})
    is_refused = not is_single and not child.features["is_pinot_1"]
    check(
        child,
        schema,
        path,
        "is multi-value BYTES" if is_refused else "of fixed" if "array" in shape else "as fixed",
    )


# --- what only Pinot's reader reads ------------------------------------------------------------------------

_NESTED = {"type": "record", "name": "inner", "fields": [{"name": "x", "type": "int"}]}
OTHERS: Mapping[str, tuple[Any, Sequence[Any], str]] = {
    "nothing": ("null", [None, None], "STRING"),
    "a union with nothing else": (["null"], [None, None], "INT"),
    "a map": ({"type": "map", "values": "int"}, [{"a": 1}], "JSON"),
    "a record": (_NESTED, [{"x": 5}], "JSON"),
    "a union of types": (["null", "int", "string"], [None, 5, "text"], "STRING"),
    "arrays of arrays": (
        {"type": "array", "items": {"type": "array", "items": "int"}},
        [[[1], [2, 3]]],
        "JSON",
    ),
    "an array for one value": ({"type": "array", "items": "int"}, [[1], [2]], "INT"),
    "bytes for a text": ("bytes", [b"ab"], "STRING"),
    "a fraction for a text": ("double", [0.1], "STRING"),
    "an int for a TIMESTAMP": ("int", [5], "TIMESTAMP"),
    "a long that does not fit": ("long", [2**31], "INT"),
    "a decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        [b"\x01"],
        "STRING",
    ),
    "texts that are no numbers": ("string", ["1.5f"], "DOUBLE"),
}


@pytest.mark.every_pinot
@pytest.mark.parametrize("case", OTHERS)
def test_columns_that_are_left_to_pinot(child: SegmentChild, source_dir: Path, case: str) -> None:
    kind, values, data_type = OTHERS[case]
    path = source_dir / "rows.avro"
    write_avro_file(path, [{"name": "c", "type": kind}], [{"c": each} for each in values])
    check(child, schema_of({"c": data_type}), path, "column c")


@pytest.mark.every_pinot
def test_texts_that_are_no_utf8(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "rows.avro"
    fields = [{"name": "c", "type": "string"}]
    for text in (b"caf\xe9", b"\xed\xa0\x80", b"\xc0\x80", b"\xf0\x9f\x98"):
        data = avro_block(1, varint(len(text)) + text)
        path.write_bytes(avro_header(fields) + data)
        for data_type in ("STRING", "BOOLEAN"):
            check(child, schema_of({"c": data_type}), path, "Invalid UTF8")


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
# Pinot converts these to the values that they represent, if at all.
MADE = ("date", "time-millis", "time-micros", "timestamp-millis", "timestamp-micros", "uuid")


def _times() -> dict[str, Any]:
    schema = schema_of({"long": "LONG", "noted": "TIMESTAMP"}, multi_values={"many": "LONG"})
    formats = {
        "ms": ("LONG", "1:MILLISECONDS:EPOCH"),
        "us": ("LONG", "1:MICROSECONDS:EPOCH"),
        "s": ("INT", "1:SECONDS:EPOCH"),
        "day": ("INT", "1:DAYS:EPOCH"),
        "stamp": ("TIMESTAMP", "1:MILLISECONDS:TIMESTAMP"),
    }
    schema["dateTimeFieldSpecs"] = [
        {"name": name, "dataType": kind, "format": text, "granularity": "1:DAYS"}
        for name, (kind, text) in formats.items()
    ]
    return schema


@pytest.mark.every_pinot
@pytest.mark.parametrize("logical", LOGICAL)
def test_logical_types(child: SegmentChild, source_dir: Path, logical: str) -> None:
    base, values = LOGICAL[logical]
    kind = {"type": base, "logicalType": logical}
    path = source_dir / "rows.avro"
    is_heeded = logical in MADE and (child.features["avro_logical_types"] or not child.reads("avro"))
    is_time = logical.startswith("timestamp")
    taken = 0
    for column, data_type in [*((spec["name"], spec["dataType"]) for spec in _columns()), ("text", "STRING")]:
        for shape, field in shapes(kind).items():
            if "array" in shape and column != "many":
                continue
            schema = schema_of({"text": "STRING"}) if column == "text" else _only(column)
            write_avro_file(path, [{"name": column, "type": field}], _renamed(rows_of(shape, values), column))
            expected: str | None = None
            is_small = data_type == "TIMESTAMP" and base == "int" and logical != "date"
            if is_small or (base == "string" and column != "text"):
                expected = "column"
            elif is_heeded:
                # Each version treats those in arrays differently.
                in_time_column = column not in ("long", "many", "text")
                is_taken = (is_time or (logical == "date" and in_time_column)) and "array" not in shape
                expected = None if is_taken and column != "text" and child.reads("avro") else "column"
            by_choice = child.build(table_config(), schema, path, "auto", read_back=True)
            if "error" in by_choice:
                assert by_choice == child.build(table_config(), schema, path, "pinot", read_back=True)
                continue
            check(child, schema, path, expected)
            taken += by_choice["reader"] == "arrow"
    assert taken > 0 or is_heeded


def _columns() -> list[dict[str, Any]]:
    schema = _times()
    return [*schema["dimensionFieldSpecs"], *schema["dateTimeFieldSpecs"]]


def _only(column: str) -> dict[str, Any]:
    schema = _times()
    for kind in ("dimensionFieldSpecs", "dateTimeFieldSpecs"):
        schema[kind] = [spec for spec in schema[kind] if spec["name"] == column]
    return schema


def _renamed(rows: Sequence[Mapping[str, Any]], column: str) -> list[dict[str, Any]]:
    return [{column: row["c"]} for row in rows]


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
def test_codecs(child: SegmentChild, source_dir: Path, codec: str, suffix: str) -> None:
    path = source_dir / f"rows.{suffix}"
    rows = mixed_rows(500)
    write_avro_file(path, MIXED, rows, codec=codec, block_rows=70)
    # The jars of both versions lack xz.
    built = check(child, MIXED_SCHEMA, path, "xz" if codec == "xz" else None)
    if codec != "xz":
        assert [row["s"] for row in built["read"]] == [row["s"] for row in rows]


@pytest.mark.every_pinot
def test_names_that_do_not_say_what_is_gzip(child: SegmentChild, source_dir: Path) -> None:
    plain, packed = source_dir / "plain.avro", source_dir / "packed.avro.gz"
    for path in (plain, packed):
        write_avro_file(path, MIXED, mixed_rows(30))
    goes_by_name = not child.features["is_pinot_1"]
    for source, name in ((plain, "a.avro.gz"), (packed, "b.avro"), (packed, "é.avro.gz"), (plain, "ü.avro")):
        path = source_dir / name
        path.write_bytes(source.read_bytes())
        check(
            child, MIXED_SCHEMA, path, "its name does not match" if name[0] in "ab" and goes_by_name else None
        )


@pytest.mark.every_pinot
def test_files_without_rows(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "rows.avro"
    for blocks in (b"", avro_block(0, b"")):
        path.write_bytes(avro_header(MIXED) + blocks)
        assert check(child, MIXED_SCHEMA, path)["rows"] == 0


def test_rows_behind_a_block_without_rows(child: SegmentChild, source_dir: Path) -> None:
    # Avro's library treats it as the end.
    path = source_dir / "rows.avro"
    block = avro_block(9, b"".join(encoded(MIXED, mixed_rows(9))))
    path.write_bytes(avro_header(MIXED) + block + avro_block(0, b"") + block)
    for reader in ("pinot", "auto", "arrow"):
        refused = child.build(table_config(), MIXED_SCHEMA, path, reader)
        assert "the block after row 9 is empty, but more blocks follow" in refused["message"]
    path.write_bytes(avro_header(MIXED) + block * 2 + avro_block(0, b""))
    assert check(child, MIXED_SCHEMA, path)["rows"] == 18


@pytest.mark.every_pinot
def test_more_rows_than_a_batch(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "rows.avro"
    fields = _fields(i="int", s=["null", "string"])
    rows = [
        {"i": number, "s": None if number > 150_000 else f"t{number % 1000}"} for number in range(200_000)
    ]
    write_avro_file(path, fields, rows, block_rows=90_000, codec="deflate")
    schema = schema_of({"i": "INT", "s": "STRING"})
    by_columns = child.build(table_config(), schema, path, "arrow")
    assert by_columns["rows"] == len(rows)
    if child.reads("avro"):
        assert by_columns["crc"] == child.build(table_config(), schema, path, "pinot")["crc"]


@pytest.mark.every_pinot
def test_long_texts_are_not_all_in_memory(child: SegmentChild, source_dir: Path) -> None:
    # The child's heap has 384 MiB, and this number of rows is less than a batch.
    path = source_dir / "rows.avro"
    fields = _fields(s="string", i="int")
    row = encoded(fields, [{"s": "x" * 100_000, "i": 1}])[0]
    block = avro_block(100, row * 100, "deflate")
    path.write_bytes(avro_header(fields, "deflate") + block * 60)
    built = child.build(table_config(), schema_of({"s": "STRING", "i": "INT"}), path, "arrow", read_back=True)
    assert built["rows"] == 6_000
    assert built["read"][-1] == {"s": "x" * 512, "i": 1}


@pytest.mark.every_pinot
def test_files_of_different_schemas(child: SegmentChild, source_dir: Path) -> None:
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
        paths.append(source_dir / f"{number}.avro")
        write_avro_file(paths[-1], fields, rows, codec=["null", "deflate", "snappy"][number % 3])
    by_columns = child.build_files(table_config(), schema, paths, "arrow", 30, read_back=True)
    assert by_columns["failures"] == {}
    assert [part["rows"] for part in by_columns["segments"]] == [30, 15]
    assert by_columns["segments"][0]["read"][0].get("s") is None
    if child.reads("avro"):
        by_pinot = child.build_files(table_config(), schema, paths, "pinot", 30, read_back=True)
        for mine, other in zip(by_columns["segments"], by_pinot["segments"], strict=True):
            assert {key: mine[key] for key in SAME} == {key: other[key] for key in SAME}


# --- random tables -----------------------------------------------------------------------------------------

_TABLES, _FULL = 40, 600
_REASONS = ("two UTF-16 units", "rows with no value other than NaN")
_AVRO = {
    "INT": "int",
    "LONG": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "TIMESTAMP": "long",
    "STRING": "string",
    "JSON": "string",
    "BIG_DECIMAL": "string",
    "BYTES": "bytes",
}


def write_random_table(path: Path, table: RandomTable, random: Random) -> None:
    """Write its rows in a random layout, among unused fields."""
    specs = {
        spec["name"]: spec
        for kind in ("dimensionFieldSpecs", "metricFieldSpecs")
        for spec in table.schema[kind]
    }
    fields, rows = [], table.rows.to_pylist()
    for name, spec in specs.items():
        kind: Any = _AVRO[spec["dataType"]]
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
def test_random_tables(child: SegmentChild, source_dir: Path, request: pytest.FixtureRequest) -> None:
    count = _FULL if request.config.option.full else _TABLES
    first = (request.config.option.seed or 0) * _FULL
    compared = 0
    for number in range(first, first + count):
        random = Random(number)
        table = random_table(number, of_pinot_1=child.features["is_pinot_1"])
        path = source_dir / random.choice(("rows.avro", "rows.avro.gz"))
        write_random_table(path, table, random)
        found = child.build(table.config, table.schema, path, "arrow", describe=True)
        if any(reason in found.get("message", "") for reason in _REASONS):
            continue
        # Rows one by one through Pinot's driver, where it has no reader of Avro.
        source = (path, "pinot") if child.reads("avro") else (table.rows, "rows")
        expected = child.build(table.config, table.schema, *source, describe=True)
        if "error" in expected:
            assert "error" in found, f"table {number}: {expected}"
            continue
        # A text index contains the time at which it was built.
        same = ("rows", "properties", "files") if table.has_build_time else ("rows", "crc", "properties")
        assert [found.get(key) for key in same] == [expected[key] for key in same], f"table {number}: {found}"
        compared += 1
    assert compared > count // 2


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


def test_damaged_blocks(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "rows.avro"
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
    kinds = {"same": 0, "left to Pinot": 0, "refused": 0}
    for _ in range(120):
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
            kinds["same" if by_choice["reader"] == "arrow" else "left to Pinot"] += 1
    assert kinds["same"] > 10
    assert kinds["refused"] > 10


@pytest.mark.parametrize("reader", ["auto", "arrow"])
def test_sizes_that_are_not_true(child: SegmentChild, source_dir: Path, reader: str) -> None:
    path = source_dir / "rows.avro"
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
        assert built.get("error") == "DataError", f"{case}: {built}"
    # The process continues with its existing state.
    path.write_bytes(avro_header(fields) + avro_block(2, row * 2))
    assert child.build(table_config(), schema, path, reader)["rows"] == 2


def test_a_wrong_sync_marker(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "rows.avro"
    write_avro_file(path, MIXED, mixed_rows(30), block_rows=10)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    built = child.build(table_config(), MIXED_SCHEMA, path, "auto")
    assert "does not end where it should" in built["message"]
    packed = source_dir / "rows.avro.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert (
        "does not end where it should" in child.build(table_config(), MIXED_SCHEMA, packed, "auto")["message"]
    )
