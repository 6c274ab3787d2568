"""Reads CSV with Arrow if commons-csv, which Pinot uses, would read the same.

Both agree on well-formed files. They differ on malformed ones (text after a closing quote, rows with more or
fewer values), so a guard checks the raw bytes before Arrow reads them, and rejects malformed input.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from controller_client.common.text import visible
from controller_client.errors import DataError
from jvm_bridge.builder.model import HEADER_PROPERTY, SourceFile
from jvm_bridge.builder.planning import CsvPlan, TableRequirements, Unsuitable, plan_column, plan_csv
from jvm_bridge.builder.sources.csv_header import read_header
from jvm_bridge.builder.sources.source import CORRUPT_GZIP, Batch, Source, open_bytes

__all__ = ["QuoteGuard", "check_widths", "open_csv"]

_BLOCK_BYTES = 4 << 20
_SHOWN_CHARACTERS = 100
_UNREADABLE: tuple[type[Exception], ...] = (pa.ArrowException, OSError, *CORRUPT_GZIP)
_QUOTE, _LF, _CR = b'"\n\r'


class QuoteGuard(io.RawIOBase):
    """Passes bytes through and rejects quotes that are not at the edges of a field.

    An opening quote must follow a delimiter, a line end or (doubled) a quote; a closing quote must precede
    one of these.

    Args:
        stream: The stream to read; closed with this object.
        delimiter: The separator of fields, one byte.
    """

    def __init__(self, stream: IO[bytes], delimiter: str) -> None:
        super().__init__()
        self._stream = stream
        self._is_edge = np.zeros(256, dtype=np.bool_)
        self._is_edge[[ord(delimiter), _LF, _CR, _QUOTE]] = True
        self._quotes = 0
        self._last = _LF  # as if a line had just ended

    def readable(self) -> bool:
        """Return True: the stream can only be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes.

        Raises:
            Unsuitable: The input is malformed.
        """
        data = self._stream.read(size)
        if data:
            self._check(np.frombuffer(data, dtype=np.uint8))
        elif self._quotes % 2:
            raise Unsuitable("a quoted field is not closed")
        return data

    def _check(self, block: Any) -> None:
        # One byte of context on the left; the byte after the last one is checked with the next block.
        extended = np.concatenate([np.array([self._last], dtype=np.uint8), block])
        if self._last == _QUOTE and self._quotes % 2 == 0 and not self._is_edge[block[0]]:
            raise Unsuitable("text after a closing quote")
        quotes = np.flatnonzero(block == _QUOTE)
        first_closes = self._quotes % 2
        opening, closing_ = quotes[first_closes::2], quotes[1 - first_closes :: 2]
        if not self._is_edge[extended[opening]].all():
            raise Unsuitable("a quote inside an unquoted field")
        inner = closing_[closing_ < len(block) - 1]
        if not self._is_edge[block[inner + 1]].all():
            raise Unsuitable("text after a closing quote")
        self._quotes += len(quotes)
        self._last = int(block[-1])

    def close(self) -> None:
        """Close the underlying stream."""
        self._stream.close()
        super().close()


def open_csv(path: Path, table: TableRequirements, plan: CsvPlan) -> Source:
    """Plan a CSV file; all values are read as text and converted later.

    Raises:
        Unsuitable: Arrow is not certain to read the same as commons-csv; also while batches are read.
    """
    names = plan.header if plan.header is not None else read_header(path, plan.delimiter).names
    if plan.no_edge_spaces and any(name != name.strip() for name in names):
        raise Unsuitable("a column name has leading or trailing white space")
    present = [field for field in table.fields if field.name in names]
    plans = tuple(plan_column(field, pa.string() if field.name in names else None) for field in table.fields)
    multi_value = frozenset(field.name for field in present if not field.single_value)
    arguments = sorted(table.arguments.intersection(names))
    return Source(plans, _batches(path, plan, [field.name for field in present], multi_value, arguments))


def _batches(
    path: Path, plan: CsvPlan, fields: list[str], multi_value: frozenset[str], arguments: list[str]
) -> Iterator[Batch]:
    guard = QuoteGuard(open_bytes(path), plan.delimiter)
    names = list(dict.fromkeys([*fields, *arguments]))
    try:
        with guard, _reader(guard, plan, names) as reader:
            for batch in reader:
                columns = {name: batch.column(name) for name in names}
                if plan.no_edge_spaces:
                    for name, column in columns.items():
                        _refuse_edge_spaces(name, column)
                raw = {name: columns[name] for name in arguments}
                columns = {name: columns[name] for name in fields}
                if plan.multi_value_delimiter is not None:
                    for name, column in raw.items():
                        _split(name, column, plan.multi_value_delimiter, lists=False)
                    columns = {
                        name: _split(name, column, plan.multi_value_delimiter, lists=name in multi_value)
                        for name, column in columns.items()
                    }
                yield Batch(columns, batch.num_rows, raw)
    except _UNREADABLE as error:
        raise Unsuitable(f"Arrow cannot read it: {str(error).splitlines()[0][:200]}") from error


def check_widths(file: SourceFile) -> None:
    """Reject a row with more values than the header has names, as Pinot's reader drops the extra values.

    Usually an unquoted value contains a delimiter, so that the values after it are in the wrong columns.
    Extra values that are empty do no harm. Files that only Pinot's reader can parse are not checked.

    Raises:
        DataError: There is such a row.
    """
    wide: list[Any] = []

    def on_odd_row(row: Any) -> str:
        if row.actual_columns > row.expected_columns and not wide:
            values = next(csv.reader([row.text], delimiter=plan.delimiter), [])
            if any(values[row.expected_columns :]):
                wide.append(row)
        return "skip"

    try:
        plan = plan_csv(file.reader_config)
        names = plan.header if plan.header is not None else read_header(file.path, plan.delimiter).names
        guard = QuoteGuard(open_bytes(file.path), plan.delimiter)
        with guard, _reader(guard, plan, names[:1], on_odd_row) as reader:
            while not wide and reader.read_next_batch() is not None:
                pass
    except (Unsuitable, StopIteration):
        pass
    except _UNREADABLE:
        pass
    if wide:
        (row,) = wide
        number = row.number - (plan.header is None)
        header = "the header" if plan.header is None else HEADER_PROPERTY
        raise DataError(
            f"{file.name}, row {number}: {row.actual_columns} values, but {header} has"
            f" {row.expected_columns} names: {visible(row.text)[:_SHOWN_CHARACTERS]!r}",
            expected="no more values than names",
            where=f"{file.where}, row {number}",
            remedy=f"put values that contain {plan.delimiter!r} in quotes",
        )


def _reader(
    guard: QuoteGuard, plan: CsvPlan, names: Sequence[str], on_odd_row: Callable[[Any], str] | None = None
) -> Any:
    return pacsv.open_csv(
        pa.PythonFile(guard, mode="r"),
        read_options=pacsv.ReadOptions(
            use_threads=False,
            block_size=_BLOCK_BYTES,
            column_names=None if plan.header is None else list(plan.header),
        ),
        parse_options=pacsv.ParseOptions(
            delimiter=plan.delimiter, newlines_in_values=True, invalid_row_handler=on_odd_row
        ),
        convert_options=pacsv.ConvertOptions(
            include_columns=list(names),
            column_types={name: pa.string() for name in names},
            # For Pinot an empty value is null, quoted or not.
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _refuse_edge_spaces(name: str, column: Any) -> None:
    if not pc.all(pc.equal(pc.utf8_trim_whitespace(column), column)).as_py():
        raise Unsuitable(
            f"column {name} has leading or trailing white space, which Pinot drops with any reader config"
        )


def _split(name: str, column: Any, delimiter: str, *, lists: bool) -> Any:
    """Split values as Pinot does: a value without two parts is kept unchanged, including delimiters."""
    escaped = f"[{delimiter}]" if delimiter != "^" else r"\^"
    if not lists:
        if pc.any(pc.match_substring(column, delimiter)).as_py() and _has_parts(column, delimiter, escaped):
            raise Unsuitable(f"column {name} is used as single-value, but has values with {delimiter!r}")
        return column
    parts = pc.split_pattern(column, delimiter)
    if pc.any(pc.equal(pc.list_flatten(parts), "")).as_py():
        raise Unsuitable(f"column {name} has empty parts between {delimiter!r}")
    return parts


def _has_parts(column: Any, delimiter: str, escaped: str) -> bool:
    other = f"[^{delimiter}]" if delimiter != "^" else r"[^\^]"
    return bool(pc.any(pc.match_substring_regex(column, f"{other}{escaped}+{other}")).as_py())
