"""Consecutive batches: each becomes visible in one step, and each row appears once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.file_ingestion.ingestion import IngestionTable, write_numbers

pytestmark = pytest.mark.cluster


def test_a_reader_sees_the_old_or_the_new_rows_and_nothing_in_between(
    ingestion_table: IngestionTable, shared_folder: Path, full: bool
) -> None:
    polls = 1000 if full else 300
    table = ingestion_table.create(replication=2)
    for n in range(6):
        write_numbers(shared_folder, f"first-{n}.csv", n * 1000, 1000)
    table.register(shared_folder, "csv", taskMaxNumFilesPerTask="2")
    assert table.run().report["rows"] == 6000
    old = (6000, float(sum(range(6000))))
    with table.polled() as reader:
        reader.poll_until(50)
        for n in range(6, 12):
            write_numbers(shared_folder, f"second-{n}.csv", n * 1000, 1000)
        report = table.run().report
        reader.poll_until(max(polls, reader.polls + 100))
    assert (report["files"], report["rows"], report["segments"]) == (6, 6000, 3)
    assert reader.polls >= polls
    assert (reader.errors, reader.partials) == ([], [])
    assert [(int(count), float(total)) for count, total in reader.seen] == [
        old,
        (12000, float(sum(range(12000)))),
    ]


def test_ingested_files_are_not_read_again(ingestion_table: IngestionTable, shared_folder: Path) -> None:
    for n in range(3):
        write_numbers(shared_folder, f"{n}.csv", n * 10, 10)
    table = ingestion_table.create().register(shared_folder, "csv", taskMaxNumFilesPerTask="1")
    assert table.run().report["rows"] == 30
    _assert_shown_by_the_controller(table)
    segments = table.segments()

    again = table.run()
    assert again.report["outcome"] == "nothing_new"
    assert "1.csv" not in again.err

    write_numbers(shared_folder, "1.csv", 10, 20)
    changed = table.run()
    assert changed.report["outcome"] == "nothing_new"
    assert "1.csv" in changed.err
    assert "0.csv" not in changed.err
    assert table.segments() == segments
    assert table.count() == 30


def _assert_shown_by_the_controller(table: IngestionTable) -> None:
    ((name, state),) = table.tasks().items()
    assert state == "COMPLETED"
    states = table.client.tasks.subtask_states(name)
    assert list(states.values()) == ["COMPLETED"] * 3
