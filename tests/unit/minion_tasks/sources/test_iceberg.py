"""Iceberg tables as a source: each version is read as the table means it, and no unit twice."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO, _dataframe_to_data_files
from pyiceberg.manifest import FileFormat
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import LongType, StringType, TimeType

from controller_client.errors import ConfigError, SourceError
from controller_client.filestore import SourceChangedError
from minion_tasks.sources import iceberg
from minion_tasks.sources.base import Columns, SourceVersion, VersionPin
from minion_tasks.sources.iceberg import IcebergSource
from minion_tasks.sources.units import KeptListings
from tests.unit.minion_tasks.sources.equality_deletes import FORMAT
from tests.unit.minion_tasks.sources.lakehouse import Follower, rows_of

# What the writer of the tables says.
pytestmark = pytest.mark.filterwarnings("ignore:Delete operation did not match any records")

SCHEMA = pa.schema([("k", pa.int32()), ("city", pa.string()), ("at", pa.timestamp("us", "UTC"))])
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Lakehouse:
    """A catalog in a folder, with one table."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.properties = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}/warehouse",
        }
        own = {key: value for key, value in self.properties.items() if key != "type"}
        self.catalog = SqlCatalog("prod", **own)
        self.catalog.create_namespace("sales")
        self.name = "sales.orders"
        self.create()

    def create(self) -> None:
        self.table = self.catalog.create_table(self.name, SCHEMA)

    def source(self, pin: str | None = None) -> IcebergSource:
        parsed = None if pin is None else VersionPin.parse(pin)
        return IcebergSource(f"iceberg://prod/{self.name}", self.properties, parsed)

    def append(self, keys: Sequence[int], city: str = "Paris") -> None:
        rows = [
            {"k": key, "city": city, "at": BEGIN + timedelta(seconds=key % 60), "note": f"note {key}"}
            for key in keys
        ]
        # By the table's present columns, whatever they are called by now.
        schema = self.table.schema().as_arrow()
        arrays = [
            pa.array([row.get(field.name) for row in rows], field.type)
            if field.name in rows[0]
            else pa.nulls(len(rows), field.type)
            for field in schema
        ]
        self.table.append(pa.table(arrays, schema=schema))


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    return Lakehouse(tmp_path / "lakehouse")


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    (tmp_path / "copies").mkdir()
    return Follower(tmp_path / "copies")


def follow(follower: Follower, lakehouse: Lakehouse, pin: str | None = None) -> int:
    """Follow the table; return how many units were read."""
    before = follower.reads
    follower.follow(lakehouse.source(pin))
    expected = lakehouse.catalog.load_table(lakehouse.name).scan().to_arrow()
    assert rows_of(follower.table(expected)) == rows_of(expected)
    return follower.reads - before


def test_only_what_a_commit_changes_is_read(lakehouse: Lakehouse, follower: Follower) -> None:
    assert follower.follow(lakehouse.source()).version is None
    lakehouse.append([1, 2])
    lakehouse.append([3])
    assert follow(follower, lakehouse) == 2
    assert follow(follower, lakehouse) == 0
    lakehouse.table.delete("k == 1")
    assert follow(follower, lakehouse) == 1
    lakehouse.table.overwrite(lakehouse.table.scan().to_arrow())
    assert follow(follower, lakehouse) == 1


def test_columns_are_those_of_field_ids(lakehouse: Lakehouse, follower: Follower) -> None:
    lakehouse.append([1, 2])
    follow(follower, lakehouse)
    with lakehouse.table.update_schema() as change:
        change.rename_column("city", "town")
    # A new column by the old name is null in old files, which still have the other one by that name.
    with lakehouse.table.update_schema() as change:
        change.add_column("city", StringType())
        change.update_column("k", LongType())
    assert follow(follower, lakehouse) == 1
    lakehouse.append([2**40])
    assert follow(follower, lakehouse) == 1
    with lakehouse.table.update_schema() as change:
        change.delete_column("city")
    assert follow(follower, lakehouse) == 2


def test_a_column_that_the_table_does_not_read_changes_no_unit(lakehouse: Lakehouse, tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    follower = Follower(tmp_path / "copies", frozenset({"k", "at"}))
    lakehouse.append([1])
    follower.follow(lakehouse.source())
    with lakehouse.table.update_schema() as change:
        change.rename_column("city", "town")
        change.add_column("note", StringType())
    follower.follow(lakehouse.source())
    assert follower.reads == 1


def test_partition_columns_that_files_lack_have_the_values_of_the_metadata(
    lakehouse: Lakehouse, follower: Follower
) -> None:
    with lakehouse.table.update_spec() as change:
        change.add_identity("city")
    lakehouse.append([1, 2], "New York")
    lakehouse.append([3], "a/b=ü %41")
    for task in lakehouse.table.scan().plan_files():
        _without(Path(task.file.file_path.removeprefix("file://")), "city")
    assert follow(follower, lakehouse) == 2
    expected = lakehouse.table.scan().to_arrow()
    assert sorted(set(expected.column("city").to_pylist())) == ["New York", "a/b=ü %41"]


def test_what_is_listed_again_is_read_by_the_present_metadata(
    lakehouse: Lakehouse, follower: Follower
) -> None:
    source = lakehouse.source()
    lakehouse.append([1], "Oslo")
    with lakehouse.table.update_schema() as change:
        change.update_column("k", LongType())
    follower.follow(source)
    with lakehouse.table.update_spec() as change:
        change.add_identity("city")
    lakehouse.append([2], "Bergen")
    for task in lakehouse.table.scan().plan_files():
        if task.file.spec_id == lakehouse.table.spec().spec_id:
            _without(Path(task.file.file_path.removeprefix("file://")), "city")
    follower.follow(source)
    expected = lakehouse.table.scan().to_arrow()
    assert sorted(expected.column("city").to_pylist()) == ["Bergen", "Oslo"]
    assert rows_of(follower.table(expected)) == rows_of(expected)


def _without(path: Path, column: str) -> None:
    """Write a data file as Hive does, without a partition column; its size stays that in the manifest."""
    size_bytes = path.stat().st_size
    lean = pq.read_table(path).drop_columns([column])
    padding = size_bytes
    while path.stat().st_size != size_bytes or column in pq.read_schema(path).names:
        with pq.ParquetWriter(path, lean.schema, store_schema=False, compression="zstd") as writer:
            writer.write_table(lean)
            writer.add_key_value_metadata({"padding": "x" * padding})
        padding -= path.stat().st_size - size_bytes
        assert padding > 0


def test_a_file_that_is_not_the_one_of_the_metadata_is_not_read(lakehouse: Lakehouse, tmp_path: Path) -> None:
    lakehouse.append([1])
    source = lakehouse.source()
    listing = source.list(None)
    (unit,) = listing.files
    (task,) = lakehouse.table.scan().plan_files()
    Path(task.file.file_path.removeprefix("file://")).write_bytes(b"PAR1")
    with (
        pytest.raises(SourceChangedError, match=r"has 4 bytes, and .* by the table's metadata"),
        source.local_copy(unit, listing.version, None, tmp_path),
    ):
        pass


def test_a_version_stays_as_it_was_listed(
    lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lakehouse.append([1])
    source = lakehouse.source()
    listing = source.list(None)
    (unit,) = listing.files
    lakehouse.table.overwrite(pa.table({"k": [2]}, schema=pa.schema([("k", pa.int32())])))
    # Another process reads it, after the commit.
    monkeypatch.setattr(iceberg, "_LISTINGS", KeptListings())
    with lakehouse.source().local_copy(unit, listing.version, None, tmp_path) as path:
        assert pq.read_table(path).column("k").to_pylist() == [1]
    assert lakehouse.source().list(None, listing.version).version == listing.version
    assert list(lakehouse.source().list(None, listing.version).files) == [unit]
    assert list(lakehouse.source().list(None).files) != [unit]


def test_an_expired_snapshot_is_an_error_and_no_mixture(lakehouse: Lakehouse, tmp_path: Path) -> None:
    lakehouse.append([1])
    source = lakehouse.source()
    listing = source.list(None)
    (unit,) = listing.files
    lakehouse.table.overwrite(pa.table({"k": [2]}, schema=pa.schema([("k", pa.int32())])))
    assert listing.version is not None
    (lakehouse.table.maintenance.expire_snapshots().by_id(int(listing.version.id)).commit())
    with (
        pytest.raises(SourceError, match="it has expired"),
        lakehouse.source().local_copy(unit, listing.version, None, tmp_path),
    ):
        pass
    Path(
        lakehouse.folder, unit.uri.partition("/file://")[2].removeprefix(str(lakehouse.folder) + "/")
    ).unlink()
    with (
        pytest.raises(SourceChangedError, match="was removed after it was listed"),
        source.local_copy(unit, listing.version, None, tmp_path),
    ):
        pass


def test_pins(lakehouse: Lakehouse, tmp_path: Path) -> None:
    lakehouse.append([1])
    first = lakehouse.table.current_snapshot()
    assert first is not None
    lakehouse.table.manage_snapshots().create_tag(first.snapshot_id, "v1").commit()
    lakehouse.table.manage_snapshots().create_branch(first.snapshot_id, "audit").commit()
    lakehouse.append([2])
    at = datetime.fromtimestamp(first.timestamp_ms / 1000, UTC).isoformat()
    for pin in ("tag:v1", "branch:audit", f"id:{first.snapshot_id}", f"time:{at}"):
        listing = lakehouse.source(pin).list(None)
        assert (listing.version, listing.rows) == (
            SourceVersion(str(first.snapshot_id), first.timestamp_ms),
            1,
        )
    for pin in ("tag:audit", "branch:v1", "id:7", "time:2020-01-01T00:00:00Z", "branch:nope"):
        with pytest.raises(SourceError, match="has no "):
            lakehouse.source(pin).list(None)


def test_a_recreated_table_is_another_one(lakehouse: Lakehouse, follower: Follower) -> None:
    lakehouse.append([1, 2])
    follow(follower, lakehouse)
    lakehouse.catalog.drop_table(lakehouse.name)
    with pytest.raises(SourceError, match=r"there is no Iceberg table iceberg://prod/sales\.orders"):
        lakehouse.source().list(None)
    lakehouse.create()
    lakehouse.append([7])
    assert follow(follower, lakehouse) == 1


def test_the_owners_rollback_is_a_difference_like_any_other(lakehouse: Lakehouse, follower: Follower) -> None:
    lakehouse.append([1])
    first = lakehouse.table.current_snapshot()
    assert first is not None
    lakehouse.append([2])
    assert follow(follower, lakehouse) == 2
    lakehouse.table.manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()
    assert follow(follower, lakehouse) == 0


def test_a_poll_without_a_commit_reads_no_manifest(
    lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    lakehouse.append([1])
    lakehouse.source().list(None)
    monkeypatch.setattr(Snapshot, "manifests", None)
    assert [file.size_bytes > 0 for file in lakehouse.source().list(None).files] == [True]


STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(st.integers(0, 5), min_size=1, max_size=4)),
    st.tuples(st.just("delete"), st.integers(0, 5)),
    st.tuples(st.just("overwrite"), st.integers(0, 5)),
    st.tuples(st.sampled_from(["add", "drop", "rename", "partition", "compact", "rollback"]), st.none()),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=1, max_size=8))
def test_histories(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("history")
    (folder / "copies").mkdir()
    lakehouse, follower = Lakehouse(folder / "lakehouse"), Follower(folder / "copies")
    snapshots: list[int] = []
    numbers = itertools.count()
    for step, argument in steps:
        _take(lakehouse, step, argument, snapshots, numbers)
        snapshot = lakehouse.table.current_snapshot()
        if snapshot is not None:
            snapshots.append(snapshot.snapshot_id)
        follow(follower, lakehouse)


def _take(
    lakehouse: Lakehouse, step: str, argument: Any, snapshots: Sequence[int], numbers: Iterator[int]
) -> None:
    table = lakehouse.table
    names = [field.name for field in table.schema().fields]
    match step:
        case "append":
            lakehouse.append(argument)
        case "delete":
            table.delete(f"k == {argument}")
        case "overwrite":
            row = pa.table({"k": [argument]}, schema=pa.schema([("k", pa.int32())]))
            table.overwrite(row, f"k == {argument}")
        case "add":
            name = next(
                name for name in ("note", "city", "town", f"more{next(numbers)}") if name not in names
            )
            with table.update_schema() as change:
                change.add_column(name, StringType())
        case "drop" if len(names) > 2 and not table.spec().fields:
            with table.update_schema() as change:
                change.delete_column(names[-1])
        case "rename" if len(names) > 2:
            name = next(name for name in ("town", "city", f"other{next(numbers)}") if name not in names)
            with table.update_schema() as change:
                change.rename_column(names[-1], name)
        case "partition" if not table.spec().fields:
            with table.update_spec() as change:
                change.add_identity("k")
        case "compact" if snapshots:
            table.overwrite(table.scan().to_arrow())
        case "rollback" if snapshots:
            table.manage_snapshots().rollback_to_snapshot(snapshots[0]).commit()


def test_a_file_of_this_machine_outside_of_the_warehouse_is_refused(
    lakehouse: Lakehouse, tmp_path: Path
) -> None:
    lakehouse.append([1])
    for warehouse in (f"file://{tmp_path}/elsewhere", "s3://bucket/warehouse", None):
        properties = {key: value for key, value in lakehouse.properties.items() if key != "warehouse"}
        if warehouse is not None:
            properties["warehouse"] = warehouse
        with pytest.raises(SourceError, match="a file of this machine outside of its warehouse"):
            IcebergSource("iceberg://prod/sales.orders", properties).list(None)


class NamedByTable(PyArrowFileIO):
    """A class that a table's property names; its client is this test, ours must not make it."""

    made = 0

    def __init__(self, properties: Any) -> None:
        super().__init__(properties)
        NamedByTable.made += 1


def test_properties_of_the_table_name_no_code_and_no_address(lakehouse: Lakehouse) -> None:
    lakehouse.append([1])
    with lakehouse.table.transaction() as change:
        change.set_properties(
            {
                "py-io-impl": f"{__name__}.NamedByTable",
                "s3.endpoint": "http://127.0.0.9:1",
                "s3.access-key-id": "theirs",
            }
        )
    made = NamedByTable.made
    assert made > 0
    source = lakehouse.source()
    assert len(list(source.list(None).files)) == 1
    assert NamedByTable.made == made
    assert source._table.io.properties == {}


@pytest.mark.parametrize(
    "uri",
    ["iceberg://prod", "iceberg://prod/orders", "iceberg:///sales.orders", "s3://a/b.c", "iceberg://p/a..b"],
)
def test_a_uri_that_names_no_table(uri: str) -> None:
    with pytest.raises(ConfigError, match="does not name an Iceberg table"):
        IcebergSource(uri, {})


def test_an_error_shows_no_secret(lakehouse: Lakehouse) -> None:
    properties = {**lakehouse.properties, "uri": "postgresql://me:hush@127.0.0.1:1/db"}
    columns: Columns = None
    with pytest.raises(SourceError) as caught:
        IcebergSource("iceberg://prod/sales.orders", properties).list(columns)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("file_format", "words"), [(FileFormat.ORC, r"clock \(time\)"), (FileFormat.AVRO, "AVRO")]
)
def test_data_files_that_are_not_read_are_refused_by_name(
    lakehouse: Lakehouse, file_format: FileFormat, words: str
) -> None:
    with lakehouse.table.update_schema() as update:
        update.add_column("clock", TimeType())
    schema = lakehouse.table.schema().as_arrow()
    rows = pa.table([pa.nulls(1, field.type) for field in schema], schema=schema)
    with lakehouse.table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in _dataframe_to_data_files(lakehouse.table.metadata, rows, lakehouse.table.io):
            file[FORMAT] = file_format
            append.append_data_file(file)
    source = lakehouse.source()
    with pytest.raises(SourceError, match=words):
        source.list(None)
    if file_format == FileFormat.ORC:
        assert list(source.list(frozenset({"k", "at"})).files), "the column is not asked for"
