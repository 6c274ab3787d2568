"""Bad files: the error names file, row, field, the expected and the found value; nothing partial remains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config
from tests.support.tiers import FULL

pytestmark = pytest.mark.jvm

SCHEMA = schema_of({"d_string": "STRING", "d_int": "INT"}, times={"ts": "1:MILLISECONDS:EPOCH"})
CONFIG = table_config(time_column="ts")
GOOD = "d_string,d_int,ts\n" + "".join(f"v{number},{number},1600000000000\n" for number in range(500))


def _left(child: SegmentChild) -> list[str]:
    return sorted(
        path.name for path in child.work_dir.iterdir() if not path.name.endswith((".log", ".arrow"))
    )


def test_a_row_that_does_not_fit(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    for number in (1, 250, 500):
        path.write_text(GOOD.replace(f"v{number - 1},{number - 1},", f"v{number - 1},{'9' * 200},"))
        before = _left(child)
        for reader in ("pinot", "auto"):
            refused = child.build(CONFIG, SCHEMA, path, reader)
            assert refused["error"] == "DataError"
            assert f"bad.csv, row {number}, field d_int: found '99999" in refused["message"]
            assert "…" in refused["message"]
            assert "a value of type INT" in refused["message"]
        assert _left(child) == before


@pytest.mark.parametrize(
    ("kind", "transforms"),
    [
        ("BYTES", []),
        ("INT", []),
        ("STRING", [{"columnName": "c", "transformFunction": "Groovy({throw new Exception(d)}, d)"}]),
        ("LONG", [{"columnName": "c", "transformFunction": "fromDateTime(d, 'yyyy')"}]),
    ],
)
@pytest.mark.parametrize("text", ["😀", "a\\ud83d"], ids=["emoji", "half an emoji"])
def test_a_text_outside_of_the_basic_plane_that_java_quotes(
    child: SegmentChild, tmp_path: Path, kind: str, transforms: list[dict[str, str]], text: str
) -> None:
    path = tmp_path / "emoji.json"
    path.write_text(f'{{"{"d" if transforms else "c"}": "{text}"}}\n', encoding="utf-8")
    config = table_config(ingestionConfig={"transformConfigs": transforms})
    for reader in ("pinot", "auto"):
        reply = child.build(config, schema_of({"c": kind}), path, reader)
        assert reply["error"] == "DataError"
        assert "emoji.json, row 1" in reply["message"]


def test_dates_in_another_form(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "dates.csv"
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
    child: SegmentChild, tmp_path: Path, config: dict[str, Any]
) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(GOOD.replace("v249,", "v, 249,"))
    for reader in ("pinot", "auto"):
        reply = child.build(config, SCHEMA, path, reader, name="never")
        assert reply["error"] == "DataError"
        assert "wide.csv, row 250: 4 values, but the header has 3 names: 'v, 249,249,1600000000000'" in str(
            reply["message"]
        )
        built = child.build_files(config, SCHEMA, [path, path], reader)
        assert [each["message"] for each in built["failures"].values()] == [reply["message"]] * 2


def test_arrow_values_that_do_not_fit(child: SegmentChild) -> None:
    table = pa.table({"d_int": pa.array([1, 2**40]), "ts": [1_600_000_000_000] * 2})
    reply = child.build(CONFIG, SCHEMA, table, "auto")
    assert reply["error"] == "DataError"
    assert "column d_int, INT" in reply["message"]


@FULL
def test_boxed_longs_stay_what_they_are(child: SegmentChild) -> None:
    # JPype 1.7.1 has a latent fault in boxing large longs; a build boxes few, an executor may box many.
    for start in (2**31 - 50_000, 2**62, -(2**63)):
        assert child.ask({"action": "box_longs", "start": start, "count": 100_352})["wrong"] == 0


@pytest.mark.parametrize("reader", ["pinot", "auto"])
@pytest.mark.parametrize("largest_bytes", [2_000, 20_000])
def test_a_full_disk_is_not_blamed_on_a_file(
    child: SegmentChild, tmp_path: Path, reader: str, largest_bytes: int
) -> None:
    """The folders where rows are mapped, indexes are written, and segments are packed."""
    paths = [tmp_path / f"{number}.csv" for number in range(2)]
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
