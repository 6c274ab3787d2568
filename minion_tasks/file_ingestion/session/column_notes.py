"""How the columns of a session's files differ from the table's: recorded by build, counted for reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller_client.common.text import counted_text
from jvm_bridge.input_rules import ColumnMismatch, near_miss
from minion_tasks.file_ingestion.session.model import ColumnNote, FileGroup

__all__ = ["ColumnCount", "DifferingColumn", "notes_from", "notes_of", "rows_of"]

# A znode contains the notes of up to 500 files, and longer lists would not be read.
_MAX_NAMES = 100
_MAX_CHARACTERS = 200


@dataclass(frozen=True)
class DifferingColumn:
    """A column that is missing in files, or that is in files but not in the table.

    Attributes:
        files: Number of files.
        first: URI of one of them.
        near: A column of these files, or of the table, whose name differs only in case or blanks.
    """

    name: str
    is_missing: bool
    files: int
    first: str
    near: str | None

    def sentence(self) -> str:
        """Describe the difference in a sentence, without the file."""
        files = counted_text(self.files, "file")
        if self.is_missing:
            return f"column {self.name!r} is missing in {files}" + (
                f"; a similar column there is {self.near!r}" if self.near else ""
            )
        return f"column {self.name!r} in {files} is not read, since the table does not have it" + (
            f"; a similar column of the table is {self.near!r}" if self.near else ""
        )


def notes_of(mismatches: Mapping[int, ColumnMismatch]) -> tuple[ColumnNote, ...]:
    """Count the differing columns of files that were built together.

    Args:
        mismatches: Maps each file number to its column differences.
    """
    files: dict[tuple[bool, str], list[int]] = {}
    for number, mismatch in mismatches.items():
        for is_missing, names in ((True, mismatch.missing), (False, mismatch.extra)):
            for name in names:
                files.setdefault((is_missing, name[:_MAX_CHARACTERS]), []).append(number)
    most_first = sorted(files.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(
        ColumnNote(name, is_missing, len(numbers), numbers[0])
        for (is_missing, name), numbers in most_first[:_MAX_NAMES]
    )


def rows_of(notes: Sequence[ColumnNote]) -> list[list[Any]]:
    """Convert notes to JSON values."""
    return [[note.name, note.is_missing, note.files, note.first] for note in notes]


def notes_from(rows: Sequence[Sequence[Any]]) -> tuple[ColumnNote, ...]:
    """Read the result of `rows_of`.

    Raises:
        TypeError: The rows are not column notes.
    """
    return tuple(map(_note, rows))


def _note(row: Any) -> ColumnNote:
    match row:
        case [str() as name, bool() as is_missing, int() as files, int() as first]:
            return ColumnNote(name, is_missing, files, first)
        case _:
            raise TypeError(f"expected a column note, found {str(row)[:100]!r}")


class ColumnCount:
    """Adds up the notes of a session's groups."""

    def __init__(self) -> None:
        self._files: dict[tuple[bool, str], int] = {}
        self._first: dict[tuple[bool, str], str] = {}

    def add(self, group: FileGroup) -> None:
        """Add a group's builds."""
        uris = {entry.number: entry.file.uri for entry in group.entries}
        for note in (note for build in group.builds for note in build.columns):
            key = (note.is_missing, note.name)
            self._files[key] = self._files.get(key, 0) + note.files
            self._first.setdefault(key, uris.get(note.first, "?"))

    def result(self) -> tuple[DifferingColumn, ...]:
        """Return the columns: missing ones first, then by descending number of files."""
        ordered = sorted(self._files, key=lambda key: (not key[0], -self._files[key], key[1]))
        return tuple(
            DifferingColumn(
                name, is_missing, self._files[is_missing, name], self._first[is_missing, name], near
            )
            for is_missing, name in ordered
            for near in [near_miss(name, self._names(not is_missing))]
        )

    def _names(self, is_missing: bool) -> Iterable[str]:
        return (name for missing, name in self._files if missing is is_missing)
