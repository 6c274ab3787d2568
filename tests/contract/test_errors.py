"""Bad files: the error names file, row, field, the expected and the found value; nothing partial remains."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.contract.plain_files import write_avro
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

SCHEMA = schema_of({"d_string": "STRING", "d_int": "INT"}, times={"ts": "1:MILLISECONDS:EPOCH"})
CONFIG = table_config(time_column="ts")
GOOD = "d_string,d_int,ts\n" + "".join(f"v{number},{number},1600000000000\n" for number in range(500))
UNREADABLE = "UnreadableFileError"
ROWS = [{"d_string": "a", "d_int": number, "ts": 1_600_000_000_000} for number in range(100)]


def _error(child: SegmentChild, path: Path, file_format: str | None = None, kind: str = UNREADABLE) -> str:
    before = _left(child)
    for reader in ("pinot", "auto"):
        reply = child.build(CONFIG, SCHEMA, path, reader, file_format=file_format, name="never")
        assert reply.get("error") == kind, reply
    assert _left(child) == before
    return str(reply["message"])


def _left(child: SegmentChild) -> list[str]:
    return sorted(
        path.name for path in child.work_dir.iterdir() if not path.name.endswith((".log", ".arrow"))
    )


@pytest.mark.parametrize("number", [1, 250, 500])
def test_a_row_that_does_not_fit(child: SegmentChild, source_dir: Path, number: int) -> None:
    path = source_dir / "bad.csv"
    path.write_text(GOOD.replace(f"v{number - 1},{number - 1},", f"v{number - 1},{'9' * 200},"))
    message = _error(child, path, kind="DataError")
    assert f"bad.csv, row {number}, field d_int: found '99999" in message
    assert "…" in message
    assert "a value of type INT" in message


def test_dates_in_another_form(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "dates.csv"
    schema = schema_of({"seen": "TIMESTAMP", "d_int": "INT"}, times={"ts": "1:MILLISECONDS:EPOCH"})
    for value, field, expected in (
        ("29.02.2024,1,0", "seen", "TIMESTAMP: milliseconds since 1970, or yyyy-MM-dd HH:mm:ss"),
        ("0,1,2024-02-29", "ts", "a value of type LONG in the format 1:MILLISECONDS:EPOCH"),
    ):
        path.write_text(f"seen,d_int,ts\n2024-02-29 12:00:00,1,0\n{value}\n")
        for reader in ("pinot", "auto"):
            message = child.build(table_config(), schema, path, reader)["message"]
            assert f"dates.csv, row 2, field {field}: found " in message
            assert expected in message
            assert ("fromDateTime(ts_text" in message) is (field == "ts")


@pytest.mark.parametrize(
    "config",
    [CONFIG, table_config(ingestionConfig={"filterConfig": {"filterFunction": "Groovy({false}, ts)"}})],
)
def test_a_row_with_more_values_than_the_header_has_names(
    child: SegmentChild, source_dir: Path, config: dict[str, Any]
) -> None:
    path = source_dir / "wide.csv"
    path.write_text(GOOD.replace("v249,", "v, 249,"))
    for reader in ("pinot", "auto"):
        reply = child.build(config, SCHEMA, path, reader, name="never")
        assert reply["error"] == "DataError"
        assert "wide.csv, row 250: 4 values, but the header has 3 names: 'v, 249,249,1600000000000'" in str(
            reply["message"]
        )
        built = child.build_files(config, SCHEMA, [path, path], reader)
        assert [each["message"] for each in built["failures"].values()] == [reply["message"]] * 2


def test_a_truncated_gzip(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "cut.csv.gz"
    path.write_bytes(gzip.compress(GOOD.encode())[:-200])
    assert "cut.csv.gz, row " in _error(child, path, kind="DataError")
    for size in (2, 9, 12):  # in the gzip header and right after it
        path.write_bytes(gzip.compress(GOOD.encode())[:size])
        assert "cut.csv.gz cannot be read as CSV" in _error(child, path)


def test_a_truncated_avro(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "cut.avro"
    write_avro(path, ROWS)
    path.write_bytes(path.read_bytes()[:-40])
    assert "cut.avro cannot be read as AVRO: it is truncated" in _error(child, path)
    whole = source_dir / "whole.avro"
    write_avro(whole, ROWS)
    packed = source_dir / "cut.avro.gz"
    packed.write_bytes(gzip.compress(whole.read_bytes())[:-30])
    assert "cut.avro.gz cannot be read as AVRO: it is truncated" in _error(child, packed)


def test_a_truncated_parquet(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "cut.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    path.write_bytes(path.read_bytes()[:-40])
    assert "cut.parquet cannot be read as PARQUET" in _error(child, path)


def test_broken_json(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "broken.json"
    path.write_text('{"d_string": "a"}\n{"d_string": "b"}\n{"d_string": \n')
    assert "broken.json, row 3: cannot be read as JSON" in _error(child, path, kind="DataError")


@pytest.mark.parametrize("wrong", ["json", "avro", "parquet"])
def test_another_format(child: SegmentChild, source_dir: Path, wrong: str) -> None:
    path = source_dir / "good.csv"
    path.write_text(GOOD)
    assert f"good.csv cannot be read as {wrong.upper()}" in _error(child, path, wrong)


def test_a_header_with_a_name_twice(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "twice.csv"
    path.write_text("d_int,d_int\n1,2\n")
    assert "twice.csv cannot be read as CSV" in _error(child, path)


def test_another_tables_csv(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "other.csv"
    path.write_text("x,y\n1,2\n")
    assert "none of the table's columns" in _error(child, path)


def test_no_file(child: SegmentChild, source_dir: Path) -> None:
    assert "no such file" in _error(child, source_dir / "nowhere.csv")


def test_a_time_out_of_range(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "times.csv"
    path.write_text("d_string,d_int,ts\na,1,1600000000\n")
    assert "Invalid segment start/end time" in _error(child, path, kind="DataError")


def test_arrow_values_that_do_not_fit(child: SegmentChild) -> None:
    table = pa.table({"d_int": pa.array([1, 2**40])})
    reply = child.build(CONFIG, SCHEMA, table, "auto")
    assert reply["error"] == "DataError"
    assert "column d_int, INT" in reply["message"]


def test_names_and_metadata_that_would_not_survive(child: SegmentChild, source_dir: Path) -> None:
    path = source_dir / "good.csv"
    path.write_text(GOOD)
    for name in ("a/b", "", "a b", "..", "a,b"):
        assert child.build(CONFIG, SCHEMA, path, "auto", name=name)["error"] == "ConfigError"
    for custom in ({"a b": "x"}, {"a": "x,y"}, {"a": "${x}"}, {"a": "b\\"}, {"a": " x"}, {"a": "ü"}):
        assert child.build(CONFIG, SCHEMA, path, "auto", custom=custom)["error"] == "ConfigError"
    reply = child.build(CONFIG, SCHEMA, path, "auto", reader_config={"delimeter": ","})
    assert reply["error"] == "ConfigError"


def test_boxed_longs_stay_what_they_are(child: SegmentChild) -> None:
    # JPype 1.7.1 has a latent fault in boxing large longs; a build boxes few, an executor may box many.
    for start in (2**31 - 50_000, 2**62, -(2**63)):
        assert child.ask({"action": "box_longs", "start": start, "count": 100_352})["wrong"] == 0


@pytest.mark.parametrize("reader", ["pinot", "auto"])
@pytest.mark.parametrize("largest_bytes", [2_000, 20_000])
def test_a_full_disk_is_not_blamed_on_a_file(
    child: SegmentChild, source_dir: Path, reader: str, largest_bytes: int
) -> None:
    """The folders where rows are mapped, indexes are written, and segments are packed."""
    paths = [source_dir / f"{number}.csv" for number in range(2)]
    for number, path in enumerate(paths):
        rows = (f"{number}-{row}-{row * 7919},{row * 7919},1600000000000\n" for row in range(5000))
        path.write_text("d_string,d_int,ts\n" + "".join(rows))
    before = _left(child)
    for reply in (
        child.build(CONFIG, SCHEMA, paths[0], reader, largest_file_bytes=largest_bytes),
        child.build_files(CONFIG, SCHEMA, paths, reader, largest_file_bytes=largest_bytes),
    ):
        assert reply.get("error") == "DiskFullError", reply
        assert f"no space is left on the disk of {child.work_dir}" in reply["message"]
        assert f"at most {largest_bytes:,} bytes" in reply["message"]
    assert _left(child) == before
