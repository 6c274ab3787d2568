"""A bad file among many: all rows of the others are loaded, none of the bad one; its error is unchanged."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.contract.plain_files import WRITERS
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

SCHEMA = schema_of({"d_string": "STRING", "d_int": "INT"}, times={"ts": "1:MILLISECONDS:EPOCH"})
CONFIG = table_config(time_column="ts")
ROWS_A_FILE = 20


def rows_of(number: int) -> list[dict[str, Any]]:
    first = ROWS_A_FILE * number
    return [
        {"d_string": f"v{row}", "d_int": row, "ts": 1_600_000_000_000 + row}
        for row in range(first, first + ROWS_A_FILE)
    ]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    WRITERS["rows" + "".join(path.suffixes)](path, rows)


def _bad_row(path: Path) -> None:
    rows = rows_of(99)
    rows[7]["d_int"] = 2**40
    write(path, rows)


def _bad_last_row(path: Path) -> None:
    path.write_text(json.dumps(rows_of(99)[0]) + "\n" + '{"d_int": \n')


def _cut(path: Path) -> None:
    write(path, rows_of(99))
    path.write_bytes(path.read_bytes()[:-40])


def _cut_gzip(path: Path) -> None:
    lines = [f"{(row * 2_654_435_761) % 2**32:x},{row},1600000000000" for row in range(5_000)]
    path.write_bytes(gzip.compress("\n".join(["d_string,d_int,ts", *lines]).encode())[:-4_000])


def _gzip_head(path: Path) -> None:
    path.write_bytes(gzip.compress(b"d_string,d_int,ts\na,1,1600000000000\n")[:6])


def _another_format(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 no table at all")


def _foreign(path: Path) -> None:
    path.write_text("x,y\n1,2\n")


def _name_twice(path: Path) -> None:
    path.write_text("d_int,d_int\n1,2\n")


def _time_out_of_range(path: Path) -> None:
    write(path, [{"d_string": "a", "d_int": 1, "ts": 1_600_000_000}])


_CUT_AVRO = "{name} cannot be read as AVRO: it is truncated"
CASES: dict[str, tuple[str, Callable[[Path], None], str, str]] = {
    "a CSV row": ("csv", _bad_row, "DataError", "{name}, row 8, field d_int: found '1099511627776'"),
    "a JSON text": ("json", _bad_last_row, "DataError", "{name}, row 2: cannot be read as JSON"),
    "a cut gzip": ("csv.gz", _cut_gzip, "DataError", r"{name}, row \d+: cannot be read as CSV"),
    "the head of a gzip": ("csv.gz", _gzip_head, "UnreadableFileError", "its gzip header is corrupt"),
    "a cut Avro file": ("avro", _cut, "UnreadableFileError", _CUT_AVRO),
    "a cut Avro file in gzip": ("avro.gz", _cut, "UnreadableFileError", _CUT_AVRO),
    "a cut Parquet file": ("parquet", _cut, "UnreadableFileError", "{name} cannot be read as PARQUET"),
    "no JSON": ("json", _another_format, "UnreadableFileError", "{name} cannot be read as JSON"),
    "no Avro": ("avro", _another_format, "UnreadableFileError", "does not start like an Avro file"),
    "no Parquet": ("parquet", _another_format, "UnreadableFileError", "{name} cannot be read as PARQUET"),
    "another table's": ("csv", _foreign, "UnreadableFileError", "none of the table's columns"),
    "a name twice": ("csv", _name_twice, "UnreadableFileError", "{name} has the name"),
    "no file": ("csv", lambda path: None, "UnreadableFileError", "no such file"),
    "a time": ("csv", _time_out_of_range, "DataError", "{name}, row 1, field ts: found '"),
}


def _checked(
    child: SegmentChild, paths: Sequence[Path], bad: Sequence[int], reader: str
) -> dict[int, dict[str, str]]:
    """Build, check everything that does not depend on the bad file, and return the failures."""
    before = sorted(path.name for path in child.work_dir.iterdir())
    built = child.build_files(CONFIG, SCHEMA, paths, reader, 25, read_back=True)
    good = [number for number in range(len(paths)) if number not in bad]
    rows = [row["d_int"] for part in built["segments"] for row in part["read"]]
    assert rows == [row["d_int"] for number in good for row in rows_of(number)]
    count = len(rows)
    assert [part["rows"] for part in built["segments"]] == [min(25, count - x) for x in range(0, count, 25)]
    assert {part["custom"]["files"] for part in built["segments"]} == (
        {"-".join(map(str, good))} if good else set()
    )
    assert sorted(built["failures"]) == sorted(bad)
    for number, failure in built["failures"].items():
        alone = child.build(CONFIG, SCHEMA, paths[number], reader)
        assert failure == {"error": alone["error"], "message": alone["message"]}
    left = {path.name for path in child.work_dir.iterdir()} - set(before)
    assert all(name.startswith("part_") for name in left)
    failures: dict[int, dict[str, str]] = built["failures"]
    return failures


@pytest.mark.parametrize("reader", ["pinot", "auto"])
@pytest.mark.parametrize("case", CASES)
def test_a_bad_file_anywhere(child: SegmentChild, tmp_path: Path, case: str, reader: str, full: bool) -> None:
    suffix, spoil, kind, text = CASES[case]
    places = (0, 1, 3)
    for place in places if full else [places[list(CASES).index(case) % len(places)]]:
        folder = tmp_path / str(place)
        folder.mkdir()
        paths = [folder / f"rows{number}.{suffix}" for number in range(4)]
        for number, path in enumerate(paths):
            if number == place:
                spoil(path)
            else:
                write(path, rows_of(number))
        (failure,) = _checked(child, paths, [place], reader).values()
        assert failure["error"] == kind
        assert re.search(text.format(name=paths[place].name), failure["message"]), failure


@pytest.mark.parametrize("reader", ["pinot", "auto", "arrow"])
def test_several_bad_files(child: SegmentChild, tmp_path: Path, reader: str) -> None:
    paths = [tmp_path / f"rows{number}.csv" for number in range(6)]
    spoils = {0: _bad_row, 2: _foreign, 3: _bad_row, 5: _time_out_of_range}
    for number, path in enumerate(paths):
        write(path, rows_of(number))
        if number in spoils:
            spoils[number](path)
    failures = _checked(child, paths, [0, 2, 3, 5], reader)
    assert failures[2]["error"] == "UnreadableFileError"
    if reader != "arrow":
        assert "row 8, field d_int" in failures[3]["message"]


@pytest.mark.parametrize("reader", ["pinot", "auto"])
def test_all_files_are_bad(child: SegmentChild, tmp_path: Path, reader: str) -> None:
    paths = [tmp_path / f"rows{number}.csv" for number in range(2)]
    _bad_row(paths[0])
    _foreign(paths[1])
    assert set(_checked(child, paths, [0, 1], reader)) == {0, 1}


def test_a_bad_file_of_a_table_that_goes_through_plain_segments(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"s": "STRING"}, metrics={"d": "BIG_DECIMAL"})
    paths = [tmp_path / f"{number}.csv" for number in range(3)]
    for path, value in zip(paths, ("1.5", "x", "2.5"), strict=True):
        path.write_text(f"s,d\na,{value}\n")
    for reader in ("pinot", "auto"):
        built = child.build_files(table_config(), schema, paths, reader, read_back=True)
        assert [row["d"]["decimal"] for row in built["segments"][0]["read"]] == ["1.5", "2.5"]
        assert "1.csv, row 1, field d: found 'x'" in built["failures"][1]["message"]


def test_only_arrow_and_files_it_must_not_read(child: SegmentChild, tmp_path: Path) -> None:
    schema = schema_of({"t": "TIMESTAMP"})
    paths = [tmp_path / f"{number}.json" for number in range(3)]
    for path, row in zip(
        paths, ({"t": 1_600_000_000_000}, {"t": 5.0}, {"t": "2020-01-01 00:00:00"}), strict=True
    ):
        path.write_text(json.dumps(row) + "\n")
    built = child.build_files(table_config(), schema, paths, "arrow")
    assert "cannot be read by Arrow with the same result as Pinot" in built["failures"][1]["message"]
    # Arrow cannot store the other two in one form: each becomes a segment.
    assert [part["rows"] for part in built["segments"]] == [1, 1]


def test_wrong_orders(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows0.csv"
    write(path, rows_of(0))
    for wrong in (
        {"max_rows": 0},
        {"max_rows": 5, "name": "same"},
        {"max_rows": 50, "name": "a/b"},
        {"max_rows": 50, "in_files": "a,b"},
        {"max_rows": 50, "reader_config": {"delimeter": ","}},
    ):
        before = sorted(each.name for each in child.work_dir.iterdir())
        assert child.build_files(CONFIG, SCHEMA, [path], "auto", **wrong)["error"] == "ConfigError"
        assert sorted(each.name for each in child.work_dir.iterdir()) == before
