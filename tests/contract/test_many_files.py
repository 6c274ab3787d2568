"""Many files give the same segments as Pinot builds from their rows, with any reader and any split."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.plain_files import expected_row, write_csv, write_json
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import METRIC_TYPES, schema_of, table_config
from tests.contract.test_arrow_equals_pinot_reader import CONFIG, ROWS, SCHEMA, WRITERS

pytestmark = pytest.mark.jvm

SAME = ("rows", "crc", "start_time", "end_time", "time_unit", "segment_size_bytes")


def files_of(folder: Path, file_name: str, bounds: Sequence[int]) -> list[Path]:
    """Write the rows to files, split at the bounds."""
    paths = []
    for number, (start, end) in enumerate(pairwise(bounds)):
        paths.append(folder / file_name.replace("rows", f"rows{number}"))
        WRITERS[file_name](paths[-1], ROWS[start:end])
    return paths


def same_as_one_file(
    child: SegmentChild,
    config: Mapping[str, Any],
    schema: Mapping[str, Any],
    paths: Sequence[Path],
    whole: Path,
) -> dict[str, Any]:
    """Compare many files, read by both readers, with one file of all rows, read by Pinot's driver."""
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
def test_many_files_are_one_segment(child: SegmentChild, source_dir: Path, file_name: str) -> None:
    whole = source_dir / file_name
    WRITERS[file_name](whole, ROWS)
    paths = files_of(source_dir, file_name, [0, 1, 2, 17, 41, 63, 64])
    segment = same_as_one_file(child, CONFIG, SCHEMA, paths, whole)
    expected = [expected_row(row, empty_is_null=file_name.startswith("rows.csv")) for row in ROWS]
    assert [{name: row.get(name) for name in ROWS[0]} for row in segment["read"]] == expected
    assert (segment["reader"], segment["fallback_reason"]) == ("arrow", None)


@pytest.mark.parametrize("file_name", ["rows.csv", "rows.json", "rows.parquet", "rows.avro"])
def test_cuts_inside_files(child: SegmentChild, source_dir: Path, file_name: str) -> None:
    whole = source_dir / file_name
    WRITERS[file_name](whole, ROWS)
    expected = [expected_row(row, empty_is_null=file_name == "rows.csv") for row in ROWS]
    for paths in ([whole], files_of(source_dir, file_name, [0, 20, 25, 64])):
        crcs = []
        for reader in ("pinot", "auto"):
            built = child.build_files(CONFIG, SCHEMA, paths, reader, 25, read_back=True)
            assert [segment["rows"] for segment in built["segments"]] == [25, 25, 14]
            assert [segment["name"] for segment in built["segments"]] == ["part_0", "part_1", "part_2"]
            rows = [row for segment in built["segments"] for row in segment["read"]]
            assert [{name: row.get(name) for name in ROWS[0]} for row in rows] == expected
            times = [(segment["start_time"], segment["end_time"]) for segment in built["segments"]]
            stamps = [row["ts"] for row in ROWS]
            assert times == [(part[0], part[-1]) for part in (stamps[:25], stamps[25:50], stamps[50:])]
            crcs.append([segment["crc"] for segment in built["segments"]])
        assert crcs[0] == crcs[1]


@pytest.mark.parametrize("reader", ["pinot", "auto"])
@pytest.mark.parametrize("suffix", ["csv", "json", "parquet", "avro"])
def test_one_file_is_what_from_file_builds(
    child: SegmentChild, source_dir: Path, suffix: str, reader: str
) -> None:
    path = source_dir / f"rows.{suffix}"
    WRITERS[path.name](path, ROWS)
    alone = child.build(CONFIG, SCHEMA, path, reader, name="part_0", custom={"files": "0"}, read_back=True)
    for max_rows in (len(ROWS), 1_000):
        built = child.build_files(CONFIG, SCHEMA, [path], reader, max_rows, read_back=True)
        assert built == {"segments": [alone], "failures": {}, "mismatches": {}}


@settings(
    max_examples=settings().max_examples // 8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(
    bounds=st.sets(st.integers(1, 63), max_size=8),
    max_rows=st.integers(5, 70),
    file_name=st.sampled_from(["rows.csv", "rows.json", "rows.parquet", "rows.avro"]),
)
def test_every_row_is_in_once(
    child: SegmentChild, source_dir: Path, bounds: set[int], max_rows: int, file_name: str
) -> None:
    paths = files_of(source_dir, file_name, [0, *sorted(bounds), 64])
    by_pinot = child.build_files(CONFIG, SCHEMA, paths, "pinot", max_rows, read_back=True)
    by_choice = child.build_files(CONFIG, SCHEMA, paths, "auto", max_rows)
    counts = [min(max_rows, 64 - start) for start in range(0, 64, max_rows)]
    assert [segment["rows"] for segment in by_pinot["segments"]] == counts
    rows = [row for segment in by_pinot["segments"] for row in segment["read"]]
    assert [row["ts"] for row in rows] == [row["ts"] for row in ROWS]
    crcs = [[segment["crc"] for segment in built["segments"]] for built in (by_pinot, by_choice)]
    assert crcs[0] == crcs[1]


def test_rows_that_take_more_than_pinot_maps(child: SegmentChild, source_dir: Path) -> None:
    paths = files_of(source_dir, "rows.json", [0, 20, 40, 64])
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


def test_files_without_rows(child: SegmentChild, source_dir: Path) -> None:
    empty, full = source_dir / "empty.csv", source_dir / "full.csv"
    empty.write_text("d_int,d_string\n")
    full.write_text("d_int,d_string\n1,a\n2,b\n")
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


def test_a_file_without_a_column_that_others_have(child: SegmentChild, source_dir: Path) -> None:
    schema = schema_of({"s": "STRING", "t": "TIMESTAMP", "j": "JSON"}, multi_values={"mv": "INT"})
    with_all: dict[str, Any] = {"s": "a", "t": "2021-03-04 05:06:07", "j": '{"a":1}', "mv": [1, 2]}
    rows: list[list[dict[str, Any]]] = [
        [with_all],
        [{"s": "b"}],
        [{"t": "1600000000001", "mv": [3]}],
        [{"s": "c", "j": "{}"}],
    ]
    for order, expected in (([0, 1, 2, 3], "arrow"), ([1, 0, 2, 3], "pinot")):
        paths = [source_dir / f"{number}.csv" for number in order]
        for path, number in zip(paths, order, strict=True):
            write_csv(path, rows[number])
        whole = source_dir / "whole.csv"
        write_csv(whole, [dict.fromkeys(with_all) | row for number in order for row in rows[number]])
        segment = same_as_one_file(child, table_config(), schema, paths, whole)
        # A TIMESTAMP is stored as text when the first file has it as text, and cannot be later.
        assert segment["reader"] == expected


def test_files_with_other_types(child: SegmentChild, source_dir: Path) -> None:
    rows: list[dict[str, Any]] = [{"d_int": 1, "d_double": 2}, {"d_int": "3", "d_double": 2.5}]
    paths = [source_dir / "0.json", source_dir / "1.json"]
    for path, row in zip(paths, rows, strict=True):
        write_json(path, [row])
    whole = source_dir / "whole.json"
    write_json(whole, rows)
    assert same_as_one_file(child, table_config(), SCHEMA, paths, whole)["reader"] == "arrow"


AVRO_SCHEMA = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "s", "type": ["null", "string"]},
        {"name": "o", "type": ["null", "boolean"]},
        {"name": "t", "type": ["null", "long"]},
        {"name": "j", "type": ["null", "string"]},
        {"name": "b", "type": ["null", "bytes"]},
        {"name": "d", "type": ["null", "string"]},
        {"name": "df", "type": ["null", "float"]},
        {"name": "mb", "type": ["null", {"type": "array", "items": "bytes"}]},
    ],
}
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
    child: SegmentChild, source_dir: Path, null_handling: bool, without: str
) -> None:
    kinds = {"s": "STRING", "o": "BOOLEAN", "t": "TIMESTAMP", "j": "JSON", "b": "BYTES"}
    schema = schema_of(
        kinds,
        metrics={} if "d" in without else {"d": "BIG_DECIMAL", "df": "BIG_DECIMAL"},
        multi_values={} if "mb" in without else {"mb": "BYTES"},
        extra={"d": {"defaultNullValue": "7.50"}},
    )

    def written(name: str, rows: list[dict[str, Any]]) -> Path:
        path = source_dir / name
        with path.open("wb") as file:
            fastavro.writer(file, AVRO_SCHEMA, rows)
        return path

    whole = written("whole.avro", AVRO_ROWS)
    paths = [written(f"{start}.avro", AVRO_ROWS[start : start + 10]) for start in (0, 10, 20)]
    config = table_config(null_handling=null_handling)
    segment = same_as_one_file(child, config, schema, paths, whole)
    has_fractions_as_decimals = "d" not in without
    has_lists_that_cannot_be_written = "mb" not in without and not child.features["is_pinot_1"]
    is_left_to_pinot = has_fractions_as_decimals or has_lists_that_cannot_be_written
    assert segment["reader"] == ("pinot" if is_left_to_pinot else "arrow")
    if not without:
        # Since 1.4 without the zero at the end.
        assert Decimal(segment["read"][3]["d"]["decimal"]) == Decimal("123456789012345678901234567890.1")
    cut = child.build_files(config, schema, paths, "auto", 7, read_back=True)
    assert [row for part in cut["segments"] for row in part["read"]] == segment["read"]
    assert len(cut["segments"]) == 5


def test_rows_that_are_changed_on_their_way(child: SegmentChild, source_dir: Path) -> None:
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
    whole = source_dir / "whole.json"
    write_json(whole, rows)
    paths = [source_dir / f"{start}.json" for start in (0, 4, 8)]
    for path, start in zip(paths, (0, 4, 8), strict=True):
        write_json(path, rows[start : start + 4])
    for ingestion, count in cases:
        for each in (schema, {**schema, "metricFieldSpecs": []}):
            config = table_config(ingestionConfig=ingestion)
            assert same_as_one_file(child, config, each, paths, whole)["rows"] == count
            cut = child.build_files(config, each, paths, "auto", 5)
            assert [part["rows"] for part in cut["segments"]] == [5] * (count // 5) + [count % 5]


def test_indexes_sorted_columns_and_derived_columns(child: SegmentChild, source_dir: Path) -> None:
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
    whole = source_dir / "whole.json"
    write_json(whole, rows)
    paths = [source_dir / f"{start}.json" for start in (0, 15)]
    for path, part in zip(paths, (rows[:15], rows[15:]), strict=True):
        write_json(path, part)
    for derived in (False, True):
        config = table_config(
            time_column="ts", indexing=indexing, fieldConfigList=fields if derived else None
        )
        segment = same_as_one_file(child, config, schema, paths, whole)
        assert [row["k"] for row in segment["read"]] == [40 - number for number in range(40)]
        assert segment["reader"] == ("pinot" if derived else "arrow")
    assert segment["read"][0]["$ts$DAY"] == 1_599_955_200_000


def test_texts_that_pinot_converts_late(child: SegmentChild, source_dir: Path) -> None:
    schema = schema_of({"j": "JSON", "t": "TIMESTAMP"}, metrics={"d": "BIG_DECIMAL"})
    assert "BIG_DECIMAL" in METRIC_TYPES
    rows: list[dict[str, Any]] = [
        {"j": json.dumps({"a": number}), "t": "2021-03-04 05:06:07", "d": f"{number}.50"}
        for number in range(9)
    ]
    rows[4] = dict.fromkeys(rows[0])
    whole = source_dir / "whole.csv"
    write_csv(whole, rows)
    paths = [source_dir / f"{start}.csv" for start in (0, 3, 6)]
    for path, start in zip(paths, (0, 3, 6), strict=True):
        write_csv(path, rows[start : start + 3])
    assert same_as_one_file(child, table_config(), schema, paths, whole)["reader"] == "arrow"
    crcs = [
        [part["crc"] for part in child.build_files(table_config(), schema, paths, reader, 4)["segments"]]
        for reader in ("pinot", "arrow")
    ]
    assert crcs[0] == crcs[1]
