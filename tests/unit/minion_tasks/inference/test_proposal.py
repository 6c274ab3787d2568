"""Tables for files of each format: what is read of them, and what the table and its task are."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from controller_client.as_code.files import read_folder
from controller_client.common.names import TableName
from controller_client.errors import ConfigError, ConflictError, DataError, PinotPluginError
from jvm_bridge.input_rules import FileFormat
from minion_tasks.file_ingestion.params.patterns import PathMatcher
from minion_tasks.inference.folder import write_proposal
from minion_tasks.inference.proposal import Proposal, propose, table_name_of
from minion_tasks.inference.samples import read_sample
from pinotctl.root import cli

TABLE = TableName("t_OFFLINE")
ROWS: Sequence[dict[str, Any]] = [
    {"id": 1, "city": "Bonn", "price": 2.5, "tags": ["a", "b"]},
    {"id": 2, "city": None, "price": 4.0, "tags": []},
]


def write_csv(path: Path) -> None:
    path.write_text("id,city,price\n1,Bonn,2.5\n2,,4.0\n")


def write_json(path: Path) -> None:
    path.write_text("\n".join(json.dumps(row) for row in ROWS))


def write_array(path: Path) -> None:
    path.write_text(json.dumps(ROWS, indent=2))


def write_avro(path: Path) -> None:
    fields = [
        {"name": "id", "type": "long"},
        {"name": "city", "type": ["null", "string"]},
        {"name": "price", "type": "double"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ]
    with path.open("wb") as stream:
        fastavro.writer(stream, {"type": "record", "name": "r", "fields": fields}, ROWS)


def write_parquet(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(list(ROWS)), path)


def write_orc(path: Path) -> None:
    orc.write_table(pa.Table.from_pylist(list(ROWS)), path)


WRITERS: Sequence[tuple[str, Callable[[Path], None]]] = [
    ("a.csv", write_csv),
    ("a.jsonl", write_json),
    ("a.json", write_array),
    ("a.avro", write_avro),
    ("a.parquet", write_parquet),
    ("a.orc", write_orc),
]


def columns(proposal: Proposal) -> dict[str, tuple[str, int]]:
    return {guess.name: (guess.data_type, guess.nulls) for guess in proposal.columns}


@pytest.mark.parametrize(
    ("name", "write", "packed"),
    [
        *((name, write, False) for name, write in WRITERS),
        *((name, write, True) for name, write in WRITERS if name not in ("a.parquet", "a.orc")),
    ],
)
def test_each_format(name: str, write: Callable[[Path], None], packed: bool, tmp_path: Path) -> None:
    path = tmp_path / name
    write(path)
    if packed:
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        path = tmp_path / f"{name}.gz"
    found = columns(propose(TABLE, [path]))
    whole = "INT" if path.name.split(".")[1] in ("csv", "json", "jsonl") else "LONG"
    assert {key: found[key] for key in ("id", "city", "price")} == {
        "id": (whole, 0),
        "city": ("STRING", 1),
        "price": ("DOUBLE", 0),
    }


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_splits_all_rows_alike(delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [["a", "b", "c"], ["1,5", "x;y", "u|v"], ["2,5", "", '"q\t""r\n"']]
    if delimiter in ",;|":
        rows[1] = ["1.5", "x", "u"]
        rows[2][0] = "2.5"
    path.write_text("\n".join(delimiter.join(row) for row in rows))
    sample = read_sample(path, FileFormat.CSV, 100)
    assert list(sample.columns) == ["a", "b", "c"]
    assert sample.rows == 2
    assert sample.reader.get("delimiter", ",") == delimiter


def test_only_the_first_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("v\n" + "1\n" * 50 + "x\n")
    proposal = propose(TABLE, [path], max_rows=50)
    assert columns(proposal) == {"v": ("INT", 0)}
    assert "the first 50 rows of 1 file" in proposal.notes[0]
    assert columns(propose(TABLE, [path], max_rows=51)) == {"v": ("STRING", 0)}


def test_a_column_that_files_lack_has_nulls_in_their_rows(tmp_path: Path) -> None:
    for name, text in (("a", "v,w\n1,2\n1,2\n"), ("b", "v\n1\n"), ("c", "u,v\n1,1\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    proposal = propose(TABLE, [tmp_path / f"{name}.csv" for name in "abc"])
    assert columns(proposal) == {"v": ("INT", 0), "w": ("INT", 2), "u": ("INT", 3)}
    assert proposal.table["tableIndexConfig"] == {"nullHandlingEnabled": True}


@pytest.mark.parametrize(
    ("text", "time_column", "others"),
    [
        ("day,v\n2026-01-01,1\n", "day", ()),
        ("born,ts\n2026-01-01,2026-01-01 00:00:00\n", "ts", ("born",)),
        ("ts,day\n,2026-01-01\n2026-01-01 00:00:00,2026-01-01\n", "day", ()),
        ("v\n1\n", None, ()),
    ],
)
def test_the_time_column_has_a_time_in_every_row(
    text: str, time_column: str | None, others: Sequence[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    proposal = propose(TABLE, [path])
    assert proposal.table["segmentsConfig"].get("timeColumnName") == time_column
    assert all(other in proposal.notes[-1] for other in others)
    for other in others:
        chosen = propose(TABLE, [path], time_column=other)
        assert chosen.table["segmentsConfig"]["timeColumnName"] == other
    with pytest.raises(ConfigError, match="cannot be the time column"):
        propose(TABLE, [path], time_column="nowhere")


def test_columns_with_few_values_are_indexed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("city,ride,v\n" + "".join(f"c{i % 3},r{i},{i % 3}\n" for i in range(200)))
    assert propose(TABLE, [path]).table["tableIndexConfig"] == {"invertedIndexColumns": ["city"]}


def test_the_task_reads_the_files_that_were_named_as_they_were_read(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    path = folder / "a[1].csv"
    path.write_bytes("a;b\nä;1\n".encode("windows-1252"))
    (folder / "_SUCCESS").touch()
    task = propose(TABLE, [path]).table["task"]["taskTypeConfigsMap"]["FileIngestionTask"]
    assert task == {
        "inputDirURI": f"file://{folder}/",
        "inputFormat": "csv",
        "includeFileNamePattern": f"glob:{folder}/*.csv",
        "consistentPushEnabled": "true",
        "inputEncoding": "windows-1252",
        "recordReader.prop.delimiter": ";",
    }
    for other, pattern in (("b.json", f"glob:{folder}/*.csv"), ("c.csv", r"glob:**/a\[1\].csv")):
        (folder / other).touch()
        task = propose(TABLE, [path]).table["task"]["taskTypeConfigsMap"]["FileIngestionTask"]
        assert task["includeFileNamePattern"] == pattern
        matcher = PathMatcher(pattern)
        assert matcher.matches(f"file://{path}")
        assert not matcher.matches(f"file://{folder / other}")


def test_files_in_several_folders_are_named(tmp_path: Path) -> None:
    paths = [tmp_path / "x" / "a.csv", tmp_path / "y,z" / "a.csv"]
    for path in paths:
        path.parent.mkdir()
        path.write_text("v\n1\n")
    task = propose(TABLE, paths).table["task"]["taskTypeConfigsMap"]["FileIngestionTask"]
    assert task["inputDirURI"] == f"file://{tmp_path}/"
    matcher = PathMatcher(task["includeFileNamePattern"])
    taken = [
        name for name in ("x/a.csv", "y,z/a.csv", "x/b.csv") if matcher.matches(f"file://{tmp_path}/{name}")
    ]
    assert taken == ["x/a.csv", "y,z/a.csv"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.csv": "v\n1\n", "b.json": "{}"}, "several formats: csv, json"),
        ({"a.csv": "u,v\n1,1\n", "b.csv": "u;v\n1;1\n"}, "the delimiter of b.csv is ';', not ','"),
        ({"a.csv": "v\n"}, "no rows"),
        ({"a.csv": ""}, "has no columns"),
        ({"a.csv": "u,u\n1,1\n"}, "occurs twice"),
        ({"a.csv": "u,v\n1\n"}, "row 1 has 1 values, its header 2 names"),
        ({"a.json": "[1]"}, "row 1 is not an object"),
        ({"a.json": '{"a": 1'}, "cannot be read as json"),
        ({"a.parquet": "PAR1"}, "cannot be read as parquet"),
        ({"a.avro": "Obj"}, "cannot be read as avro"),
        ({"a.orc": "ORC"}, "cannot be read as orc"),
        ({"a.xml": "<a/>"}, "the format of a.xml is unknown"),
        ({"a.csv.gz": "\x1f\x8b!"}, "cannot be read as csv"),
    ],
)
def test_files_that_make_no_table(files: dict[str, str], message: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(PinotPluginError, match=message):
        propose(TABLE, [tmp_path / name for name in files])


def test_the_files_that_are_written_are_those_of_apply(tmp_path: Path) -> None:
    path = tmp_path / "my rides-2026.csv"
    path.write_text("ride_id,started\n1,2026-01-03 08:15:00\n")
    folder = tmp_path / "cluster"
    done = CliRunner().invoke(cli, ["table", "infer", str(path), "--to", str(folder)])
    assert done.exit_code == 0, done.output
    read = read_folder(folder)
    proposal = propose(TableName("my_rides_2026_OFFLINE"), [path])
    assert {ref.name: document for ref, document in read.documents.items()} == {
        "my_rides_2026": proposal.schema,
        "my_rides_2026_OFFLINE": {**proposal.table, "tableName": "my_rides_2026_OFFLINE"},
    }
    text = (folder / "schemas" / "my_rides_2026.yaml").read_text()
    assert "  # Whole numbers from 1 to 1.\n  - name: ride_id\n" in text
    again = CliRunner().invoke(cli, ["table", "infer", str(path), "--to", str(folder)])
    assert again.exit_code == 1
    assert "has schemas/my_rides_2026.yaml" in again.output
    replaced = CliRunner().invoke(cli, ["table", "infer", str(path), "--to", str(folder), "--replace"])
    assert replaced.exit_code == 0, replaced.output


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("v\n1\n")
    folder = tmp_path / "deep" / "cluster"
    done = CliRunner().invoke(cli, ["table", "infer", str(path), "--name", "../../x", "--to", str(folder)])
    assert done.exit_code == 2
    assert "schemaName is '../../x'" in done.output
    assert [*tmp_path.rglob("*")] == [path]


def test_an_object_of_the_folder_is_replaced_in_its_own_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("v\n1\n")
    folder = tmp_path / "cluster"
    write_proposal(folder, propose(TABLE, [path]))
    (folder / "schemas" / "t.yaml").rename(folder / "schemas" / "mine.yaml")
    path.write_text("w\n1\n")
    with pytest.raises(ConflictError, match=r"has schemas/mine\.yaml, tables/t_OFFLINE\.yaml already"):
        write_proposal(folder, propose(TABLE, [path]))
    write_proposal(folder, propose(TABLE, [path]), replace=True)
    assert [file.name for file in (folder / "schemas").iterdir()] == ["mine.yaml"]
    assert "name: w" in (folder / "schemas" / "mine.yaml").read_text()


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("v\n1\n")
    done = CliRunner().invoke(
        cli, ["table", "infer", str(path), "--to", str(tmp_path / "c"), "--dry-run", "--output", "json"]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["table"], found["changed"], found["files"]) == ("a_OFFLINE", False, [])
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("name", "table"),
    [("a.csv", "a"), ("my rides-1.json.gz", "my_rides_1"), ("__.csv", "table"), ("ä.csv", "table")],
)
def test_the_name_of_a_table(name: str, table: str) -> None:
    assert table_name_of(Path(name)) == f"{table}_OFFLINE"


_VALUES = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(max_size=8),
)


@given(values=st.lists(_VALUES, min_size=1, max_size=6))
def test_any_json_is_proposed_a_table_or_refused(
    values: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "random.json"
    path.write_text("\n".join(json.dumps({"v": value}) for value in values))
    (guess,) = propose(TABLE, [path]).columns
    if guess.data_type == "INT":
        assert all(isinstance(value, int) and abs(value) < 2**31 for value in values)
    if guess.data_type == "LONG":
        assert all(isinstance(value, int) and abs(value) < 2**63 for value in values)


@given(data=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "random"
    path.write_bytes(data)
    for file_format in FileFormat:
        with suppress(DataError):
            read_sample(path, file_format, 10)


def test_columns_in_names_of_folders(tmp_path: Path) -> None:
    folders = ["day=2024-01-01/place=K%C3%B6ln", "day=2024-01-02/place=__HIVE_DEFAULT_PARTITION__"]
    paths = [tmp_path / folder / "part-0.csv" for folder in folders]
    for path in paths:
        path.parent.mkdir(parents=True)
        write_csv(path)
    (tmp_path / folders[0] / "_SUCCESS").touch()
    proposal = propose(TABLE, paths)
    assert columns(proposal) == {
        "id": ("INT", 0),
        "city": ("STRING", 2),
        "price": ("DOUBLE", 0),
        "day": ("STRING", 0),
        "place": ("STRING", 2),
    }
    assert proposal.table["segmentsConfig"]["timeColumnName"] == "day"
    task = proposal.table["task"]["taskTypeConfigsMap"]["FileIngestionTask"]
    assert task["inputDirURI"] == f"file://{tmp_path}/"
    assert task["includeFileNamePattern"] == f"glob:{tmp_path}/*/*/*.csv"
    # One folder alone has the columns too; and other files beside it are not its table's.
    one = propose(TABLE, paths[:1])
    assert columns(one)["place"] == ("STRING", 0)
    task = one.table["task"]["taskTypeConfigsMap"]["FileIngestionTask"]
    assert task["inputDirURI"] == f"file://{tmp_path}/"
    pattern = PathMatcher(task["includeFileNamePattern"])
    assert [pattern.matches(f"file://{path}") for path in paths] == [True, False]


def test_a_column_that_is_in_files_too_is_guessed_from_them(tmp_path: Path) -> None:
    path = tmp_path / "id=x" / "a.csv"
    path.parent.mkdir()
    write_csv(path)
    assert columns(propose(TABLE, [path]))["id"] == ("INT", 0)
