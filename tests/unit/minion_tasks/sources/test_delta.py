"""Delta tables as a source: each version is read as the table means it, and no unit twice."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from controller_client.errors import SourceError
from controller_client.filestore import SourceChangedError, open_store
from minion_tasks.sources import delta
from minion_tasks.sources.base import VersionPin
from minion_tasks.sources.delta import DeltaSource
from minion_tasks.sources.units import KeptListings
from tests.unit.minion_tasks.sources.lakehouse import Follower, rows_of

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
CITIES = ["Paris", "a b/ü=%41", None]


class Lakehouse:
    """A Delta table in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def table(self) -> DeltaTable:
        return DeltaTable(self.folder)

    def source(self, pin: str | None = None) -> DeltaSource:
        uri = f"file://{self.folder}"
        return DeltaSource(uri, open_store(uri, {}), {}, None if pin is None else VersionPin.parse(pin))

    def write(self, keys: Sequence[int], mode: Any = "append", **further: Any) -> None:
        columns: dict[str, Any] = {
            "k": pa.array(keys, pa.int32()),
            "city": pa.array([CITIES[key % 3] for key in keys], pa.string()),
            "day": pa.array([date(2026, 1, 1 + key % 5) for key in keys], pa.date32()),
            "at": pa.array([BEGIN + timedelta(seconds=key) for key in keys], pa.timestamp("us", "UTC")),
            **{name: pa.array([value] * len(keys)) for name, value in further.items()},
        }
        write_deltalake(
            self.folder, pa.table(columns), mode=mode, partition_by=["city", "day"], schema_mode="merge"
        )


@pytest.fixture
def another_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Forget what this process has listed."""
    return lambda: monkeypatch.setattr(delta, "_LISTINGS", KeptListings())


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    return Lakehouse(tmp_path / "orders")


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    (tmp_path / "copies").mkdir()
    return Follower(tmp_path / "copies")


def follow(follower: Follower, lakehouse: Lakehouse) -> int:
    """Follow the table; return how many units were read."""
    before = follower.reads
    follower.follow(lakehouse.source())
    expected = pa.table(cast("Any", lakehouse.table.scan()))
    assert rows_of(follower.table(expected)) == rows_of(expected)
    return follower.reads - before


def test_only_what_a_commit_changes_is_read(lakehouse: Lakehouse, follower: Follower) -> None:
    with pytest.raises(SourceError, match="there is no Delta table in file:"):
        lakehouse.source().list(None)
    lakehouse.write([0, 1, 2])
    assert follow(follower, lakehouse) == 3
    assert follow(follower, lakehouse) == 0
    lakehouse.write([3])
    assert follow(follower, lakehouse) == 1
    lakehouse.table.delete("k = 0")
    assert follow(follower, lakehouse) == 0
    lakehouse.table.optimize.compact()
    follow(follower, lakehouse)
    lakehouse.table.restore(0)
    follow(follower, lakehouse)


def test_columns_that_files_lack(lakehouse: Lakehouse, follower: Follower) -> None:
    lakehouse.write([0, 1])
    follow(follower, lakehouse)
    lakehouse.write([2], note="new")
    # The old units have the new column, too: null.
    assert follow(follower, lakehouse) == 3


def test_a_column_that_the_table_does_not_read_changes_no_unit(lakehouse: Lakehouse, tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    follower = Follower(tmp_path / "copies", frozenset({"k", "city"}))
    lakehouse.write([0, 1])
    follower.follow(lakehouse.source())
    lakehouse.write([2], note="new")
    follower.follow(lakehouse.source())
    assert follower.reads == 3


def test_a_version_stays_as_it_was_listed(
    lakehouse: Lakehouse, another_process: Callable[[], None], tmp_path: Path
) -> None:
    lakehouse.write([0])
    listing = lakehouse.source().list(None)
    (unit,) = listing.files
    lakehouse.write([7], mode="overwrite")
    another_process()
    with lakehouse.source().local_copy(unit, listing.version, None, tmp_path) as path:
        assert pq.read_table(path).column("k").to_pylist() == [0]
    assert list(lakehouse.source().list(None, listing.version).files) == [unit]
    Path(unit.uri.removeprefix("file://")).write_bytes(b"PAR1")
    with (
        pytest.raises(SourceChangedError, match=r"has 4 bytes, and .* by the table's log"),
        lakehouse.source().local_copy(unit, listing.version, None, tmp_path),
    ):
        pass


def test_pins(lakehouse: Lakehouse, another_process: Callable[[], None]) -> None:
    lakehouse.write([0])
    first = lakehouse.source().list(None).version
    assert first is not None
    lakehouse.write([1])
    another_process()
    at = datetime.fromtimestamp(first.committed_ms / 1000, UTC).isoformat()
    for pin in ("id:0", f"time:{at}"):
        assert lakehouse.source(pin).list(None).version == first
    with pytest.raises(SourceError, match="does not have id:7"):
        lakehouse.source("id:7").list(None)
    with pytest.raises(SourceError, match="does not have time:2000-01-01"):
        lakehouse.source("time:2000-01-01T00:00:00Z").list(None)
    log = lakehouse.folder / "_delta_log"
    (log / f"{0:020}.json").write_text('{"version": 3')
    with pytest.raises(SourceError, match="could not be listed"):
        lakehouse.source("id:1").list(None)
    (log / f"{0:020}.json").unlink()
    for pin, text in {"id:0": "no Delta table .* that has id:0", "id:1": "does not have id:1"}.items():
        with pytest.raises(SourceError, match=text):
            lakehouse.source(pin).list(None)


def test_a_recreated_table_is_another_one(lakehouse: Lakehouse, follower: Follower) -> None:
    lakehouse.write([0])
    follow(follower, lakehouse)
    shutil.rmtree(lakehouse.folder)
    lakehouse.write([0])
    assert follow(follower, lakehouse) == 1


# Delta-rs writes neither deletion vectors nor column mapping, so their commits are written here.
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def _vector(rows: Sequence[int]) -> dict[str, Any]:
    """Return the descriptor of an inline deletion vector."""
    bitmap = BitMap(rows).serialize()
    data = struct.pack("<iqi", 1681511377, 1, 0) + bitmap
    padded = data + bytes(-len(data) % 4)
    words = (int.from_bytes(padded[at : at + 4]) for at in range(0, len(padded), 4))
    text = "".join(_Z85[word // 85**place % 85] for word in words for place in (4, 3, 2, 1, 0))
    return {
        "storageType": "i",
        "pathOrInlineDv": text,
        "sizeInBytes": len(data),
        "cardinality": len(set(rows)),
    }


def _actions(lakehouse: Lakehouse) -> list[dict[str, Any]]:
    """Return the actions that add the files of the present version."""
    added: dict[str, dict[str, Any]] = {}
    for log in sorted((lakehouse.folder / "_delta_log").glob("*.json")):
        for line in map(json.loads, log.read_text().splitlines()):
            if "remove" in line:
                added.pop(line["remove"]["path"], None)
            if "add" in line:
                added[line["add"]["path"]] = line
    return list(added.values())


def _commit(lakehouse: Lakehouse, actions: Sequence[dict[str, Any]]) -> None:
    version = lakehouse.table.version() + 1
    info = {"commitInfo": {"timestamp": 1_795_000_000_000 + version, "operation": "TEST"}}
    log = lakehouse.folder / "_delta_log" / f"{version:020}.json"
    log.write_text("\n".join(json.dumps(action) for action in (info, *actions)))


def _delete_rows(lakehouse: Lakehouse, rows: Sequence[int]) -> None:
    """Delete these rows of each file by a deletion vector."""
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    actions: list[dict[str, Any]] = [{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}]
    for action in _actions(lakehouse):
        add = action["add"]
        before = {"deletionVector": add["deletionVector"]} if "deletionVector" in add else {}
        remove = {"path": add["path"], "deletionTimestamp": 0, "dataChange": True, **before}
        actions.append({"remove": remove})
        actions.append({"add": {**add, "deletionVector": _vector(rows)}})
    _commit(lakehouse, actions)


def test_rows_of_deletion_vectors_are_not_read(lakehouse: Lakehouse, follower: Follower) -> None:
    lakehouse.write([0, 0, 15, 15])
    lakehouse.write([1, 16, 1])
    follow(follower, lakehouse)
    _delete_rows(lakehouse, [1])
    assert follow(follower, lakehouse) == 2
    listing = lakehouse.source().list(None)
    assert listing.rows == 5
    assert follow(follower, lakehouse) == 0
    _delete_rows(lakehouse, [0, 1])
    assert follow(follower, lakehouse) == 2


def test_columns_are_those_of_the_mapping(lakehouse: Lakehouse, follower: Follower) -> None:
    schema = pa.schema(
        [
            ("col-k", pa.int32()),
            ("was", pa.string()),
            ("col-s", pa.struct([("col-x", pa.int64()), ("col-y", pa.string())])),
            ("col-l", pa.list_(pa.struct([("col-z", pa.string())]))),
        ]
    )
    rows = [
        {"col-k": 1, "was": "old", "col-s": {"col-x": 1, "col-y": "a"}, "col-l": [{"col-z": "b"}, None]},
        {"col-k": 2, "was": None, "col-s": None, "col-l": None},
    ]
    write_deltalake(lakehouse.folder, pa.Table.from_pylist(rows, schema=schema))

    def mapped(name: str, physical: str, kind: Any, number: int) -> dict[str, Any]:
        numbers = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
        return {"name": name, "type": kind, "nullable": True, "metadata": numbers}

    struct_of = {
        "type": "struct",
        "fields": [mapped("y", "col-y", "string", 4), mapped("x", "col-x", "long", 5)],
    }
    list_of = {
        "type": "array",
        "elementType": {"type": "struct", "fields": [mapped("z", "col-z", "string", 7)]},
        "containsNull": True,
    }
    # The column "was" has been dropped, and a new one has its name.
    fields = [
        mapped("k", "col-k", "integer", 1),
        mapped("was", "col-new", "string", 2),
        mapped("s", "col-s", struct_of, 3),
        mapped("l", "col-l", list_of, 6),
    ]
    metadata = {
        "id": lakehouse.table.metadata().id,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "createdTime": 0,
        "configuration": {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "7"},
    }
    features = {"readerFeatures": ["columnMapping"], "writerFeatures": ["columnMapping"]}
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
    _commit(lakehouse, [{"protocol": protocol}, {"metaData": metadata}])
    follower.follow(lakehouse.source())
    types = pa.schema(cast("Any", lakehouse.table.schema().to_arrow()))
    assert follower.table(types.empty_table()).to_pylist() == [
        {"k": 1, "was": None, "s": {"y": "a", "x": 1}, "l": [{"z": "b"}, None]},
        {"k": 2, "was": None, "s": None, "l": None},
    ]


@pytest.mark.parametrize(
    "path", ["../else/part-0.parquet", "/tmp/part-0.parquet", "file:///tmp/part-0.parquet"]
)
def test_a_file_outside_of_the_folder_is_refused(lakehouse: Lakehouse, path: str) -> None:
    lakehouse.write([0])
    (action,) = _actions(lakehouse)
    _commit(lakehouse, [{"add": {**action["add"], "path": path}}])
    with pytest.raises(SourceError, match="a file outside of its folder, as a shallow clone has"):
        lakehouse.source().list(None)


STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(st.integers(0, 20), min_size=1, max_size=4)),
    st.tuples(st.just("overwrite"), st.lists(st.integers(0, 20), min_size=1, max_size=4)),
    st.tuples(st.just("add"), st.integers(0, 3)),
    st.tuples(st.just("delete"), st.integers(0, 20)),
    st.tuples(st.sampled_from(["vector", "restore", "recreate"]), st.none()),
)


@settings(max_examples=25, deadline=None)
@given(steps=st.lists(STEPS, min_size=1, max_size=8))
def test_histories(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("history")
    (folder / "copies").mkdir()
    lakehouse, follower = Lakehouse(folder / "orders"), Follower(folder / "copies")
    lakehouse.write([0, 1, 2])
    has_vectors = False
    for step, argument in steps:
        match step:
            case "vector":
                _delete_rows(lakehouse, [0])
                has_vectors = True
            case "recreate":
                shutil.rmtree(lakehouse.folder)
                lakehouse.write([0, 4])
                has_vectors = False
            case _ if has_vectors:
                continue  # delta-rs does not write to such a table
            case "append" | "overwrite":
                lakehouse.write(argument, mode=step)
            case "add":
                lakehouse.write([argument], **{f"more{argument}": "x"})
            case "delete":
                lakehouse.table.delete(f"k = {argument}")
            case "restore" if lakehouse.table.version() > 0:
                lakehouse.table.restore(0)
        follow(follower, lakehouse)
