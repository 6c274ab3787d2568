"""Bad input: a clear error that names what is wrong, the table as it was, nothing staged left behind."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from controller_client.errors import NotFoundError
from controller_client.models import TableConfig
from controller_client.zookeeper import PropertyStore, TableLock
from tests.integration.file_ingestion.ingestion import IngestionTable, write_numbers
from tests.support.cluster import PinotCluster

pytestmark = pytest.mark.cluster


@pytest.fixture
def loaded(ingestion_table: IngestionTable, shared_folder: Path) -> IngestionTable:
    """A table with ten rows of one file, staging below the source's parent."""
    write_numbers(shared_folder, "good.csv", 0, 10)
    staging = f"file://{shared_folder.parent}/staging"
    table = ingestion_table.create().register(shared_folder, "csv", outputDirURI=staging)
    table.run()
    return table


def assert_unchanged(table: IngestionTable, folder: Path) -> None:
    assert table.count() == 10
    assert len(table.segments()) == 1
    assert [path for path in (folder.parent / "staging").rglob("*") if path.is_file()] == []


def _binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 20)


def _truncated_gzip(path: Path) -> None:
    whole = gzip.compress(b"id,word,amount\n" + b"1,a,2\n" * 5000)
    path.write_bytes(whole[: len(whole) // 2])


def _bad_row(path: Path) -> None:
    path.write_text("id,word,amount\n1,a,1\n2,b,2\nthree,c,3\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "write", "said"),
    [
        ("bad.csv.gz", _truncated_gzip, ["bad.csv.gz"]),
        ("bad.csv", _bad_row, ["bad.csv", "three", "id", "row 3"]),
        ("bad.csv.gz", _binary, ["bad.csv.gz"]),
    ],
)
def test_a_bad_file_is_named_and_nothing_of_its_run_stays(
    loaded: IngestionTable, shared_folder: Path, name: str, write: Callable[[Path], None], said: list[str]
) -> None:
    write(shared_folder / name)
    write_numbers(shared_folder, "also-good.csv", 100, 10)
    ran = loaded.run()
    assert ran.code == 1
    for text in said:
        assert text in ran.err
    assert "also-good" not in ran.err
    assert_unchanged(loaded, shared_folder)
    (shared_folder / name).unlink()
    assert loaded.run().report["rows"] == 10
    assert loaded.count() == 20


def test_a_pattern_that_matches_nothing(loaded: IngestionTable, shared_folder: Path) -> None:
    staging = f"file://{shared_folder.parent}/staging"
    loaded.register(shared_folder, "csv", includeFileNamePattern="glob:**/*.parquet", outputDirURI=staging)
    ran = loaded.run()
    assert ran.code == 1
    assert "glob:**/*.parquet" in ran.err
    assert_unchanged(loaded, shared_folder)


def test_a_missing_folder(loaded: IngestionTable, shared_folder: Path) -> None:
    loaded.register(shared_folder.parent / "nowhere", "csv")
    ran = loaded.run()
    assert ran.code == 1
    assert "nowhere" in ran.err


def test_a_misspelt_parameter_names_the_nearest(loaded: IngestionTable, shared_folder: Path) -> None:
    loaded.register(shared_folder, "csv", includeFilenamePatern="glob:**")
    ran = loaded.run()
    assert ran.code == 2
    assert "includeFileNamePattern" in ran.err


def test_a_table_that_is_not_there(ingestion_table: IngestionTable) -> None:
    ran = ingestion_table.run()
    assert ran.code == 1
    assert f"{ingestion_table.name}_OFFLINE" in ran.err
    with pytest.raises(NotFoundError):
        ingestion_table.client.tables.get(ingestion_table.with_type)


def test_a_realtime_table(loaded: IngestionTable, shared_folder: Path) -> None:
    ran = IngestionTable(f"{loaded.name}_REALTIME", loaded.client, loaded.broker, loaded.controller_url).run()
    assert ran.code == 2
    assert "realtime" in ran.err


def test_a_table_without_the_task(loaded: IngestionTable) -> None:
    config: TableConfig = loaded.client.tables.get(loaded.with_type)
    loaded.client.tables.update(config.with_task_config("FileIngestionTask", None))
    ran = loaded.run()
    assert ran.code == 2
    assert "pinotctl task register" in ran.err


def test_two_runs_at_once(loaded: IngestionTable, shared_folder: Path) -> None:
    for n in range(4):
        write_numbers(shared_folder, f"more-{n}.csv", 1000 + n * 1000, 1000)
    first, second = loaded.start(), loaded.start()
    outs = [process.communicate(timeout=600) for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], outs
    assert loaded.count() == 4010
    assert len(loaded.segments()) == 5


def test_a_run_that_may_not_wait_says_who_holds_the_lock(
    pinot: PinotCluster, loaded: IngestionTable, shared_folder: Path
) -> None:
    write_numbers(shared_folder, "more.csv", 1000, 1000)
    with (
        PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
        TableLock(store, loaded.with_type, "FileIngestionTask", "somebody@elsewhere") as lock,
    ):
        lock.acquire(0)
        ran = loaded.run("--wait-lock", "0")
    assert ran.code == 1
    assert "somebody@elsewhere" in ran.err
    assert_unchanged(loaded, shared_folder)
    assert loaded.run().report["rows"] == 1000
