"""Many files give the same segments as Pinot builds from their rows, with any reader and any split."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.contract.plain_files import CONFIG, ROWS, SCHEMA, WRITERS, expected_row, write_avro
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import examples, schema_of, table_config
from tests.support.tiers import FULL

pytestmark = pytest.mark.jvm

SAME = ("rows", "crc", "start_time", "end_time", "time_unit", "segment_size_bytes")


Write = Callable[[Path, list[dict[str, Any]]], None]


def files_of(folder: Path, file_name: str, bounds: Sequence[int]) -> list[Path]:
    """Write the rows to files, split at the bounds."""
    return written(folder, file_name, [ROWS[start:end] for start, end in pairwise(bounds)])


def written(
    folder: Path, file_name: str, parts: Sequence[list[dict[str, Any]]], write: Write | None = None
) -> list[Path]:
    """Write a file of each part."""
    paths = [folder / file_name.replace("rows", f"rows{number}") for number in range(len(parts))]
    for path, rows in zip(paths, parts, strict=True):
        (write or WRITERS[file_name])(path, rows)
    return paths


def same_as_one_file(
    child: SegmentChild,
    schema: Mapping[str, Any],
    folder: Path,
    parts: Sequence[list[dict[str, Any]]],
    *,
    config: Mapping[str, Any] | None = None,
    file_name: str = "rows.json",
    write: Write | None = None,
) -> dict[str, Any]:
    """Compare many files, read by both readers, with one file of all rows, read by Pinot's driver."""
    config = config or table_config()
    paths, whole = written(folder, file_name, parts, write), folder / file_name
    columns = dict.fromkeys(name for rows in parts for row in rows for name in row)
    (write or WRITERS[file_name])(whole, [columns | row for rows in parts for row in rows])
    in_files = "-".join(map(str, range(len(paths))))
    by_driver = child.build(
        config, schema, whole, "pinot", name="part_0", custom={"files": in_files}, read_back=True
    )
    assert "error" not in by_driver, by_driver
    for reader in ("pinot", "auto"):
        built = child.build_files(config, schema, paths, reader, read_back=True)
        assert built["failures"] == {}, built
        (segment,) = built["segments"]
        assert segment["read"] == by_driver["read"]
        assert segment["custom"] == {"files": in_files}
        assert {key: segment[key] for key in SAME} == {key: by_driver[key] for key in SAME}
    return dict(segment)


@pytest.mark.parametrize("file_name", WRITERS)
def test_many_files_are_one_segment(child: SegmentChild, tmp_path: Path, file_name: str) -> None:
    expected = [expected_row(row, empty_is_null=file_name.startswith("rows.csv")) for row in ROWS]
    for bounds in ([0, 1, 2, 17, 41, 63, 64], [0, 64]):
        parts = [ROWS[start:end] for start, end in pairwise(bounds)]
        segment = same_as_one_file(child, SCHEMA, tmp_path, parts, config=CONFIG, file_name=file_name)
        assert [{name: row.get(name) for name in ROWS[0]} for row in segment["read"]] == expected
        assert (segment["reader"], segment["fallback_reason"]) == ("arrow", None)


@FULL
@pytest.mark.parametrize("reader", ["pinot", "auto"])
@pytest.mark.parametrize("suffix", ["csv", "json", "parquet", "avro"])
def test_one_file_is_what_from_file_builds(
    child: SegmentChild, tmp_path: Path, suffix: str, reader: str
) -> None:
    path = tmp_path / f"rows.{suffix}"
    WRITERS[path.name](path, ROWS)
    alone = child.build(CONFIG, SCHEMA, path, reader, name="part_0", custom={"files": "0"}, read_back=True)
    for max_rows in (len(ROWS), 1_000):
        built = child.build_files(CONFIG, SCHEMA, [path], reader, max_rows, read_back=True)
        assert built == {"segments": [alone], "failures": {}, "mismatches": {}}


@settings(
    max_examples=examples(4, 50),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@example(bounds={20, 25}, max_rows=25, file_name="rows.csv")
@example(bounds={20, 25}, max_rows=25, file_name="rows.json")
@example(bounds=set(), max_rows=25, file_name="rows.parquet")
@example(bounds=set(), max_rows=25, file_name="rows.avro")
@given(
    bounds=st.sets(st.integers(1, 63), max_size=8),
    max_rows=st.integers(5, 70),
    file_name=st.sampled_from(["rows.csv", "rows.json", "rows.parquet", "rows.avro"]),
)
def test_cuts_inside_files(
    child: SegmentChild, tmp_path: Path, bounds: set[int], max_rows: int, file_name: str
) -> None:
    paths = files_of(tmp_path, file_name, [0, *sorted(bounds), len(ROWS)])
    by_pinot = child.build_files(CONFIG, SCHEMA, paths, "pinot", max_rows, read_back=True)["segments"]
    by_choice = child.build_files(CONFIG, SCHEMA, paths, "auto", max_rows)["segments"]
    cuts = [ROWS[start : start + max_rows] for start in range(0, len(ROWS), max_rows)]
    assert [segment["rows"] for segment in by_pinot] == [len(rows) for rows in cuts]
    assert [segment["name"] for segment in by_pinot] == [f"part_{number}" for number in range(len(cuts))]
    times = [(segment["start_time"], segment["end_time"]) for segment in by_pinot]
    assert times == [(rows[0]["ts"], rows[-1]["ts"]) for rows in cuts]
    found = [{name: row.get(name) for name in ROWS[0]} for part in by_pinot for row in part["read"]]
    assert found == [expected_row(row, empty_is_null=file_name == "rows.csv") for row in ROWS]
    same = [[{key: part[key] for key in ("name", *SAME)} for part in each] for each in (by_choice, by_pinot)]
    assert same[0] == same[1]


def test_rows_that_take_more_than_pinot_maps(child: SegmentChild, tmp_path: Path) -> None:
    paths = files_of(tmp_path, "rows.json", [0, 20, 40, 64])
    # A segment built by columns ends with the batch that reaches the limit.
    built = child.build_files(CONFIG, SCHEMA, paths, "arrow", 30, read_back=True, arrow_rows_bytes=1)
    assert built["failures"] == {}
    assert [segment["rows"] for segment in built["segments"]] == [20, 20, 24]
    assert [row["ts"] for part in built["segments"] for row in part["read"]] == [row["ts"] for row in ROWS]
    # The mapper starts no further file after the limit.
    built = child.build_files(CONFIG, SCHEMA, paths, "pinot", 15, read_back=True, full_bytes=0)
    assert [segment["rows"] for segment in built["segments"]] == [15, 5, 15, 5, 15, 9]
    rows = [row["ts"] for segment in built["segments"] for row in segment["read"]]
    assert rows == [row["ts"] for row in ROWS]
    # If a single file is too large, each file becomes a segment.
    built = child.build_files(CONFIG, SCHEMA, paths, "pinot", 64, mapped_rows_bytes=1_000)
    assert [segment["rows"] for segment in built["segments"]] == [20, 20, 24]


def test_files_without_rows(child: SegmentChild, tmp_path: Path) -> None:
    empty, full = tmp_path / "empty.csv", tmp_path / "full.csv"
    empty.write_text("d_int,d_string,ts\n")
    full.write_text("d_int,d_string,ts\n1,a,1600000000000\n2,b,1600000000000\n")
    for reader in ("pinot", "auto"):
        built = child.build_files(CONFIG, SCHEMA, [empty, empty], reader, read_back=True)
        (segment,) = built["segments"]
        assert (segment["rows"], segment["rows_loaded"], segment["name"]) == (0, 0, "part_0")
        for paths in ([empty, full, empty], [full, empty], [empty, full]):
            built = child.build_files(CONFIG, SCHEMA, paths, reader, 2, read_back=True)
            assert [row["d_int"] for segment in built["segments"] for row in segment["read"]] == [1, 2]
            assert len(built["segments"]) == 1
    assert child.build_files(CONFIG, SCHEMA, [], "auto", file_format="csv") == {
        "segments": [],
        "failures": {},
        "mismatches": {},
    }


def test_a_file_without_a_column_that_others_have(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"s": "STRING", "t": "TIMESTAMP", "j": "JSON"}, multi_values={"mv": "INT"})
    with_all: dict[str, Any] = {"s": "a", "t": "2021-03-04 05:06:07", "j": '{"a":1}', "mv": [1, 2]}
    rows: list[list[dict[str, Any]]] = [
        [with_all],
        [{"s": "b"}],
        [{"t": "1600000000001", "mv": [3]}],
        [{"s": "c", "j": "{}"}],
    ]
    for order, expected in (([0, 1, 2, 3], "arrow"), ([1, 0, 2, 3], "pinot")):
        parts = [rows[number] for number in order]
        segment = same_as_one_file(child, schema, tmp_path, parts, file_name="rows.csv")
        # A TIMESTAMP is stored as text when the first file has it as text, and cannot be later.
        assert segment["reader"] == expected


def test_files_with_other_types(child: SegmentChild, tmp_path: Path) -> None:
    parts: list[list[dict[str, Any]]] = [[{"d_int": 1, "d_double": 2}], [{"d_int": "3", "d_double": 2.5}]]
    assert same_as_one_file(child, SCHEMA, tmp_path, parts)["reader"] == "arrow"


AVRO_COLUMNS = {"s": pa.string(), "o": pa.bool_(), "t": pa.int64(), "j": pa.string(), "b": pa.binary()}
AVRO_COLUMNS |= {"d": pa.string(), "df": pa.float32(), "mb": pa.list_(pa.binary())}
AVRO_ROWS = [
    {
        "s": [None, "x" * 600, "ü\0cut"][number % 3],
        "o": [True, False, None][number % 3],
        "t": None if number == 4 else 1_600_000_000_000 + number,
        "j": ['{"b": [1, 2.50, null]}', "not json", None, '"' + "y" * 700 + '"'][number % 4],
        "b": [b"\x00\xff", b"", None][number % 3],
        "d": ["0.1", "-1E+3", None, "123456789012345678901234567890.10", "0.0"][number % 5],
        "df": None if number == 7 else number / 10,
        "mb": [None, [], [b"\x01"], [b"\xff" * 300, b""]][number % 4],
    }
    for number in range(30)
]


@pytest.mark.parametrize("null_handling", [True, False])
@pytest.mark.parametrize("without", ["", "d", "mb", "d mb"])
def test_decimals_and_lists_of_bytes(
    child: SegmentChild, tmp_path: Path, null_handling: bool, without: str
) -> None:
    kinds = {"s": "STRING", "o": "BOOLEAN", "t": "TIMESTAMP", "j": "JSON", "b": "BYTES"}
    schema = schema_of(
        kinds,
        metrics={} if "d" in without else {"d": "BIG_DECIMAL", "df": "BIG_DECIMAL"},
        multi_values={} if "mb" in without else {"mb": "BYTES"},
        extra={"d": {"defaultNullValue": "7.50"}},
    )

    write = partial(write_avro, schema=pa.schema(AVRO_COLUMNS))
    parts = [AVRO_ROWS[start : start + 10] for start in (0, 10, 20)]
    config = table_config(null_handling=null_handling)
    segment = same_as_one_file(
        child, schema, tmp_path, parts, config=config, file_name="rows.avro", write=write
    )
    has_fractions_as_decimals = "d" not in without
    has_lists_that_cannot_be_written = "mb" not in without and not child.features["is_pinot_1"]
    is_left_to_pinot = has_fractions_as_decimals or has_lists_that_cannot_be_written
    assert segment["reader"] == ("pinot" if is_left_to_pinot else "arrow")
    if not without:
        # Since 1.4 without the zero at the end.
        assert Decimal(segment["read"][3]["d"]["decimal"]) == Decimal("123456789012345678901234567890.1")
    paths = written(tmp_path, "rows.avro", parts, write)
    cut = child.build_files(config, schema, paths, "auto", 7, read_back=True)
    assert [row for part in cut["segments"] for row in part["read"]] == segment["read"]
    assert len(cut["segments"]) == 5


def test_rows_that_are_changed_on_their_way(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"s": "STRING", "i": "INT"}, metrics={"d": "BIG_DECIMAL"})
    unnest = {"fieldsToUnnest": ["x"], "delimiter": "."}
    transform = [{"columnName": "s", "transformFunction": "Groovy({i + 'y'}, i)"}]
    unnested = [{"columnName": "s", "transformFunction": "Groovy({y + 'y'}, y)"}]
    only_even = {"filterFunction": "Groovy({i % 2 == 1}, i)"}
    cases = [
        ({"transformConfigs": transform}, 12),
        ({"transformConfigs": transform, "filterConfig": only_even}, 6),
        ({"complexTypeConfig": unnest, "transformConfigs": unnested, "filterConfig": only_even}, 12),
    ]
    rows = [{"i": number, "x": [{"y": "a"}, {"y": f"b{number}"}], "d": number / 8} for number in range(12)]
    parts = [rows[start : start + 4] for start in (0, 4, 8)]
    paths = written(tmp_path, "rows.json", parts)
    for ingestion, count in cases:
        for each in (schema, {**schema, "metricFieldSpecs": []}):
            config = table_config(ingestionConfig=ingestion)
            assert same_as_one_file(child, each, tmp_path, parts, config=config)["rows"] == count
            cut = child.build_files(config, each, paths, "auto", 5)
            assert [part["rows"] for part in cut["segments"]] == [5] * (count // 5) + [count % 5]


def test_indexes_sorted_columns_and_derived_columns(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"s": "STRING", "k": "INT"}, metrics={"m": "DOUBLE"})
    unit = {"format": "1:MILLISECONDS:TIMESTAMP", "granularity": "1:MILLISECONDS"}
    schema["dateTimeFieldSpecs"] = [{"name": "ts", "dataType": "TIMESTAMP", **unit}]
    indexing = {
        "invertedIndexColumns": ["s"],
        "createInvertedIndexDuringSegmentGeneration": True,
        "noDictionaryColumns": ["m"],
        "sortedColumn": ["k"],
        "segmentPartitionConfig": {
            "columnPartitionMap": {"k": {"functionName": "Modulo", "numPartitions": 4}}
        },
    }
    index = {"indexTypes": ["TIMESTAMP"], "timestampConfig": {"granularities": ["DAY"]}}
    fields = [{"name": "ts", "encodingType": "DICTIONARY", **index}]
    rows = [
        {"s": f"s{number % 3}", "k": 40 - number, "m": number / 4, "ts": 1_600_000_000_000 + number}
        for number in range(40)
    ]
    for derived in (False, True):
        config = table_config(
            time_column="ts", indexing=indexing, fieldConfigList=fields if derived else None
        )
        segment = same_as_one_file(child, schema, tmp_path, [rows[:15], rows[15:]], config=config)
        assert [row["k"] for row in segment["read"]] == [40 - number for number in range(40)]
        assert segment["reader"] == ("pinot" if derived else "arrow")
    assert segment["read"][0]["$ts$DAY"] == 1_599_955_200_000


def test_texts_that_pinot_converts_late(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"j": "JSON", "t": "TIMESTAMP"}, metrics={"d": "BIG_DECIMAL"})
    rows: list[dict[str, Any]] = [
        {"j": json.dumps({"a": number}), "t": "2021-03-04 05:06:07", "d": f"{number}.50"}
        for number in range(9)
    ]
    rows[4] = dict.fromkeys(rows[0])
    parts = [rows[start : start + 3] for start in (0, 3, 6)]
    segment = same_as_one_file(child, schema, tmp_path, parts, file_name="rows.csv")
    assert segment["reader"] == "arrow"
    paths = written(tmp_path, "rows.csv", parts)
    crcs = [
        [part["crc"] for part in child.build_files(table_config(), schema, paths, reader, 4)["segments"]]
        for reader in ("pinot", "arrow")
    ]
    assert crcs[0] == crcs[1]
