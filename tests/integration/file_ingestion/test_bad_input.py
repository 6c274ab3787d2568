"""Bad input: a clear error, an unchanged table, and no staged files left behind."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller_client.errors import NotFoundError
from controller_client.zookeeper import PropertyStore, TableLock
from minion_tasks.file_ingestion.session.model import SessionState
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.integration.file_ingestion.ingestion import IngestionTable, Pinotctl, Ran, ended, write_numbers
from tests.integration.file_ingestion.secrecy import SECRETS, assert_hidden
from tests.support.cluster import PinotCluster

pytestmark = pytest.mark.cluster


@dataclass
class Loaded:
    """A table with some rows, shared by the tests of this module, and its state before the current test."""

    table: IngestionTable
    folder: Path
    staging: Path
    rows: int = 0
    segments: tuple[str, ...] = ()

    def look(self) -> None:
        self.rows, self.segments = self.table.count(), tuple(self.table.segments())

    def register(self, **more: str) -> None:
        self.table.register(self.folder, "csv", outputDirURI=f"file://{self.staging}", **SECRETS, **more)

    def assert_unchanged(self) -> None:
        assert self.table.count() == self.rows
        assert tuple(self.table.segments()) == self.segments
        assert [path for path in self.staging.rglob("*") if path.is_file()] == []

    def assert_fails(self, *parts: str, code: int = 1) -> Ran:
        ran = self.table.run()
        assert ran.code == code, ran
        assert ran.out == ""
        for text in parts:
            assert text in ran.err
        self.assert_unchanged()
        return ran


@pytest.fixture(scope="module")
def first_load(module_table: IngestionTable, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    root = tmp_path_factory.mktemp("bad-input")
    loaded = Loaded(module_table.create(), root / "source", root / "staging")
    write_numbers(loaded.folder, "good.csv", 0, 10)
    loaded.register()
    assert module_table.run().report["rows"] == 10
    module_table.wait_count(10)
    return loaded


@pytest.fixture
def loaded(first_load: Loaded) -> Iterator[Loaded]:
    first_load.register()
    first_load.look()
    before = set(first_load.folder.iterdir())
    yield first_load
    # Files that a test failed to ingest do not affect the next test.
    if first_load.table.count() == first_load.rows:
        for path in set(first_load.folder.iterdir()) - before:
            path.unlink()


def _binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 20)


def _truncated_gzip(path: Path) -> None:
    whole = gzip.compress(b"id,word,amount\n" + b"1,a,2\n" * 5000)
    path.write_bytes(whole[: len(whole) // 2])


def _bad_row(path: Path) -> None:
    path.write_text("id,word,amount\n1,a,1\n2,b,2\nthree,c,3\n", encoding="utf-8")


def test_all_bad_files_are_named_and_their_run_leaves_nothing(
    pinot: PinotCluster, store: PropertyStore, loaded: Loaded
) -> None:
    bad: dict[str, Callable[[Path], None]] = {
        "half.csv.gz": _truncated_gzip,
        "no-gzip.csv.gz": _binary,
        "bad-row.csv": _bad_row,
    }
    for name, write in bad.items():
        write(loaded.folder / name)
    write_numbers(loaded.folder, "also-good.csv", 100, 10)
    ran = loaded.assert_fails("3 of 4 files", *bad, "row 3", "three", "id")
    assert "also-good" not in ran.err
    for line in ran.err.splitlines():
        assert not line.startswith("Traceback")
    session = SessionStore(store, loaded.table.with_type).latest()
    assert session is not None
    assert (session.state, session.abandoned) == (SessionState.IN_PROGRESS, True)
    assert "half.csv.gz" in (session.message or "")
    for name in bad:
        (loaded.folder / name).unlink()
    again = loaded.table.run("--wait-lock", "0")
    assert again.report["rows"] == 10
    loaded.table.wait_count(loaded.rows + 10)
    assert_hidden(pinot, loaded.table, [ran, again])


def test_a_pattern_that_matches_nothing(loaded: Loaded, pinotctl: Pinotctl) -> None:
    loaded.register(includeFileNamePattern="glob:**/*.parquet", enableSync="true")
    ran = loaded.assert_fails("glob:**/*.parquet", str(loaded.folder), "exclude all", "good.csv")
    planned = pinotctl("plan", loaded.table.name, "--output", "json", code=1)
    assert planned.out == ""
    assert planned.err.splitlines()[-1] == ran.err.splitlines()[-1]


def test_wrong_parameters(loaded: Loaded) -> None:
    loaded.register(includeFileNamePattern="glob:*.csv")
    loaded.assert_fails("glob:*.csv", "did you mean 'glob:**/*.csv'", code=2)
    loaded.register(includeFilenamePatern="glob:**")
    loaded.assert_fails("includeFilenamePatern", "did you mean 'includeFileNamePattern'", code=2)
    nowhere = loaded.folder.parent / "nowhere"
    loaded.table.register(nowhere, "csv", outputDirURI=f"file://{loaded.staging}")
    loaded.assert_fails(str(nowhere))
    loaded.table.client.tables.set_task_config(loaded.table.with_type, "FileIngestionTask", None)
    loaded.assert_fails("pinotctl task register", code=2)


def test_a_missing_table(ingestion_table: IngestionTable) -> None:
    ran = ingestion_table.run()
    assert ran.code == 1
    assert f"{ingestion_table.name}_OFFLINE" in ran.err
    with pytest.raises(NotFoundError):
        ingestion_table.client.tables.get(ingestion_table.with_type)


def test_the_source_must_not_be_in_the_staging_folder(loaded: Loaded) -> None:
    inside = loaded.staging / "pinot-plugins-staging" / loaded.table.with_type
    source = write_numbers(inside, "mine.csv", 500, 10)
    loaded.table.register(inside, "csv", outputDirURI=f"file://{loaded.staging}")
    ran = loaded.table.run()
    assert ran.code == 2
    assert str(inside) in ran.err
    assert source.exists()
    source.unlink()
    loaded.assert_unchanged()


def test_a_run_that_may_not_wait_names_the_holder_of_the_lock(store: PropertyStore, loaded: Loaded) -> None:
    write_numbers(loaded.folder, "locked.csv", 1000, 1000)
    with TableLock(store, loaded.table.with_type, "FileIngestionTask", "somebody@elsewhere") as lock:
        lock.acquire(0)
        ran = loaded.table.run("--wait-lock", "0")
    assert ran.code == 1
    assert "somebody@elsewhere" in ran.err
    loaded.assert_unchanged()


def test_two_runs_at_once(loaded: Loaded) -> None:
    for n in range(4):
        write_numbers(loaded.folder, f"more-{n}.csv", 10_000 + n * 1000, 1000)
    both = loaded.table.start(), loaded.table.start()
    reports = [ended(process).report for process in both]
    assert sorted(report["outcome"] for report in reports) == ["nothing_new", "switched"]
    loaded.table.wait_count(loaded.rows + 4000)
    assert len(loaded.table.segments()) == len(loaded.segments) + 1  # small files share a segment
