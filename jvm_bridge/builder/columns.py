"""Compares the columns of a file with those that its table reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller_client.common.text import visible
from controller_client.errors import DataError
from jvm_bridge.builder.csv_plan import plan_csv
from jvm_bridge.builder.model import HEADER_PROPERTY, SourceFile, UnreadableFileError
from jvm_bridge.input_rules import ColumnMismatch, FileFormat, InputRules, MissingLimit, near_misses

__all__ = ["SourceColumns", "check_columns", "mismatch_of"]

_HALF = MissingLimit(50, is_percent=True)
_SHOWN_CHARACTERS = 200
_NO_TIME = (
    "write the column into the files or into the names of their folders, such as {0}=2024-01-01,"
    " fill it with a transform, or set its defaultNullValue in the schema to a time"
)
_DELIMITERS = {",": ",", ";": ";", "\t": r"\t", "|": "|", ":": ":"}


@dataclass(frozen=True)
class SourceColumns:
    """The columns that a table reads from its files.

    Attributes:
        read: Names of the columns, including arguments of transforms and filters.
        expected: Those among them that are not filled in another way.
        time: The time column, if it is one of those and has no default that is a time.
    """

    read: frozenset[str]
    expected: frozenset[str]
    time: str | None = None


def mismatch_of(columns: SourceColumns, names: Sequence[str]) -> ColumnMismatch:
    """Compare the columns of a file whose column names are all known."""
    present = set(names)
    return ColumnMismatch(
        tuple(sorted(columns.expected - present)),
        tuple(name for name in dict.fromkeys(names) if name not in columns.read),
    )


def check_columns(
    columns: SourceColumns,
    file: SourceFile,
    names: Sequence[str],
    mismatch: ColumnMismatch,
    rules: InputRules,
) -> None:
    """Reject a file whose columns differ too much from the table's.

    Args:
        columns: The columns that the table reads.
        file: The file.
        names: Its columns, as far as they are known.
        mismatch: How they differ.
        rules: How far they may differ.

    Raises:
        UnreadableFileError: They differ too much.
    """
    expected, missing = len(columns.expected), len(mismatch.missing)
    fields = _listed(sorted(columns.expected))
    if names and expected and missing == expected and columns.read.isdisjoint(names):
        raise _refused(
            file,
            f"has none of the table's columns; it has {_listed(names)}",
            f"some of the columns {fields}",
            _hint(columns, file, names),
        )
    if names and columns.time in mismatch.missing:
        raise _refused(
            file,
            f"lacks the time column {columns.time!r}; it has {_listed(names)}",
            f"the column {columns.time!r}: Pinot would store the time of the build in each row",
            _similar(columns, file, names) or _NO_TIME.format(columns.time),
        )
    limit = rules.max_missing or (None if file.file_format is FileFormat.JSON else _HALF)
    if limit is not None and not limit.allows(missing, expected):
        raise _refused(
            file,
            f"lacks {missing} of the table's {expected} columns: {_listed(mismatch.missing)};"
            f" it has {_listed(names)}",
            f"at most {limit} missing, as set by maxMissingColumns (default: 50%)",
            _hint(columns, file, names),
        )
    if file.file_format is FileFormat.CSV:
        for name, padded in near_misses(mismatch.missing, mismatch.extra).items():
            if padded.strip() == name:
                raise _refused(
                    file,
                    f"has spaces around a name in its header: {padded!r}, but the table's column is {name!r}",
                    None,
                    "set recordReader.prop.delimiter: if any property is set, spaces around names and values"
                    " are dropped",
                )
    if rules.refuse_unknown and mismatch.extra:
        raise _refused(
            file,
            f"has columns that the table does not read: {_listed(mismatch.extra)}",
            f"no columns except {fields}, because failOnUnknownColumns is set",
            _hint(columns, file, names),
        )


def _refused(file: SourceFile, what: str, expected: str | None, remedy: str | None) -> DataError:
    return UnreadableFileError(f"{file.named_by} {what}", expected=expected, where=file.where, remedy=remedy)


def _listed(names: Sequence[str]) -> str:
    text = visible(", ".join(names))
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def _similar(columns: SourceColumns, file: SourceFile, names: Sequence[str]) -> str | None:
    for name, near in near_misses(sorted(columns.expected.difference(names)), names).items():
        place = "the file" if file.named_by == file.name else HEADER_PROPERTY
        return f"{near!r} is not {name!r}: change the name in {place} or in the schema"
    return None


def _hint(columns: SourceColumns, file: SourceFile, names: Sequence[str]) -> str | None:
    similar = _similar(columns, file, names)
    if similar is not None:
        return similar
    if file.named_by != file.name:
        return f"set {HEADER_PROPERTY} to the names of the file's columns, in order"
    if file.file_format is not FileFormat.CSV:
        return None
    delimiter = plan_csv(file.reader_config).delimiter
    header = delimiter.join(names)
    for other, written in _DELIMITERS.items():
        parts = {part.strip(' "') for part in header.split(other)}
        if other != delimiter and len(parts & columns.read) > len(columns.read.intersection(names)):
            return f"its columns seem to be separated by {written!r}: set recordReader.prop.delimiter to it"
    return (
        f"if its first line is data, set {HEADER_PROPERTY} to the names of its columns,"
        f" in order, separated by {delimiter!r}"
    )
