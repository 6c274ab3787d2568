"""Every format and data type, nulls, multi-values, Unicode: queries return what pyarrow reads from files."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.plan.ingested import read_contents
from tests.integration.file_ingestion.ingestion import IngestionTable, Pinotctl
from tests.support.tiers import FULL

pytestmark = pytest.mark.cluster

SCHEMA: Mapping[str, Any] = {
    "dimensionFieldSpecs": [
        {"name": "key", "dataType": "INT"},
        {"name": "word", "dataType": "STRING"},
        {"name": "flag", "dataType": "BOOLEAN"},
        {"name": "document", "dataType": "JSON"},
        {"name": "raw", "dataType": "BYTES"},
        {"name": "tags", "dataType": "STRING", "singleValueField": False},
        {"name": "scores", "dataType": "LONG", "singleValueField": False},
    ],
    "metricFieldSpecs": [
        {"name": "i", "dataType": "INT"},
        {"name": "l", "dataType": "LONG"},
        {"name": "f", "dataType": "FLOAT"},
        {"name": "d", "dataType": "DOUBLE"},
        {"name": "big", "dataType": "BIG_DECIMAL"},
    ],
    "dateTimeFieldSpecs": [
        {
            "name": "ts",
            "dataType": "TIMESTAMP",
            "format": "1:MILLISECONDS:TIMESTAMP",
            "granularity": "1:MILLISECONDS",
        }
    ],
}
WORDS = ["plain", "with space", "ünïcödé", "日本語", "emoji 🛫", 'quote " inside', "comma, inside", "tab\tin"]
Row = dict[str, Any]


def make_rows(first: int, count: int) -> list[Row]:
    """Return rows with nulls in every column except the key, and metrics that floats represent exactly."""
    pick = random.Random(first)
    rows = []
    for key in range(first, first + count):
        row: Row = {
            "key": key,
            "word": pick.choice(WORDS),
            "flag": pick.random() < 0.5,
            "document": json.dumps({"n": key, "name": pick.choice(WORDS)}, ensure_ascii=False),
            "raw": pick.randbytes(pick.randint(1, 8)),
            "tags": [pick.choice(["a", "b", "é", "long tag"]) for _ in range(pick.randint(1, 3))],
            "scores": [pick.randint(-(2**40), 2**40) for _ in range(pick.randint(1, 3))],
            "i": pick.randint(-(2**31) + 1, 2**31 - 1),
            "l": pick.randint(-(2**50), 2**50),
            "f": pick.randint(-1000, 1000) / 4,
            "d": pick.randint(-(10**9), 10**9) / 8,
            "big": Decimal(pick.randint(-(10**20), 10**20)) / 100,
            "ts": 1_356_998_400_000 + key * 1000,
        }
        for name in list(row):
            if name not in ("key", "ts") and pick.random() < 0.1:
                row[name] = None
        rows.append(row)
    return rows


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return str(value)
    return value


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    def cell(value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, list):
            value = ";".join(str(item) for item in value)
        elif isinstance(value, bool):
            value = str(value).lower()
        text = str(_text(value))
        return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\t ') else text

    names = ["key", "word", "flag", "document", "raw", "tags", "scores", "i", "l", "f", "d", "big", "ts"]
    lines = [",".join(names), *(",".join(cell(row[name]) for name in names) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_json(path: Path, rows: Sequence[Row]) -> None:
    lines = (json.dumps({k: _text(v) for k, v in row.items()}, ensure_ascii=False) for row in rows)
    path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode()))


def write_avro(path: Path, rows: Sequence[Row]) -> None:
    types = {
        "key": "int", "word": "string", "flag": "boolean", "document": "string", "raw": "bytes",
        "tags": {"type": "array", "items": "string"}, "scores": {"type": "array", "items": "long"},
        "i": "int", "l": "long", "f": "float", "d": "double", "big": "string", "ts": "long",
    }  # fmt: skip
    schema = {
        "type": "record", "name": "row",
        "fields": [{"name": name, "type": ["null", kind]} for name, kind in types.items()],
    }  # fmt: skip
    with path.open("wb") as out:
        fastavro.writer(out, schema, [{**row, "big": _text(row["big"])} for row in rows])


def to_arrow(rows: Sequence[Row]) -> pa.Table:
    types = {
        "key": pa.int32(), "word": pa.string(), "flag": pa.bool_(), "document": pa.string(),
        "raw": pa.binary(),
        "tags": pa.list_(pa.string()), "scores": pa.list_(pa.int64()), "i": pa.int32(), "l": pa.int64(),
        "f": pa.float32(), "d": pa.float64(), "big": pa.string(), "ts": pa.int64(),
    }  # fmt: skip
    return pa.table(
        {name: pa.array([_text_big(row[name]) for row in rows], kind) for name, kind in types.items()}
    )


def _text_big(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


WRITERS: Mapping[str, tuple[str, Callable[[Path, Sequence[Row]], None]]] = {
    "csv": ("csv", write_csv),
    "json": ("json.gz", write_json),
    "avro": ("avro", write_avro),
    "parquet": ("parquet", lambda path, rows: pq.write_table(to_arrow(rows), path)),
    "orc": ("orc", lambda path, rows: orc.write_table(to_arrow(rows), path)),
}


@pytest.mark.parametrize(
    ("reader", "file_format"),
    [
        pytest.param(*row, marks=() if row == ("auto", "parquet") else FULL)
        for row in product(("auto", "pinot"), WRITERS)
    ],
)
def test_every_row_once_with_every_value(
    ingestion_table: IngestionTable, shared_folder: Path, reader: str, file_format: str
) -> None:
    suffix, write = WRITERS[file_format]
    batches = [make_rows(0, 400), make_rows(400, 300), []]
    for n, rows in enumerate(batches):
        write(shared_folder / f"part-{n}.{suffix}", rows)
    table = ingestion_table.create(SCHEMA).register(shared_folder, file_format, segmentReader=reader)
    report = table.run().report
    assert (report["files"], report["rows"]) == (3, 700)

    arrow = to_arrow([row for rows in batches for row in rows])
    table.wait_count(700)
    for name in ("i", "l", "f", "d"):
        # A metric's null is 0 in Pinot and skipped by Arrow's sum, which is equivalent.
        assert float(table.value(f"select sum({name}) from {{t}}")) == float(pc.sum(arrow[name]).as_py()), (
            name
        )
    total = sum((Decimal(text) for text in arrow["big"].to_pylist() if text is not None), Decimal(0))
    assert Decimal(table.value("select sumprecision(big) from {t}")) == total
    assert float(table.value("select summv(scores) from {t} where scores != -9223372036854775808")) == float(
        pc.sum(pc.list_flatten(arrow["scores"])).as_py()
    )
    assert _rows_of(table) == _expected(arrow)


def _rows_of(table: IngestionTable) -> dict[int, tuple[Any, ...]]:
    columns = "key, word, flag, document, raw, tags, scores, i, l, f, d, ts"
    result = table.broker.query(f"select {columns} from {table.name} limit 10000")
    # Pinot reformats the documents of a JSON column.
    return {
        row[0]: (row[1], row[2], json.loads(row[3]), *row[4:11], str(row[11]))
        for row in map(_plain, result.rows)
    }


def _plain(row: Sequence[Any]) -> list[Any]:
    return [tuple(value) if isinstance(value, list) else value for value in row]


def _expected(arrow: pa.Table) -> dict[int, tuple[Any, ...]]:
    """Return values as in Pinot without null handling: the default null value of each type and role."""

    def stamp(ms: int) -> str:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.0")

    expected = {}
    for row in arrow.to_pylist():
        expected[row["key"]] = (
            _or(row["word"], "null"),
            _or(row["flag"], False),
            json.loads(_or(row["document"], "null")),
            _or(row["raw"], b"").hex(),
            tuple(_or(row["tags"], ["null"])),
            tuple(_or(row["scores"], [-(2**63)])),
            _or(row["i"], 0),
            _or(row["l"], 0),
            _or(row["f"], 0.0),
            _or(row["d"], 0.0),
            stamp(row["ts"]),
        )
    return expected


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


# Some component could mistake each of these for another file, another folder, a pattern or markup.
HOSTILE_NAMES = [
    *(b"a.json", b"a.json#1.json", b"a.json?x=1", b"a%20b.json", b"a b.json", b"a+b.json"),
    *(b"%41.json", b"A.json"),
    *(b"new\nline.json", b"tab\there.json", b"\x1b[31mred\x07.json", b" leading.json", b"trailing .json"),
    *(b"-.json", b"~.json", b"$(x).json", b"'quoted'.json", b'"double".json', b"back\\slash.json"),
    b"<b>.json",
    *(b"colon:.json", b"semi;colon.json", b"a,b.json", b"{x}.json", b"[y].json", b"*.json", b"s3:.json"),
    *("zürich 日本 🛫.json".encode(), "u\u0308.json".encode(), "\u202egpj.json".encode(), b"\xff\xfe.json"),
    *(b"folder #1/a.json", b"folder%201/a.json", b"folder\n1/a.json", b"\xff/a.json"),
]


@FULL
def test_files_with_hostile_names_are_read_correctly(
    store: PropertyStore,
    pinotctl: Pinotctl,
    ingestion_table: IngestionTable,
    shared_folder: Path,
    tmp_path: Path,
) -> None:
    paths = [os.fsencode(shared_folder) + b"/" + name for name in HOSTILE_NAMES]
    for number, path in enumerate(paths):
        Path(os.fsdecode(path)).parent.mkdir(exist_ok=True)
        Path(os.fsdecode(path)).write_text(json.dumps({"id": number, "word": "w", "Amount": 1}) + "\n")
    table = ingestion_table.create().register(
        shared_folder, "json", enableSync="true", excludeFileNamePattern="glob:**.txt"
    )
    (shared_folder / "left out.txt").touch()
    report = table.run().report
    assert (report["files"], report["rows"], report["segments"]) == (len(paths),) * 3
    assert report["left_out_by_patterns"] == 1
    missing, unread = report["missing_columns"], report["columns_not_read"]
    assert [(each["column"], each["files"], each["near"]) for each in missing] == [
        ("amount", len(paths), "Amount")
    ]
    assert [(each["column"], each["near"]) for each in unread] == [("Amount", "amount")]
    each_once = [[number, 1] for number in range(len(paths))]
    ids = f"select id, count(*) from {table.name} group by id order by id limit 1000"
    assert [list(row) for row in table.broker.query(ids).rows] == each_once

    contents = read_contents(table.client, store, table.with_type)
    assert sorted(os.fsencode(uri.removeprefix("file://")) for uri in contents.files) == sorted(paths)
    assert table.run().report["outcome"] == "nothing_new"

    bad = os.fsdecode(os.fsencode(shared_folder) + b"/bad\x1b[31m\xff.json")
    Path(bad).write_bytes(b'{"id": 1, "word": "caf\xe9"}\n')
    failed = table.run()
    assert failed.code == 1
    message = json.loads(failed.err.splitlines()[-1])["error"]["message"]
    assert r"bad\x1b[31m\xff.json, line 1: the byte 0xe9 at offset 22" in message
    page = tmp_path / "report.html"
    pinotctl("session", "report", table.name, "--file", str(page))
    assert r"bad\x1b[31m\xff.json" in page.read_text(encoding="utf-8")
    assert [list(row) for row in table.broker.query(ids).rows] == each_once
