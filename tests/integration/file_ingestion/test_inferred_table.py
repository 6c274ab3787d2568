"""A table whose schema, config and task were guessed from files: every row once, with every value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from tests.integration.file_ingestion.ingestion import IngestionTable, Ran, invoke
from tests.support.tiers import FULL

pytestmark = pytest.mark.cluster

Row = dict[str, Any]
STARTED = "2026-01-{:02} 08:15:00"
ROWS: Sequence[Row] = [
    {
        "ride": f"{number:05}",
        "city": "Bonn" if number % 3 else None,
        "started": STARTED.format(number % 28 + 1),
        "minutes": number,
        "total": 2**40 + number,
        "price": number / 4,
        "active": number % 2 == 0,
    }
    for number in range(1, 201)
]


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    lines = [";".join(rows[0])]
    lines += [";".join(str(_text(value)) for value in row.values()) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _text(value: Any) -> Any:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else value


def write_json(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_avro(path: Path, rows: Sequence[Row]) -> None:
    kinds = {
        "ride": "string",
        "city": ["null", "string"],
        "started": "string",
        "minutes": "int",
        "total": "long",
    }
    kinds |= {"price": "double", "active": "boolean"}
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    with path.open("wb") as out:
        fastavro.writer(out, {"type": "record", "name": "ride", "fields": fields}, rows)


WRITERS: Mapping[str, Callable[[Path, Sequence[Row]], None]] = {
    "csv": write_csv,
    "json": write_json,
    "avro": write_avro,
    "parquet": lambda path, rows: pq.write_table(pa.Table.from_pylist(list(rows)), path),
    "orc": lambda path, rows: orc.write_table(pa.Table.from_pylist(list(rows)), path),
}


@pytest.fixture
def files(request: pytest.FixtureRequest, shared_folder: Path) -> list[Path]:
    """The rows in two files of the format that the test names, next to a file without any."""
    file_format: str = request.param
    folder = shared_folder / "with a space"
    folder.mkdir()
    paths = [folder / f"part-{number}.{file_format}" for number in (0, 1)]
    for path, rows in zip(paths, (ROWS[:100], ROWS[100:]), strict=True):
        WRITERS[file_format](path, rows)
    (folder / "notes.txt").write_text("no data")
    return paths


def pinotctl(table: IngestionTable, *words: str) -> Ran:
    return invoke(table.controller_url, *words)


def check_rows(table: IngestionTable) -> None:
    result = table.broker.query(f"select {', '.join(ROWS[0])} from {table.name} limit 1000")
    assert sorted(map(list, result.rows)) == sorted(
        [row["ride"], row["city"] or "null", f"{row['started']}.0", *list(row.values())[3:]] for row in ROWS
    )
    (times,) = table.client.schemas.get(table.name).to_json()["dateTimeFieldSpecs"]
    assert (times["name"], times["dataType"]) == ("started", "TIMESTAMP")


@pytest.mark.parametrize(
    "files",
    [pytest.param(name, id=name, marks=() if name == "csv" else FULL) for name in WRITERS],
    indirect=True,
)
def test_what_is_inferred_is_applied_and_takes_every_row(
    files: list[Path], ingestion_table: IngestionTable, tmp_path: Path
) -> None:
    folder = str(tmp_path / "cluster")
    infer = ("table", "infer", *map(str, files), "--name", ingestion_table.name, "--to", folder)
    for words in (infer, ("apply", folder, "--yes", "--wait-lock", "120")):
        ran = pinotctl(ingestion_table, *words)
        assert ran.code == 0, ran
    report = ingestion_table.run().report
    assert (report["files"], report["rows"]) == (2, 200)
    check_rows(ingestion_table)


@pytest.mark.parametrize("files", ["parquet"], indirect=True)
def test_load_creates_and_fills_a_table(files: list[Path], ingestion_table: IngestionTable) -> None:
    load = ("load", ingestion_table.name, *map(str, files), "--output", "json")
    planned = pinotctl(ingestion_table, *load, "--dry-run")
    assert planned.code == 0, planned
    assert not ingestion_table.client.tables.exists(ingestion_table.with_type)
    report = pinotctl(ingestion_table, *load).report
    assert (report["outcome"], report["files"], report["rows"]) == ("switched", 2, 200)
    check_rows(ingestion_table)
    again = pinotctl(ingestion_table, *load)
    assert again.error_type == "ConflictError"
