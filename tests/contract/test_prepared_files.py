"""Files that Pinot's own readers misinterpret: prepared for both readers, or rejected."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

SCHEMA = schema_of({"word": "STRING", "id": "INT"}, metrics={"amount": "DOUBLE"})
CONFIG = table_config()
WORDS = ["Zürich", "café"]
CSV = "word,id,amount\n" + "".join(f"{word},{number},1.5\n" for number, word in enumerate(WORDS))
JSON = "".join(
    json.dumps({"word": word, "id": number, "amount": 1.5}, ensure_ascii=False) + "\n"
    for number, word in enumerate(WORDS)
)


def read_alike(
    child: SegmentChild,
    path: Path,
    schema: Mapping[str, Any],
    config: Mapping[str, Any] = CONFIG,
    **more: Any,
) -> dict[str, Any]:
    """Build with both readers, alone and among others, and return the common result."""
    by_pinot = child.build(config, schema, path, "pinot", read_back=True, **more)
    by_choice = child.build(config, schema, path, "auto", read_back=True, **more)
    assert "error" not in by_pinot, by_pinot
    assert by_choice["read"] == by_pinot["read"]
    assert by_choice["crc"] == by_pinot["crc"]
    assert by_choice["mismatch"] == by_pinot["mismatch"]
    for reader in ("pinot", "auto"):
        built = child.build_files(config, schema, [path, path], reader, read_back=True, **more)
        (segment,) = built["segments"]
        assert segment["read"] == by_pinot["read"] * 2
    return by_choice


def refused_alike(
    child: SegmentChild, path: Path, schema: Mapping[str, Any] = SCHEMA, **more: Any
) -> tuple[str, str]:
    """The error of both readers, alone and among others."""
    refusals = [child.build(CONFIG, schema, path, reader, **more) for reader in ("pinot", "auto")]
    for reader in ("pinot", "auto"):
        built = child.build_files(CONFIG, schema, [path], reader, **more)
        assert built["segments"] == []
        refusals.append(built["failures"][0])
    (refusal,) = {(each["error"], each["message"]) for each in refusals}
    return refusal


# --- texts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("name", "text"), [("a.csv", CSV), ("a.json", JSON)], ids=["csv", "json"])
@pytest.mark.parametrize(
    ("written", "declared"),
    [("utf-8-sig", "UTF-8"), ("latin-1", "ISO-8859-1"), ("utf-16", "UTF-16"), ("cp1252", "windows-1252")],
)
def test_marks_and_encodings(
    child: SegmentChild, source_dir: Path, name: str, text: str, written: str, declared: str, packed: bool
) -> None:
    path = source_dir / name
    content = text.encode(written)
    path.write_bytes(gzip.compress(content) if packed else content)
    built = read_alike(child, path, SCHEMA, encoding=declared)
    assert (built["reader"], built["fallback_reason"]) == ("arrow", None)
    assert [(row["word"], row["id"]) for row in built["read"]] == [(w, n) for n, w in enumerate(WORDS)]
    assert built["mismatch"] == {"missing": [], "extra": []}


@pytest.mark.parametrize(("name", "text"), [("a.csv", CSV), ("a.json", JSON)], ids=["csv", "json"])
def test_bytes_of_another_encoding(child: SegmentChild, source_dir: Path, name: str, text: str) -> None:
    path = source_dir / name
    content = text.encode("latin-1")
    path.write_bytes(content)
    kind, message = refused_alike(child, path)
    offset = content.index("ü".encode("latin-1"))
    line = content[:offset].count(b"\n") + 1
    assert kind == "DataError"
    assert (
        f"{name}, line {line}: the byte 0xfc at offset {offset} does not start a character in UTF-8"
        in message
    )
    path.write_bytes(text.encode("utf-16"))
    kind, message = refused_alike(child, path)
    assert (kind, f"{name} starts with the byte-order mark of UTF-16" in message) == (
        "UnreadableFileError",
        True,
    )
    assert child.build(CONFIG, SCHEMA, path, "auto", encoding="klingon")["error"] == "ConfigError"


def test_an_empty_gzip_file(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "a.csv.gz"
    path.touch()
    kind, message = refused_alike(child, path)
    assert (kind, "a.csv.gz is empty: gzip data always has a header" in message) == (
        "UnreadableFileError",
        True,
    )


# --- columns ------------------------------------------------------------------------------------------------


def test_columns_that_differ(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "a.csv"
    path.write_text("word,id,Amount,else\na,1,2,3\n")
    built = read_alike(child, path, SCHEMA, max_missing=None)
    assert built["mismatch"] == {"missing": ["amount"], "extra": ["Amount", "else"]}
    files = child.build_files(CONFIG, SCHEMA, [path, path], "auto", max_missing=None)
    assert files["mismatches"] == {0: built["mismatch"], 1: built["mismatch"]}
    path.write_text("word,ID,Amount\na,1,2\n")
    kind, message = refused_alike(child, path, max_missing=None)
    assert kind == "UnreadableFileError"
    assert "a.csv lacks 2 of the table's 3 columns: amount, id; it has word, ID, Amount" in message
    assert "'Amount' is not 'amount'" in message
    json_path = source_dir / "a.json"
    json_path.write_text('{"word": "a"}\n{"else": 1}\n')
    assert read_alike(child, json_path, SCHEMA, max_missing=None)["mismatch"] == {
        "missing": ["amount", "id"],
        "extra": ["else"],
    }
    json_path.write_text('{"Word": "a"}\n')
    assert "none of the table's columns; it has Word" in refused_alike(child, json_path)[1]


def test_what_transforms_and_filters_take_is_no_other_column(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "a.csv"
    path.write_text("name,id,amount,size\na,1,2,3\nb,2,3,0\n")
    config = table_config(
        ingestionConfig={
            "transformConfigs": [{"columnName": "word", "transformFunction": "concat(name, name, '-')"}],
            "filterConfig": {"filterFunction": "Groovy({size == '0'}, size)"},
        }
    )
    built = read_alike(child, path, SCHEMA, config, max_missing="0")
    assert built["mismatch"] == {"missing": [], "extra": []}
    assert [row["word"] for row in built["read"]] == ["a-a"]
    path.write_text("id,amount\n1,2\n")
    refused = child.build(config, SCHEMA, path, "auto", max_missing="1")
    assert "lacks 2 of the table's 4 columns: name, size" in refused["message"]


def test_models_of_the_client_are_taken_as_they_are(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "a.csv"
    path.write_text(CSV)
    plain = child.build(CONFIG, SCHEMA, path, "auto")
    assert child.build(CONFIG, SCHEMA, path, "auto", models=True) == plain


# --- names --------------------------------------------------------------------------------------------------

NAMES = [
    "a b#1?x=%41.csv",
    "new\nline\ttab.csv",
    "zürich 日本 🛫.csv",
    "a:b.csv",
    os.fsdecode(b"\xff\xfe.csv"),
    "-.csv",
]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_names_that_java_or_hadoop_take_for_something_else(
    child: SegmentChild, source_dir: Path, suffix: str
) -> None:
    (source_dir / "a b").write_text("word,id,amount\nwrong,0,0\n")
    for number, name in enumerate(NAMES):
        path = source_dir / name.replace(".csv", f".{suffix}")
        if suffix == "csv":
            path.write_text(f"word,id,amount\nright,{number},1\n")
        else:
            with path.open("wb") as out:
                pq.write_table(pa.table({"word": ["right"], "id": [number], "amount": [1.0]}), out)
        built = read_alike(child, path, SCHEMA, file_format=suffix)
        assert [(row["word"], row["id"]) for row in built["read"]] == [("right", number)]


# --- points in time -----------------------------------------------------------------------------------------

DAY_MS = 86_400_000
# 2024-02-29 12:30:45.678901, the last microsecond before 1970, null.
MICROS = [1_709_209_845_678_901, -1, None]
FORMATS = {
    "ms": ("LONG", "1:MILLISECONDS:EPOCH", 1),
    "s": ("LONG", "1:SECONDS:EPOCH", 1_000),
    "quarter": ("LONG", "EPOCH|MINUTES|15", 900_000),
    "day": ("INT", "1:DAYS:EPOCH", DAY_MS),
    "stamp": ("TIMESTAMP", "1:MILLISECONDS:TIMESTAMP", 1),
}
TIMES = schema_of({"plain": "LONG", "text": "STRING", "noted": "TIMESTAMP"})
TIMES["dateTimeFieldSpecs"] = [
    {"name": name, "dataType": kind, "format": text, "granularity": "1:DAYS"}
    for name, (kind, text, _) in FORMATS.items()
]
COLUMNS = ["plain", "noted", *FORMATS]
DAYS_BY_TRANSFORM = table_config(
    ingestionConfig={"transformConfigs": [{"columnName": "text", "transformFunction": "toEpochDays(ms)"}]}
)


def _expected(number: int | None, step_ns: int, *, is_time: bool = False) -> dict[str, int | None]:
    """The values of a row whose columns all have the same number, in units of ``step_ns`` ns.

    A column that is not a time column keeps the number, unless Pinot's reader interprets it as a time.
    """
    if number is None:
        return dict.fromkeys(COLUMNS)
    times = {name: number * step_ns // (step_ms * 10**6) for name, (_, _, step_ms) in FORMATS.items()}
    return {**times, "noted": times["ms"], "plain": times["ms"] if is_time else number}


def _check_times(
    child: SegmentChild, path: Path, rows: list[dict[str, int | None]], names: Sequence[str] = COLUMNS
) -> str:
    """Check both readers, also with a transform of a time column; return the reader used."""
    built = read_alike(child, path, TIMES)
    expected = [{name: row[name] for name in names} for row in rows]
    assert [{name: row.get(name) for name in names} for row in built["read"]] == expected
    transformed = read_alike(child, path, TIMES, DAYS_BY_TRANSFORM)
    assert transformed["reader"] == built["reader"]
    assert [{name: row.get(name) for name in names} for row in transformed["read"]] == expected
    first = transformed["read"][0]
    assert first["text"] == str(first["day"]), "transforms see what is stored"
    return str(built["reader"])


@pytest.mark.parametrize(("unit", "step_ns"), [("ms", 10**6), ("us", 10**3), ("ns", 1)])
def test_timestamps_of_parquet_files(child: SegmentChild, source_dir: Path, unit: str, step_ns: int) -> None:
    path = source_dir / "times.parquet"
    column = pa.array(MICROS, pa.timestamp("us")).cast(pa.timestamp(unit, "UTC"), safe=False)
    pq.write_table(pa.table(dict.fromkeys(COLUMNS, column)), path)
    rows = [_expected(number, step_ns) for number in column.view(pa.int64()).to_pylist()]
    assert _check_times(child, path, rows) == "arrow"


def test_int96_of_parquet_files(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "times.parquet"
    column = pa.array(MICROS, pa.timestamp("us"))
    pq.write_table(pa.table(dict.fromkeys(COLUMNS, column)), path, use_deprecated_int96_timestamps=True)
    rows = [_expected(None if each is None else each // 1000, 10**6) for each in MICROS]
    assert _check_times(child, path, rows) == "arrow"


@pytest.mark.parametrize("reader", ["pinot", "auto"])
def test_a_time_column_in_microseconds(child: SegmentChild, source_dir: Path, reader: str) -> None:
    path = source_dir / "times.parquet"
    column = pa.array(MICROS[:1], pa.timestamp("us"))
    pq.write_table(pa.table({"ms": column, "stamp": column}), path)
    for name in ("ms", "stamp"):
        built = child.build(table_config(time_column=name), TIMES, path, reader)
        assert (built["start_time"], built["time_unit"]) == (1_709_209_845_678, "MILLISECONDS"), built


def test_dates_of_parquet_files(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "times.parquet"
    days = [19782, -1, None]
    pq.write_table(pa.table(dict.fromkeys(COLUMNS, pa.array(days, pa.date32()))), path)
    assert _check_times(child, path, [_expected(each, DAY_MS * 10**6) for each in days]) == "arrow"


@pytest.mark.parametrize(
    ("logical", "step_us"),
    [
        ("timestamp-micros", 1),
        ("timestamp-millis", 1000),
        ("local-timestamp-micros", 1),
        ("date", DAY_MS * 1000),
    ],
)
def test_logical_types_of_avro_files(
    child: SegmentChild, source_dir: Path, logical: str, step_us: int
) -> None:
    path = source_dir / "times.avro"
    numbers = [None if each is None else each // step_us for each in MICROS]
    kind = {"type": "int" if logical == "date" else "long", "logicalType": logical}
    heeded = bool(child.features["avro_logical_types"])
    # If Pinot's reader applies the logical type, a date is a text, which fits only a LONG time column.
    names = [name for name in COLUMNS if name != "plain"] if heeded and logical == "date" else COLUMNS
    fields = [{"name": name, "type": ["null", kind]} for name in names]
    # Written as numbers, and declared afterwards: fastavro would convert them to times.
    plain = [{"name": each["name"], "type": ["null", str(kind["type"])]} for each in fields]
    schema = {"type": "record", "name": "r", "fields": plain}
    with path.open("wb") as out:
        fastavro.writer(out, schema, [dict.fromkeys(names, n) for n in numbers])
    content = path.read_bytes()
    before = json.dumps(fastavro.parse_schema(schema, _write_hint=False)).encode()
    assert before in content
    after = json.dumps({**schema, "fields": fields}).encode()
    path.write_bytes(_with_schema(content, before, after))
    is_time = heeded and logical.startswith("timestamp")
    rows = [_expected(number, step_us * 1000, is_time=is_time) for number in numbers]
    assert _check_times(child, path, rows, names) == "arrow"


@pytest.mark.parametrize("logical", ["timestamp-micros", "timestamp-millis"])
def test_avro_files_whose_logical_types_pinot_itself_applies(
    child: SegmentChild, source_dir: Path, logical: str
) -> None:
    path = source_dir / "times.avro"
    fields = [{"name": name, "type": {"type": "long", "logicalType": logical}} for name in FORMATS]
    moment = datetime(2024, 2, 29, 12, 30, 45, 678_901, tzinfo=UTC)
    with path.open("wb") as out:
        fastavro.writer(
            out, {"type": "record", "name": "r", "fields": fields}, [dict.fromkeys(FORMATS, moment)]
        )
    expected = {name: value for name, value in _expected(1_709_209_845_678, 10**6).items() if name in FORMATS}
    for config in (None, {"enableLogicalTypes": "true"}):
        built = read_alike(child, path, TIMES, reader_config=config)
        assert [{name: row.get(name) for name in FORMATS} for row in built["read"]] == [expected]


def _with_schema(content: bytes, before: bytes, after: bytes) -> bytes:
    def varint(number: int) -> bytes:
        number, out = number << 1, bytearray()
        while number > 0x7F:
            out.append(number & 0x7F | 0x80)
            number >>= 7
        return bytes([*out, number])

    return content.replace(varint(len(before)) + before, varint(len(after)) + after)


def test_a_time_that_does_not_fit(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "times.parquet"
    schema = schema_of({"word": "STRING"})
    schema["dateTimeFieldSpecs"] = [
        {"name": "s", "dataType": "INT", "format": "1:SECONDS:EPOCH", "granularity": "1:DAYS"}
    ]
    column = pa.array([0, 2**31 * 1_000_000], pa.timestamp("us"))
    pq.write_table(pa.table({"word": ["a", "b"], "s": column}), path)
    kind, message = refused_alike(child, path, schema)
    assert kind == "DataError"
    assert "times.parquet, row 2" in message
    assert "The time is out of range for column: s" in message


def test_arrow_tables_come_in_the_unit_of_the_column(child: SegmentChild) -> None:
    table = pa.table(dict.fromkeys(COLUMNS, pa.array(MICROS, pa.timestamp("us", "UTC"))))
    by_arrow = child.build(CONFIG, TIMES, table, "arrow", read_back=True)
    by_pinot = child.build(CONFIG, TIMES, table, "pinot", read_back=True)
    assert by_arrow["crc"] == by_pinot["crc"]
    millis = [None if each is None else each // 1000 for each in MICROS]
    # In a table from a program, any LONG gets milliseconds.
    expected = [_expected(each, 10**6) for each in millis]
    assert [{name: row.get(name) for name in COLUMNS} for row in by_arrow["read"]] == expected
