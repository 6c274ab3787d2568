"""The columns of a Parquet, ORC, Avro or Arrow file, with values as the file means them.

Values of types that Pinot does not have are given as text: decimal numbers with all their digits, and lists,
maps and structs as JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from controller_client.errors import DataError, SetupError
from jvm_bridge.builder.model import SourceFile, UnreadableFileError
from jvm_bridge.builder.planning import DECIMAL, NESTED, TableRequirements, Unsuitable, plan_column
from jvm_bridge.builder.sources.json_text import json_texts
from jvm_bridge.builder.sources.lists import with_values
from jvm_bridge.builder.sources.source import Batch, Source
from jvm_bridge.time_conversion import MILLI_NS, steps_of

__all__ = [
    "FileColumns",
    "as_meant",
    "by_row",
    "check_names",
    "first_twice",
    "is_time",
    "list_type",
    "meant_type",
    "planned",
    "reading",
    "time_numbers",
    "time_steps",
    "time_type",
]


_OLDEST_PYARROW = 25
"""Before it, times after 2262 in ORC files and negative INT96 times in Parquet files become others."""


@dataclass(frozen=True)
class FileColumns:
    """The columns of a file.

    Attributes:
        types: The types of their values, by name.
        batches: Reads columns from the start of the file, batch by batch.
        converted: Those whose numbers are in the unit of the table's time column.
    """

    types: Mapping[str, pa.DataType]
    batches: Callable[[Sequence[str]], Iterator[Batch]]
    converted: frozenset[str] = frozenset()


def planned(columns: FileColumns, table: TableRequirements) -> Source:
    """Plan how a table's columns are filled.

    Raises:
        Unsuitable: A column must be read row by row; also while batches are read.
    """
    types = {name: columns.types[name] for name in table.columns if name in columns.types}
    for name in sorted(table.arguments.intersection(types)):
        if pa.types.is_nested(types[name]) or types[name] in (DECIMAL, pa.uint64()):
            raise Unsuitable(f"column {name} has {types[name]} values and is used by a transform or filter")
    lists = {
        field.name
        for field in table.fields
        if field.single_value
        and field.data_type in ("STRING", "JSON")
        and pa.types.is_large_list(types.get(field.name, pa.null()))
    }
    types |= dict.fromkeys(lists, NESTED)
    plans = tuple(plan_column(field, types.get(field.name)) for field in table.fields)
    return Source(plans, _batches(columns, list(types), lists, table))


def _batches(
    columns: FileColumns, names: Sequence[str], lists: Collection[str], table: TableRequirements
) -> Iterator[Batch]:
    for batch in columns.batches(names):
        values = dict(batch.columns)
        for name in lists:
            try:
                values[name] = json_texts(values[name])
            except pa.ArrowInvalid as error:  # such as a text that is not UTF-8; reading by row names it
                raise Unsuitable(f"column {name}: {str(error).splitlines()[0][:200]}") from error
        yield Batch.of(values, batch.rows, table, columns.converted)


def meant_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values that :func:`as_meant` returns for a type of Arrow."""
    if isinstance(kind, pa.BaseExtensionType):
        return meant_type(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return meant_type(kind.value_type)
    if _is_list(kind):
        return list_type(meant_type(kind.value_type))
    if pa.types.is_nested(kind):
        return NESTED
    if pa.types.is_decimal(kind):
        return DECIMAL
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.large_binary()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return pa.int32() if kind.bit_width < 32 or kind == pa.int32() else pa.int64()
    if pa.types.is_time32(kind):
        return pa.int32()
    return pa.int64() if pa.types.is_time64(kind) or pa.types.is_duration(kind) else kind


def list_type(values: pa.DataType) -> pa.DataType:
    """Return the type of lists of values of a type of :func:`meant_type`."""
    return NESTED if pa.types.is_nested(values) or values == DECIMAL else pa.large_list(values)


def as_meant(column: Any, kind: pa.DataType) -> Any:
    """Convert an Arrow array to a type of :func:`meant_type`."""
    if isinstance(column.type, pa.BaseExtensionType):
        return as_meant(column.storage, kind)
    if pa.types.is_dictionary(column.type):
        return as_meant(column.dictionary_decode(), kind)
    if kind in (NESTED, DECIMAL):
        return json_texts(column)
    if pa.types.is_large_list(kind):
        if pa.types.is_fixed_size_list(column.type):
            column = column.cast(pa.large_list(column.type.value_type))
        return with_values(column, lambda values: as_meant(values, kind.value_type))
    return column.cast(kind)


def time_numbers(column: Any) -> Any:
    """Return the stored numbers of timestamps, dates or times of day, or of lists of these."""
    if _is_list(column.type):
        return with_values(column, time_numbers)
    if not pa.types.is_temporal(column.type):
        return column
    return column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())


def is_time(kind: pa.DataType) -> bool:
    """Return whether a type has points in time, or lists of these."""
    if _is_list(kind):
        return is_time(kind.value_type)
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def time_type(kind: pa.DataType, step_ns: int | None) -> pa.DataType:
    """Return the type of the values that :func:`time_steps` returns for a type of Arrow."""
    if _is_list(kind):
        return list_type(time_type(kind.value_type, step_ns))
    if pa.types.is_timestamp(kind) or (is_time(kind) and step_ns is not None):
        return pa.int64()
    return pa.int32() if pa.types.is_date32(kind) else meant_type(kind)


def time_steps(column: Any, step_ns: int | None) -> Any:
    """Return points in time as numbers of steps since 1970; other columns stay as they are.

    Args:
        column: An Arrow array.
        step_ns: The nanoseconds of a step; None for the milliseconds of a timestamp and the days of a date.

    Raises:
        pyarrow.ArrowInvalid: A result does not fit.
    """
    if _is_list(column.type):
        return (
            with_values(column, lambda values: time_steps(values, step_ns))
            if is_time(column.type)
            else column
        )
    if pa.types.is_timestamp(column.type) or (is_time(column.type) and step_ns is not None):
        return steps_of(column, step_ns or MILLI_NS)
    return time_numbers(column)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


@contextmanager
def reading(file: SourceFile) -> Iterator[None]:
    """Convert errors of Arrow while a file is opened or read.

    Raises:
        UnreadableFileError: Arrow cannot read it.
        SetupError: This version of pyarrow changes values of such files without an error.
    """
    # An environment that pip has not made may have any version.
    if int(pa.__version__.partition(".")[0]) < _OLDEST_PYARROW:
        raise SetupError(
            f"pyarrow {pa.__version__} changes some times of {file.file_format} files without an error",
            expected=f"pyarrow {_OLDEST_PYARROW} or later",
            remedy="pip install --upgrade pyarrow",
        )
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, RecursionError) as error:
        # Arrow raises OSError without a number for a corrupt file; a full disk has a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UnreadableFileError(
            f"{file.name} cannot be read as {file.file_format}: {(str(error).splitlines() or [''])[0][:200]}",
            expected=f"a complete file in format {file.file_format}, with values that Arrow supports",
            where=file.where,
        ) from error


def check_names(file: SourceFile, names: Sequence[str]) -> None:
    """Reject a file that has two columns with one name.

    Raises:
        UnreadableFileError: It has.
    """
    twice = first_twice(names)
    if twice is not None:
        raise UnreadableFileError(
            f"{file.name} cannot be read as {file.file_format}: it has the column {twice!r} twice",
            expected="each column once",
            where=file.where,
        )


def first_twice(names: Sequence[str]) -> str | None:
    """Return the first name that is there twice."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def by_row(file: SourceFile, name: str, column: Any, begin: int, convert: Callable[[Any], Any]) -> Any:
    """Convert a column of a batch, or name the first row that cannot be converted.

    Args:
        file: The file.
        name: Name of the column.
        column: An Arrow array.
        begin: Number of the batch's first row in the file, from 0.
        convert: Raises ``pyarrow.ArrowInvalid`` for a value that does not fit.

    Raises:
        DataError: There is such a row.
    """
    try:
        return convert(column)
    except pa.ArrowInvalid:
        for row in range(len(column)):
            try:
                convert(column.slice(row, 1))
            except pa.ArrowInvalid as error:
                reason = str(error).splitlines()[0][:200]
                raise DataError(
                    f"{file.name}, row {begin + row + 1}, field {name}: {reason}",
                    where=f"{file.where}, row {begin + row + 1}, field {name}",
                ) from error
        raise
