"""Time columns: a segment's own times are those of its rows, and a row without a usable time is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.contract.avro_files import write_avro_file
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import table_config

pytestmark = pytest.mark.jvm

CONFIG = table_config(time_column="ts")
NO_NULLS = table_config(time_column="ts", null_handling=False)
CONTINUES = table_config(time_column="ts", ingestionConfig={"continueOnError": True})
MINUTE_MS = 60_000
DAY = "1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd"
READERS = ("pinot", "auto")


def times_schema(data_type: str, time_format: str, **more: Any) -> dict[str, Any]:
    """Return a schema with a time column ``ts`` and a dimension ``id``."""
    field = {"name": "ts", "dataType": data_type, "format": time_format, "granularity": "1:DAYS", **more}
    return {
        "schemaName": "t",
        "dimensionFieldSpecs": [{"name": "id", "dataType": "INT"}],
        "dateTimeFieldSpecs": [field],
    }


def write_rows(path: Path, times: Sequence[Any]) -> Path:
    """Write a file with the columns ``id`` and ``ts``; texts as such, None as nothing."""
    rows: list[dict[str, Any]] = [
        {"id": number, **({} if time is None else {"ts": time})} for number, time in enumerate(times)
    ]
    text = all(isinstance(time, str) for time in times if time is not None)
    if path.suffix == ".csv":
        lines = [f"{number},{'' if time is None else time}" for number, time in enumerate(times)]
        path.write_text("id,ts\n" + "\n".join(lines) + "\n")
    elif path.suffix == ".json":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".avro":
        fields: list[dict[str, Any]] = [
            {"name": "id", "type": "int"},
            {"name": "ts", "type": ["null", "string" if text else "long"], "default": None},
        ]
        write_avro_file(path, fields, [{"ts": None, **row} for row in rows])
    else:
        pq.write_table(arrow_rows(times), path)
    return path


def arrow_rows(times: Sequence[Any]) -> pa.Table:
    text = all(isinstance(time, str) for time in times if time is not None)
    kind = pa.string() if text else pa.int64()
    return pa.table({"id": pa.array(range(len(times)), pa.int32()), "ts": pa.array(times, kind)})


def sources(child: SegmentChild, folder: Path, times: Sequence[Any]) -> Mapping[str, Any]:
    """Return the rows in each form that the child's Pinot can read."""
    found: dict[str, Any] = {"arrow": arrow_rows(times)}
    if child.reads_files:
        for suffix in ("csv", "json", "avro", "parquet"):
            found[suffix] = write_rows(folder / f"rows.{suffix}", times)
    return found


@pytest.mark.every_pinot
@pytest.mark.parametrize(
    ("time_format", "data_type", "unit_ms"),
    [
        ("5:MINUTES:EPOCH", "LONG", 5 * MINUTE_MS),
        ("EPOCH|MINUTES|5", "INT", 5 * MINUTE_MS),
        ("5000:MILLISECONDS:EPOCH", "LONG", 5000),
    ],
)
def test_steps_of_several_units(
    child: SegmentChild, tmp_path: Path, time_format: str, data_type: str, unit_ms: int
) -> None:
    moment = 1_704_067_200_000
    steps = [moment // unit_ms + more for more in (7, 0, 3)]
    schema = times_schema(data_type, time_format)
    for source in sources(child, tmp_path, steps).values():
        for reader in READERS:
            built = child.build(CONFIG, schema, source, reader)
            assert (built["start_time"], built["end_time"], built["time_unit"]) == (
                moment // unit_ms * unit_ms,
                (moment // unit_ms + 7) * unit_ms,
                "MILLISECONDS",
            )
            if isinstance(source, Path):
                (part,) = child.build_files(CONFIG, schema, [source, source], reader)["segments"]
                assert (part["start_time"], part["time_unit"]) == (built["start_time"], "MILLISECONDS")


@pytest.mark.every_pinot
def test_the_first_day_in_the_alphabet_is_not_the_first_in_time(child: SegmentChild, tmp_path: Path) -> None:
    days = ["31.12.2023", "02.01.2024", "15.06.2023"]
    schema = times_schema("STRING", "1:DAYS:SIMPLE_DATE_FORMAT:dd.MM.yyyy")
    first, last = (_ms(*each) for each in ((2023, 6, 15), (2024, 1, 2)))
    for source in sources(child, tmp_path, days).values():
        for reader in READERS:
            built = child.build(CONFIG, schema, source, reader)
            assert (built["start_time"], built["end_time"]) == (first, last)


def _ms(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.every_pinot
@pytest.mark.parametrize("config", [CONFIG, CONTINUES])
@pytest.mark.parametrize(
    ("data_type", "time_format", "good", "bad"),
    [
        ("STRING", DAY, "2024-01-01", "notadate"),
        ("STRING", DAY, "2024-01-01", "2200-01-01"),
        ("STRING", DAY, "2024-01-01", None),
        ("LONG", "1:DAYS:EPOCH", 19_000, 0),
        ("LONG", "1:DAYS:EPOCH", 19_000, None),
        ("LONG", "5:MINUTES:EPOCH", 5_680_224, 2**62),
        ("TIMESTAMP", "1:MILLISECONDS:TIMESTAMP", 1_704_067_200_000, None),
        ("TIMESTAMP", "TIMESTAMP", "2024-01-01 00:00:00", "2024-02-30 00:00:00"),
    ],
)
def test_a_row_without_a_usable_time(
    child: SegmentChild,
    tmp_path: Path,
    config: Mapping[str, Any],
    data_type: str,
    time_format: str,
    good: Any,
    bad: Any,
) -> None:
    schema = times_schema(data_type, time_format)
    for source in sources(child, tmp_path, [good, bad, good]).values():
        for reader in READERS:
            refused = child.build(config, schema, source, reader)
            assert refused.get("error") == "DataError", (source, reader, refused)
            assert "row 2, field ts: " in refused["message"]
            if isinstance(source, Path):
                other = write_rows(tmp_path / f"good{source.suffix}", [good])
                built = child.build_files(config, schema, [other, source, other], reader)
                assert list(built["failures"]) == [1]
                assert "row 2, field ts: " in built["failures"][1]["message"]
                assert [each["rows"] for each in built["segments"]] == [2]


@pytest.mark.every_pinot
def test_a_default_is_stored_for_rows_without_a_time(child: SegmentChild, tmp_path: Path) -> None:
    schema = times_schema("STRING", DAY, defaultNullValue="2020-02-29")
    for source in sources(child, tmp_path, ["2024-01-01", None]).values():
        for reader in READERS:
            built = child.build(NO_NULLS, schema, source, reader, read_back=True)
            assert [row["ts"] for row in built["read"]] == ["2024-01-01", "2020-02-29"]
            assert built["start_time"] == _ms(2020, 2, 29)


@pytest.mark.every_pinot
def test_a_default_that_is_no_time_is_none(child: SegmentChild) -> None:
    for default in ("never", "1970-01-01", ""):
        schema = times_schema("STRING", DAY, defaultNullValue=default)
        refused = child.build(CONFIG, schema, arrow_rows(["2024-01-01", None]), "auto")
        assert "row 2, field ts: " in refused["message"]


@pytest.mark.every_pinot
def test_data_without_the_time_column(child: SegmentChild, tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int32())})
    paths = [tmp_path / f"rows.{suffix}" for suffix in ("csv", "json", "avro", "parquet")]
    pa.csv.write_csv(rows, paths[0])
    paths[1].write_text('{"id": 1}\n{"id": 2}\n')
    write_avro_file(paths[2], [{"name": "id", "type": "int"}], rows.to_pylist())
    pq.write_table(rows, paths[3])
    with_default = times_schema("STRING", DAY, defaultNullValue="2020-02-29")
    for source in (rows, *(paths if child.reads_files else ())):
        for reader in READERS:
            refused = child.build(CONFIG, times_schema("STRING", DAY), source, reader)
            assert "error" in refused, (source, reader)
            # Data of unknown length lacks it as soon as there is a row.
            by_row = source is rows and reader == "pinot"
            assert ("row 1, field ts: " if by_row else "time column 'ts'") in refused["message"]
            built = child.build(NO_NULLS, with_default, source, reader, read_back=True)
            assert [row["ts"] for row in built["read"]] == ["2020-02-29"] * 2
