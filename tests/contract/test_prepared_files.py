"""Files that Pinot's own readers misinterpret: prepared for both readers, or rejected."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.avro_files import write_avro_file
from tests.contract.same_segments import same_as_pinot
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config
from tests.support.needs import Need, inside
from tests.support.tiers import FULL

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
    *,
    reason: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Build with both readers, alone and among others, and return the common result."""
    by_choice = same_as_pinot(child, schema, path, reason, config=config, alone=False, **more)
    for reader in ("pinot", "auto"):
        built = child.build_files(config, schema, [path, path], reader, read_back=True, **more)
        (segment,) = built["segments"]
        assert segment["read"] == by_choice["read"] * 2
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


@pytest.mark.parametrize(
    ("name", "text", "packed"),
    [
        ("a.csv", CSV, False),
        ("a.json", JSON, True),
        *(pytest.param(*each, marks=FULL) for each in (("a.csv", CSV, True), ("a.json", JSON, False))),
    ],
    ids=["csv", "json-gzip", "csv-gzip", "json"],
)
@pytest.mark.parametrize(
    ("written", "declared"),
    [("utf-8-sig", "UTF-8"), ("latin-1", "ISO-8859-1"), ("utf-16", "UTF-16"), ("cp1252", "windows-1252")],
)
def test_marks_and_encodings(
    child: SegmentChild, tmp_path: Path, name: str, text: str, written: str, declared: str, packed: bool
) -> None:
    path = tmp_path / name
    content = text.encode(written)
    path.write_bytes(gzip.compress(content) if packed else content)
    built = read_alike(child, path, SCHEMA, encoding=declared)
    assert [(row["word"], row["id"]) for row in built["read"]] == [(w, n) for n, w in enumerate(WORDS)]
    assert built["mismatch"] == {"missing": [], "extra": []}


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.csv", CSV, "line 2: the byte 0xfc at offset 16"),
        pytest.param("a.json", JSON, "line 1: the byte 0xfc at offset 11", marks=FULL),
    ],
    ids=["csv", "json"],
)
def test_bytes_of_another_encoding(
    child: SegmentChild, tmp_path: Path, name: str, text: str, place: str
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode("latin-1"))
    kind, message = refused_alike(child, path)
    assert kind == "DataError"
    assert f"{name}, {place} does not start a character in UTF-8" in message
    path.write_bytes(text.encode("utf-16"))
    kind, message = refused_alike(child, path)
    assert kind == "UnreadableFileError"
    assert f"{name} starts with the byte-order mark of UTF-16" in message
    assert child.build(CONFIG, SCHEMA, path, "auto", encoding="klingon")["error"] == "ConfigError"


# --- columns ------------------------------------------------------------------------------------------------


def test_columns_that_differ(child: SegmentChild, tmp_path: Path) -> None:
    path, json_path = tmp_path / "a.csv", tmp_path / "a.json"
    path.write_text("word,id,Amount,else\na,1,2,3\n")
    built = read_alike(child, path, SCHEMA, max_missing=None)
    assert built["mismatch"] == {"missing": ["amount"], "extra": ["Amount", "else"]}
    files = child.build_files(CONFIG, SCHEMA, [path, path], "auto", max_missing=None)
    assert files["mismatches"] == {0: built["mismatch"], 1: built["mismatch"]}
    path.write_text("word,ID,Amount\na,1,2\n")
    kind, message = refused_alike(child, path, max_missing=None)
    assert kind == "UnreadableFileError"
    assert "a.csv lacks 2 of the table's 3 columns: amount, id; it has word, ID, Amount" in message
    json_path.write_text('{"word": "a"}\n{"else": 1}\n')
    built = read_alike(child, json_path, SCHEMA, max_missing=None)
    assert built["mismatch"] == {"missing": ["amount", "id"], "extra": ["else"]}


def test_what_transforms_and_filters_take_is_no_other_column(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
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


def test_models_of_the_client_are_taken_as_they_are(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
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
    child: SegmentChild, tmp_path: Path, suffix: str
) -> None:
    (tmp_path / "a b").write_text("word,id,amount\nwrong,0,0\n")
    for number, name in enumerate(NAMES):
        path = tmp_path / name.replace(".csv", f".{suffix}")
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
_MICROS = {"type": "long", "logicalType": "timestamp-micros"}
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
) -> None:
    """Check both readers, also with a transform of a time column."""
    built = read_alike(child, path, TIMES)
    expected = [{name: row[name] for name in names} for row in rows]
    assert [{name: row.get(name) for name in names} for row in built["read"]] == expected
    transformed = read_alike(child, path, TIMES, DAYS_BY_TRANSFORM)
    assert [{name: row.get(name) for name in names} for row in transformed["read"]] == expected
    first = transformed["read"][0]
    assert first["text"] == str(first["day"]), "transforms see what is stored"


_MOMENTS = pa.array(MICROS, pa.timestamp("us"))


@pytest.mark.parametrize(
    ("column", "step_ns"),
    [
        (_MOMENTS.cast(pa.timestamp("ms", "UTC"), safe=False), 10**6),
        (_MOMENTS.cast(pa.timestamp("us", "UTC")), 10**3),
        (_MOMENTS.cast(pa.timestamp("ns", "UTC")), 1),
        (pa.array([19_782, -1, None], pa.date32()), DAY_MS * 10**6),
    ],
    ids=["ms", "us", "ns", "days"],
)
def test_times_of_parquet_files(child: SegmentChild, tmp_path: Path, column: pa.Array, step_ns: int) -> None:
    path = tmp_path / "times.parquet"
    pq.write_table(pa.table(dict.fromkeys(COLUMNS, column)), path)
    is_day = pa.types.is_date(column.type)
    numbers = column.cast(pa.int32() if is_day else pa.int64()).to_pylist()
    is_time = not is_day and child.features["keeps_source_types"]
    _check_times(child, path, [_expected(number, step_ns, is_time=is_time) for number in numbers])


def test_int96_of_parquet_files(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "times.parquet"
    pq.write_table(pa.table(dict.fromkeys(COLUMNS, _MOMENTS)), path, use_deprecated_int96_timestamps=True)
    _check_times(child, path, [_expected(None if each is None else each // 1000, 10**6) for each in MICROS])


@pytest.mark.parametrize("reader", ["pinot", "auto"])
def test_a_time_column_in_microseconds(child: SegmentChild, tmp_path: Path, reader: str) -> None:
    path = tmp_path / "times.parquet"
    column = pa.array(MICROS[:1], pa.timestamp("us"))
    pq.write_table(pa.table({"ms": column, "stamp": column}), path)
    for name in ("ms", "stamp"):
        built = child.build(table_config(time_column=name), TIMES, path, reader)
        assert (built["start_time"], built["time_unit"]) == (1_709_209_845_678, "MILLISECONDS"), built


@pytest.mark.parametrize(
    ("logical", "step_us"),
    [
        ("timestamp-micros", 1),
        ("timestamp-millis", 1000),
        ("local-timestamp-micros", 1),
        ("date", DAY_MS * 1000),
    ],
)
def test_logical_types_of_avro_files(child: SegmentChild, tmp_path: Path, logical: str, step_us: int) -> None:
    path = tmp_path / "times.avro"
    numbers = [None if each is None else each // step_us for each in MICROS]
    kind = {"type": "int" if logical == "date" else "long", "logicalType": logical}
    is_applied = bool(child.features["avro_logical_types"])
    # If Pinot's reader applies the logical type, a date is a text, which fits only a LONG time column.
    names = [name for name in COLUMNS if name != "plain"] if is_applied and logical == "date" else COLUMNS
    fields = [{"name": name, "type": ["null", kind]} for name in names]
    write_avro_file(path, fields, [dict.fromkeys(names, number) for number in numbers])
    is_time = (is_applied or child.features["keeps_source_types"]) and logical.startswith("timestamp")
    rows = [_expected(number, step_us * 1000, is_time=is_time) for number in numbers]
    _check_times(child, path, rows, names)


def _logical_types(child: SegmentChild) -> dict[str, str]:
    return {} if child.features["keeps_source_types"] else {"enableLogicalTypes": "true"}


@inside(Need.SOURCE_TYPES)
def test_stored_numbers_of_times_by_a_property(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "times.avro"
    micros = 1_709_209_845_678_901
    write_avro_file(path, [{"name": "n", "type": _MICROS}], [{"n": micros}])
    for value, stored in (("true", micros), ("false", micros // 1000)):
        config = {"extractRawTimeValues": value}
        assert read_alike(child, path, schema_of({"n": "LONG"}), reader_config=config)["read"] == [
            {"n": stored}
        ]


@pytest.mark.parametrize(
    ("logical", "number"),
    [
        ("timestamp-micros", 1_709_209_845_678_901),
        pytest.param("timestamp-millis", 1_709_209_845_678, marks=FULL),
    ],
)
def test_avro_files_whose_logical_types_pinot_itself_applies(
    child: SegmentChild, tmp_path: Path, logical: str, number: int
) -> None:
    path = tmp_path / "times.avro"
    fields = [{"name": name, "type": {"type": "long", "logicalType": logical}} for name in FORMATS]
    write_avro_file(path, fields, [dict.fromkeys(FORMATS, number)])
    built = read_alike(child, path, TIMES, reader_config=_logical_types(child))
    expected = _expected(1_709_209_845_678, 10**6)
    assert [row[name] for row in built["read"] for name in FORMATS] == [expected[name] for name in FORMATS]


def test_other_columns_of_avro_files_whose_logical_types_are_applied(
    child: SegmentChild, tmp_path: Path
) -> None:
    path = tmp_path / "times.avro"
    kinds = {"n": ("long", "timestamp-micros"), "t": ("long", "timestamp-millis"), "day": ("int", "date")}
    fields: list[dict[str, Any]] = [
        {"name": name, "type": ["null", {"type": base, "logicalType": logical}]}
        for name, (base, logical) in kinds.items()
    ]
    fields.append({"name": "many", "type": ["null", {"type": "array", "items": fields[0]["type"][1]}]})
    micros = 1_709_209_845_678_901
    row = {"n": micros, "t": 5, "day": 19_782, "many": [micros, micros]}
    write_avro_file(path, fields, [row, dict.fromkeys(row)])
    schema = schema_of({"n": "LONG", "t": "TIMESTAMP", "day": "STRING"}, multi_values={"many": "LONG"})
    built = read_alike(child, path, schema, reader_config=_logical_types(child))
    first, second = built["read"]
    millis = 1_709_209_845_678
    assert first == {"n": millis, "t": 5, "day": "2024-02-29", "many": [millis, millis]}
    assert all(second.get(name) is None for name in row)


def test_a_time_that_does_not_fit(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "times.parquet"
    schema = schema_of({"word": "STRING"})
    schema["dateTimeFieldSpecs"] = [
        {"name": "s", "dataType": "INT", "format": "1:SECONDS:EPOCH", "granularity": "1:DAYS"}
    ]
    column = pa.array([0, 2**31 * 1_000_000], pa.timestamp("us"))
    pq.write_table(pa.table({"word": ["a", "b"], "s": column}), path)
    kind, message = refused_alike(child, path, schema)
    assert kind == "DataError"
    assert "times.parquet, row 2, field s: found '2147483648'; it does not fit INT" in message
    assert "another unit than the column's format" in message


def test_arrow_tables_come_in_the_unit_of_the_column(child: SegmentChild) -> None:
    table = pa.table(dict.fromkeys(COLUMNS, pa.array(MICROS, pa.timestamp("us", "UTC"))))
    by_arrow = child.build(CONFIG, TIMES, table, "arrow", read_back=True)
    by_pinot = child.build(CONFIG, TIMES, table, "pinot", read_back=True)
    assert by_arrow["crc"] == by_pinot["crc"]
    millis = [None if each is None else each // 1000 for each in MICROS]
    # In a table from a program, any LONG gets milliseconds.
    expected = [_expected(each, 10**6) for each in millis]
    assert [{name: row.get(name) for name in COLUMNS} for row in by_arrow["read"]] == expected
