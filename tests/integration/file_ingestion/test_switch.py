"""One batch after the other: each becomes visible in one step, each row once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.file_ingestion.ingestion import IngestionTable, write_numbers

pytestmark = pytest.mark.cluster


def test_a_reader_sees_the_old_or_the_new_rows_and_nothing_between(
    ingestion_table: IngestionTable, shared_folder: Path
) -> None:
    table = ingestion_table.create(replication=2)
    for n in range(6):
        write_numbers(shared_folder, f"first-{n}.csv", n * 1000, 1000)
    table.register(shared_folder, "csv", taskMaxNumFilesPerTask="2")
    assert table.run().report["rows"] == 6000
    old = (6000, float(sum(range(6000))))
    with table.polled() as reader:
        reader.poll_until(200)
        for n in range(6, 12):
            write_numbers(shared_folder, f"second-{n}.csv", n * 1000, 1000)
        report = table.run().report
        reader.poll_until(max(1000, reader.polls + 100))
    assert (report["files"], report["rows"], report["segments"]) == (6, 6000, 6)
    assert reader.polls >= 1000
    assert reader.errors == []
    assert [(int(count), float(total)) for count, total in reader.seen] == [
        old,
        (12000, float(sum(range(12000)))),
    ]


def test_a_run_with_nothing_new_does_nothing(ingestion_table: IngestionTable, shared_folder: Path) -> None:
    write_numbers(shared_folder, "a.csv", 0, 10)
    table = ingestion_table.create().register(shared_folder, "csv")
    table.run()
    segments = table.segments()
    report = table.run().report
    assert report["outcome"] == "nothing new"
    assert table.segments() == segments
    assert table.count() == 10


def test_a_changed_file_is_told_and_not_read_again(
    ingestion_table: IngestionTable, shared_folder: Path
) -> None:
    write_numbers(shared_folder, "a.csv", 0, 10)
    table = ingestion_table.create().register(shared_folder, "csv")
    table.run()
    write_numbers(shared_folder, "a.csv", 0, 20)
    ran = table.run()
    assert ran.report["outcome"] == "nothing new"
    assert "a.csv" in ran.err
    assert table.count() == 10


def test_the_controllers_own_task_endpoints_show_the_run(
    ingestion_table: IngestionTable, shared_folder: Path
) -> None:
    for n in range(3):
        write_numbers(shared_folder, f"{n}.csv", n * 10, 10)
    table = ingestion_table.create().register(shared_folder, "csv", taskMaxNumFilesPerTask="1")
    before = set(table.client.tasks.states("FileIngestionTask"))
    table.run()
    after = table.client.tasks.states("FileIngestionTask")
    (name,) = set(after) - before
    assert after[name] == "COMPLETED"
    states = table.client.tasks.subtask_states(name)
    assert list(states.values()) == ["COMPLETED"] * 3


def test_staging_is_empty_after_a_run(
    ingestion_table: IngestionTable, shared_folder: Path, tmp_path: Path
) -> None:
    staging = shared_folder.parent / f"staging-{ingestion_table.name}"
    write_numbers(shared_folder, "a.csv", 0, 10)
    table = ingestion_table.create().register(shared_folder, "csv", outputDirURI=f"file://{staging}")
    table.run()
    assert table.count() == 10
    assert [path for path in staging.rglob("*") if path.is_file()] == []
