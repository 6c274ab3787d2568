"""Column differences of files: counted by build, stored in the ledger, added up for reports."""

from __future__ import annotations

from dataclasses import replace

from controller_client.filestore import FileInfo
from jvm_bridge.input_rules import ColumnMismatch
from minion_tasks.file_ingestion.run.publish import Publication
from minion_tasks.file_ingestion.session.column_notes import (
    ColumnCount,
    DifferingColumn,
    notes_from,
    notes_of,
    rows_of,
)
from minion_tasks.file_ingestion.session.model import (
    ColumnNote,
    FileEntry,
    FileGroup,
    FileStatus,
    StagedBuild,
)
from tests.unit.minion_tasks.samples import make_session, make_store, segment

MISMATCHES = {
    3: ColumnMismatch(("word",), ("Word", "else")),
    4: ColumnMismatch((), ("else",)),
    5: ColumnMismatch(("day", "word"), ("Word",)),
}


def test_files_of_a_unit_are_counted_by_column() -> None:
    notes = notes_of(MISMATCHES)
    assert set(notes) == {
        ColumnNote("word", True, 2, 3),
        ColumnNote("day", True, 1, 5),
        ColumnNote("Word", False, 2, 3),
        ColumnNote("else", False, 2, 3),
    }
    assert notes_from(rows_of(notes)) == notes


def test_notes_are_bounded_and_the_most_frequent_stay() -> None:
    wide = ColumnMismatch((), tuple(f"column {n}" + "x" * 300 for n in range(500)))
    notes = notes_of(
        {0: wide, 1: ColumnMismatch(("id",))} | {n: ColumnMismatch(("id",)) for n in range(2, 5)}
    )
    assert len(notes) == 100
    assert notes[0] == ColumnNote("id", True, 4, 1)
    assert max(len(note.name) for note in notes) == 200


def entry(number: int) -> FileEntry:
    return FileEntry(number, FileInfo(f"file:///in/{number}.csv", 1, 1), FileStatus.STAGED)


GROUPS = [
    FileGroup(
        0,
        tuple(map(entry, (3, 4, 5))),
        (StagedBuild((3, 4, 5), (segment("a"),), notes_of(MISMATCHES)),),
    ),
    FileGroup(
        1,
        (entry(6), entry(7)),
        (
            StagedBuild((6,), (segment("b"),), notes_of({6: ColumnMismatch(("word",))})),
            StagedBuild((7,), (segment("c"),)),
        ),
    ),
]
EXPECTED = (
    DifferingColumn("word", True, 3, "file:///in/3.csv", "Word"),
    DifferingColumn("day", True, 1, "file:///in/5.csv", None),
    DifferingColumn("Word", False, 2, "file:///in/3.csv", "word"),
    DifferingColumn("else", False, 2, "file:///in/3.csv", None),
)


def test_a_session_adds_them_up() -> None:
    count = ColumnCount()
    for group in GROUPS:
        count.add(group)
    assert count.result() == EXPECTED
    assert [column.sentence() for column in EXPECTED] == [
        "column 'word' is missing in 3 files; a similar column there is 'Word'",
        "column 'day' is missing in 1 file",
        (
            "column 'Word' in 2 files is not read, since the table does not have it; a similar column of the"
            " table is 'word'"
        ),
        "column 'else' in 2 files is not read, since the table does not have it",
    ]
    assert ColumnCount().result() == ()


def test_the_ledger_keeps_them() -> None:
    sessions, _ = make_store()
    session = sessions.create(make_session())
    for group in GROUPS:
        sessions.create_group("s1", group)
    assert Publication.of(sessions, replace(session, groups=2)).columns == EXPECTED
