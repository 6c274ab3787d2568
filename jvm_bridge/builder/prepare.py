"""A file made ready, so that Arrow and Pinot's own reader get the same; what neither may take is refused.

Pinot's readers take without a word what would lose rows or values: an Avro file that is cut short, a CSV file
whose gzip header is, bytes that are not UTF-8, columns of other names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from controller_client.errors import DataError
from controller_client.visible_text import visible
from jvm_bridge.builder.avro_file import check_avro
from jvm_bridge.builder.columns import SourceColumns, mismatch_of
from jvm_bridge.builder.csv_source import read_header
from jvm_bridge.builder.driver import PinotTable
from jvm_bridge.builder.json_source import first_keys
from jvm_bridge.builder.model import FileFormat, UnreadableFileError
from jvm_bridge.builder.parquet_source import read_columns
from jvm_bridge.builder.planning import Unsuitable, plan_csv
from jvm_bridge.builder.source_file import SourceFile
from jvm_bridge.builder.text_input import check_text
from jvm_bridge.input_rules import ColumnMismatch, InputRules, MissingLimit, near_miss, text_encoding
from jvm_bridge.time_conversion import TimeConversion

__all__ = ["Prepared", "prepare"]

_HALF = MissingLimit(50, is_percent=True)
_SHOWN_CHARACTERS = 200
# Java cannot name all files: some locales have no letters beyond ASCII.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9 /._+=,@~-]+")
_DELIMITERS = {",": ",", ";": ";", "\t": r"\t", "|": "|", ":": ":"}


@dataclass(frozen=True)
class Prepared:
    """A file that may be read, and how its columns differ from the table's."""

    file: SourceFile
    mismatch: ColumnMismatch


def prepare(table: PinotTable, file: SourceFile, rules: InputRules, folder: Path) -> Prepared:
    """Check a file and make it ready.

    Args:
        table: The table.
        file: As it was given.
        rules: What it may be like.
        folder: An existing, empty folder for a copy or a link; it must live as long as the file is read.

    Raises:
        UnreadableFileError: There is no such file, it is damaged at its begin or, if it is Avro, anywhere, or
            its columns are not those of the table.
        DataError: Bytes that are not of the encoding.
    """
    if not file.path.is_file():
        raise UnreadableFileError("There is no such file", where=file.where)
    if file.path.name.endswith(".gz") and not file.path.stat().st_size:
        raise UnreadableFileError(
            f"{file.name} is empty: gzip data has a header, even that of an empty file",
            expected="a whole gzip file",
            where=file.where,
            remedy="write it again; an upload of it may have been cut short",
        )
    if not _PLAIN_PATH.fullmatch(str(file.path)):
        link = folder / "input"
        link.symlink_to(file.path.absolute())
        file = replace(file, path=link, original=file.path)
    if file.file_format in (FileFormat.CSV, FileFormat.JSON):
        return _prepared_text(table, file, rules, folder)
    if file.file_format is FileFormat.AVRO:
        stored: Mapping[str, int | None] = check_avro(file)
    else:
        try:
            stored, has_int96 = read_columns(file.path)
        except (pa.ArrowException, OSError):
            return Prepared(file, ColumnMismatch())  # Pinot's reader says what is wrong
        file = replace(file, has_int96=has_int96)
    mismatch = _checked(table, file, list(stored), rules)
    return Prepared(replace(file, times=_times(table, stored)), mismatch)


def _times(table: PinotTable, stored: Mapping[str, int | None]) -> Mapping[str, TimeConversion]:
    times = {}
    for name, step_ns in table.time_steps.items():
        from_ns = stored.get(name)
        if from_ns is not None:
            times[name] = TimeConversion.between(from_ns, step_ns)
    return times


def _prepared_text(table: PinotTable, file: SourceFile, rules: InputRules, folder: Path) -> Prepared:
    copy = folder / "copy"
    expected = table.columns.expected if table.columns is not None else ()
    found = check_text(file, text_encoding(rules.encoding), copy, expected)
    if found.copied:
        file = replace(file, path=copy, original=file.original or file.path)
    if file.file_format is FileFormat.CSV:
        return Prepared(file, _checked(table, file, _header(file), rules))
    try:
        keys = list(first_keys(file.path))
    except Unsuitable:
        keys = []
    mismatch = ColumnMismatch()
    if table.columns is not None:
        extra = mismatch_of(table.columns, keys).extra
        mismatch = ColumnMismatch(tuple(sorted(found.absent_keys)), extra)
        _check(table.columns, file, keys, mismatch, rules)
    return Prepared(file, mismatch)


def _header(file: SourceFile) -> Sequence[str]:
    """Return the names of a CSV file's columns; none where Pinot's reader must say why."""
    try:
        plan = plan_csv(file.reader_config)
        names = plan.header or read_header(file.path, plan.delimiter)
    except (Unsuitable, OSError):
        return ()
    return [name.strip() for name in names] if plan.no_edge_spaces else names


def _checked(table: PinotTable, file: SourceFile, names: Sequence[str], rules: InputRules) -> ColumnMismatch:
    if table.columns is None or not names:
        return ColumnMismatch()
    mismatch = mismatch_of(table.columns, names)
    _check(table.columns, file, names, mismatch, rules)
    return mismatch


def _check(
    columns: SourceColumns,
    file: SourceFile,
    names: Sequence[str],
    mismatch: ColumnMismatch,
    rules: InputRules,
) -> None:
    """Refuse columns that are not those of the table."""
    expected, missing = len(columns.expected), len(mismatch.missing)
    fields = _listed(sorted(columns.expected))
    if names and expected and missing == expected and columns.read.isdisjoint(names):
        raise _refused(
            file,
            f"has none of the table's columns; it has {_listed(names)}",
            f"columns of {fields}",
            _hint(columns, file, names),
        )
    limit = rules.max_missing or (None if file.file_format is FileFormat.JSON else _HALF)
    if limit is not None and not limit.allows(missing, expected):
        raise _refused(
            file,
            f"lacks {missing} of the table's {expected} columns: {_listed(mismatch.missing)};"
            f" it has {_listed(names)}",
            f"at most {limit} missing, as maxMissingColumns says (50% where it says nothing)",
            _hint(columns, file, names),
        )
    if file.file_format is FileFormat.CSV:
        for name in mismatch.missing:
            padded = near_miss(name, mismatch.extra)
            if padded is not None and padded.strip() == name:
                raise _refused(
                    file,
                    f"has blanks around a name in its header: {padded!r}, where the table has {name!r}",
                    None,
                    "set recordReader.prop.delimiter: with any property, blanks around names and values are"
                    " dropped",
                )
    if rules.refuse_unknown and mismatch.extra:
        raise _refused(
            file,
            f"has columns that the table does not read: {_listed(mismatch.extra)}",
            f"no others than {fields}, as failOnUnknownColumns says",
            _hint(columns, file, names),
        )


def _refused(file: SourceFile, what: str, expected: str | None, remedy: str | None) -> DataError:
    return UnreadableFileError(f"{file.name} {what}", expected=expected, where=file.where, remedy=remedy)


def _listed(names: Sequence[str]) -> str:
    text = visible(", ".join(names))
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def _hint(columns: SourceColumns, file: SourceFile, names: Sequence[str]) -> str | None:
    for name in sorted(columns.expected.difference(names)):
        near = near_miss(name, names)
        if near is not None:
            return f"{near!r} is not {name!r}: change the name in the file or in the schema"
    if file.file_format is not FileFormat.CSV or (file.reader_config or {}).get("header"):
        return None
    delimiter = plan_csv(file.reader_config).delimiter
    header = delimiter.join(names)
    for other, written in _DELIMITERS.items():
        parts = {part.strip(' "') for part in header.split(other)}
        if other != delimiter and len(parts & columns.read) > len(columns.read.intersection(names)):
            return f"its columns seem to be separated by {written!r}: set recordReader.prop.delimiter to that"
    return (
        "if its first line is a row already, set recordReader.prop.header to the names of its columns,"
        f" in their order, separated by {delimiter!r}"
    )
