"""Prepares a file so that Arrow and Pinot's own reader read the same, and rejects files that lose rows.

Pinot's readers silently accept input that would lose rows or values: a truncated Avro file, a CSV file with a
truncated gzip header, bytes that are not UTF-8, columns with other names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from controller_client.common.text import has_utf_8, visible
from jvm_bridge.builder.columns import check_columns, mismatch_of
from jvm_bridge.builder.csv_plan import CsvPlan, plan_csv
from jvm_bridge.builder.driver import PinotTable
from jvm_bridge.builder.model import HEADER_PROPERTY, SourceFile, UnreadableFileError
from jvm_bridge.builder.pinot_classes import keeps_source_types
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.sources.csv_header import read_header, write_with_header
from jvm_bridge.builder.sources.file_columns import first_twice
from jvm_bridge.builder.sources.files import COLUMN_FORMATS
from jvm_bridge.builder.sources.json_array import check_array
from jvm_bridge.builder.sources.json_source import first_keys
from jvm_bridge.builder.sources.source import CORRUPT_GZIP
from jvm_bridge.builder.sources.text_input import check_text
from jvm_bridge.folder_columns import FolderColumns
from jvm_bridge.input_rules import ColumnMismatch, FileFormat, InputRules, text_encoding
from jvm_bridge.time_conversion import TimeConversion

__all__ = ["Prepared", "prepare"]

# Java cannot open files with any name: some locales only have ASCII letters.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9 /._+=,@~-]+")


@dataclass(frozen=True)
class Prepared:
    """A file that may be read, and how its columns differ from the table's."""

    file: SourceFile
    mismatch: ColumnMismatch


def prepare(table: PinotTable, file: SourceFile, rules: InputRules, folder: Path) -> Prepared:
    """Check a file and prepare it for reading.

    Args:
        table: The table.
        file: The file.
        rules: The requirements for it.
        folder: An existing, empty folder for a copy or a link; it must exist as long as the file is read.

    Raises:
        UnreadableFileError: The file does not exist, is corrupt at its start or, if it is Avro, anywhere, or
            does not have the table's columns, has one of them twice, or is in a folder with one that is not
            UTF-8.
        DataError: It has bytes that are not valid in the encoding, or more than one JSON array.
    """
    prepared = _prepared(table, file, rules, folder)
    return replace(prepared, file=replace(prepared.file, folders=_read_folders(table, file)))


def _read_folders(table: PinotTable, file: SourceFile) -> FolderColumns:
    """Return the columns of folders that the table reads."""
    columns = {
        name: text
        for name, text in file.folders.items()
        if table.columns is None or name in table.columns.read
    }
    for name, text in columns.items():
        if text is not None and not has_utf_8(text):
            raise UnreadableFileError(
                f"{file.name}: the name of its folder has a value of {name!r} that is not UTF-8: "
                f"{visible(text)!r}",
                where=file.where,
                remedy="rename the folder, or set hivePartitioning to false",
            )
    return columns


def _prepared(table: PinotTable, file: SourceFile, rules: InputRules, folder: Path) -> Prepared:
    if not file.path.is_file():
        raise UnreadableFileError("there is no such file", where=file.where)
    if file.path.name.endswith(".gz") and not file.path.stat().st_size:
        raise UnreadableFileError(
            f"{file.name} is empty: gzip data always has a header, even for an empty file",
            expected="a complete gzip file",
            where=file.where,
            remedy="write it again; its upload may have been interrupted",
        )
    if not _PLAIN_PATH.fullmatch(str(file.path)):
        # Pinot 0.11 detects a gzipped CSV file by its name.
        link = folder / ("input.gz" if file.path.name.endswith(".gz") else "input")
        link.symlink_to(file.path.absolute())
        file = replace(file, path=link, original=file.path)
    if file.file_format in (FileFormat.CSV, FileFormat.JSON):
        return _prepared_text(table, file, rules, folder)
    stored = COLUMN_FORMATS[file.file_format].check(file)
    mismatch = _checked(table, file, list(stored), rules)
    times, keeps_times = _times(table, stored), _keeps_times(file)
    return Prepared(replace(file, times=times, keeps_times=keeps_times), mismatch)


def _keeps_times(file: SourceFile) -> bool:
    """Return whether Pinot's reader for the file does."""
    given = (file.reader_config or {}).get("extractRawTimeValues", "")
    return keeps_source_types() and given.strip().lower() != "true"


def _times(table: PinotTable, stored: Mapping[str, int | None]) -> Mapping[str, TimeConversion]:
    times = {}
    for name, step_ns in table.time_steps.items():
        from_ns = stored.get(name)
        if from_ns is not None:
            times[name] = TimeConversion(from_ns, step_ns)
    return times


def _prepared_text(table: PinotTable, file: SourceFile, rules: InputRules, folder: Path) -> Prepared:
    copy = folder / "copy"
    expected = table.columns.expected if table.columns is not None else ()
    check = check_text(file, text_encoding(rules.encoding), copy, expected)
    if check.copied:
        file = replace(file, path=copy, original=file.original or file.path)
    if file.file_format is FileFormat.CSV:
        return _prepared_csv(table, file, rules, folder)
    return Prepared(file, _checked_keys(table, file, check.absent_keys, rules))


def _checked_keys(
    table: PinotTable, file: SourceFile, absent: frozenset[str], rules: InputRules
) -> ColumnMismatch:
    """Compare JSON lines, whose rows may omit keys: a missing column occurs in no row."""
    try:
        keys = list(first_keys(file.path))
    except Unsuitable:
        check_array(file)
        keys = []  # other JSON, with unknown keys
    else:
        if not keys:
            return ColumnMismatch()  # no rows, or empty ones
    if table.columns is None:
        return ColumnMismatch()
    keys = _with_folders(keys, file)
    missing = tuple(sorted(absent - file.folders.keys()))
    mismatch = ColumnMismatch(missing, mismatch_of(table.columns, keys).extra)
    check_columns(table.columns, file, keys, mismatch, rules)
    return mismatch


def _prepared_csv(table: PinotTable, file: SourceFile, rules: InputRules, folder: Path) -> Prepared:
    try:
        plan = plan_csv(file.reader_config)
        header = None if plan.header is not None else read_header(file.path, plan.delimiter)
    except (Unsuitable, OSError):
        return Prepared(file, ColumnMismatch())  # Pinot's reader has to report the error
    if plan.header is not None:
        _refuse_second_header(file, plan)
    names = list(plan.header or ()) if header is None else list(header.names)
    if plan.no_edge_spaces:
        names = [name.strip() for name in names]
    is_read = [bool(name.strip()) and (table.columns is None or name in table.columns.read) for name in names]
    read = [name for name, reads in zip(names, is_read, strict=True) if reads]
    twice = first_twice(read)
    if twice is not None:
        # Since 1.1 Pinot's reader would use one of the two.
        raise UnreadableFileError(
            f"{file.name} has the name {twice!r} twice in its header",
            expected="each column once",
            where=file.where,
        )
    mismatch = _checked(table, file, names, rules)
    if header is None or (all(name.strip() for name in names) and len(set(names)) == len(names)):
        return Prepared(file, mismatch)
    # No column of a table begins with $.
    unread = (f"$unread{number}" for number in range(len(names)))
    names = [name if reads else next(unread) for name, reads in zip(names, is_read, strict=True)]
    copy = folder / "with_header"
    try:
        write_with_header(file, header, names, plan.delimiter, copy)
    except CORRUPT_GZIP:
        return Prepared(file, mismatch)  # the reader reports the row
    return Prepared(replace(file, path=copy, original=file.original or file.path), mismatch)


def _refuse_second_header(file: SourceFile, plan: CsvPlan) -> None:
    with suppress(Unsuitable, OSError):
        if read_header(file.path, plan.delimiter).names == tuple(plan.header or ()):
            raise UnreadableFileError(
                f"{file.name} has the names of {HEADER_PROPERTY} in its first line, which would become a row",
                expected=f"a file without a header, because {HEADER_PROPERTY} is set",
                where=file.where,
                remedy=f"remove {HEADER_PROPERTY}: the file has a header itself",
            )


def _checked(table: PinotTable, file: SourceFile, names: Sequence[str], rules: InputRules) -> ColumnMismatch:
    if table.columns is None or not names:
        return ColumnMismatch()
    names = _with_folders(names, file)
    mismatch = mismatch_of(table.columns, names)
    check_columns(table.columns, file, names, mismatch, rules)
    return mismatch


def _with_folders(names: Sequence[str], file: SourceFile) -> list[str]:
    return [*names, *(name for name in file.folders if name not in names)]
