"""Reads the first rows of a file: its columns with their values, and how the file was read."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, cast

from controller_client.common.extras import missing_module
from controller_client.common.text import visible
from controller_client.errors import DataError
from jvm_bridge.input_rules import FileFormat

__all__ = ["ColumnSample", "FileSample", "format_of", "read_sample"]

_TEXT_BYTES = 16 << 20
_DELIMITERS = ",;\t|"
_HEADER_ROWS = 50
_ENDINGS: Mapping[str, FileFormat] = {
    **dict.fromkeys(("csv", "tsv", "txt"), FileFormat.CSV),
    **dict.fromkeys(("json", "jsonl", "ndjson"), FileFormat.JSON),
    "avro": FileFormat.AVRO,
    "parquet": FileFormat.PARQUET,
    "orc": FileFormat.ORC,
}


@dataclass
class ColumnSample:
    """A column's values in the first rows of all files.

    Attributes:
        name: Its name.
        values: The values that are not null; text in CSV.
        nulls: Number of null or empty values, and of rows whose file or object lacks the column.
        declared: The type that Parquet, ORC or Avro files give it, in their words; None without one.
    """

    name: str
    values: list[Any] = field(default_factory=list)
    nulls: int = 0
    declared: str | None = None


@dataclass(frozen=True)
class FileSample:
    """The first rows of a file.

    Attributes:
        path: The file.
        file_format: Its format.
        columns: Its columns, in its order.
        rows: Number of rows that were read.
        is_whole: Whether the file has no more.
        reader: Properties that the record reader needs to read it: ``delimiter``.
        encoding: The encoding of a text file.
    """

    path: Path
    file_format: FileFormat
    columns: Mapping[str, ColumnSample]
    rows: int
    is_whole: bool
    reader: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "UTF-8"


def format_of(path: Path) -> FileFormat:
    """Return the format that a file's name stands for, without ``.gz``.

    Raises:
        DataError: It stands for none.
    """
    ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    try:
        return _ENDINGS[ending]
    except KeyError:
        raise DataError(
            f"the format of {visible(path.name)} is unknown",
            where=visible(str(path)),
            expected=f"a name that ends with {', '.join(f'.{each}' for each in _ENDINGS)}; also with .gz",
            remedy="pass --format",
        ) from None


def read_sample(path: Path, file_format: FileFormat, max_rows: int) -> FileSample:
    """Read the first rows of a file.

    Raises:
        DataError: It cannot be read in its format, or has no columns.
        SetupError: A module that reads the format is not installed.
    """
    try:
        sample = _READERS[file_format](path, max_rows)
    except ModuleNotFoundError as error:
        raise missing_module(error, f"the sample of {visible(path.name)}", ("jvm", "coordinator")) from None
    except Exception as error:  # each library has its own for bytes of another format
        text = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
        raise DataError(
            f"{visible(path.name)} cannot be read as {file_format.lower()}: {visible(text)[:200]}",
            where=visible(str(path)),
            remedy="pass --format if the file has another format",
        ) from error
    if not sample.columns:
        raise DataError(f"{visible(path.name)} has no columns", where=visible(str(path)))
    return sample


def _csv(path: Path, max_rows: int) -> FileSample:
    text, encoding, is_whole = _text(path)
    delimiter = _delimiter(text)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names = next((row for row in rows if row), [])
    columns = {name: ColumnSample(name) for name in names}
    if len(columns) < len(names) or not all(name.strip() for name in names):
        raise ValueError("a name of its first row is empty, or occurs twice")
    count = 0
    for row in _complete(rows, is_whole):
        if not row:
            continue
        if count == max_rows:
            is_whole = False
            break
        if len(row) != len(names):
            raise ValueError(f"row {count + 1} has {len(row)} values, its header {len(names)} names")
        count += 1
        for column, value in zip(columns.values(), row, strict=True):
            _add(column, value or None)
    reader = {} if delimiter == "," else {"delimiter": delimiter}
    return FileSample(path, FileFormat.CSV, columns, count, is_whole, reader, encoding)


def _delimiter(text: str) -> str:
    """Return the separator that splits most of the first rows as it splits the names, and into most parts."""

    def rank(delimiter: str) -> tuple[bool, int]:
        rows = csv.reader(io.StringIO(text[: 1 << 20], newline=""), delimiter=delimiter)
        widths = [len(row) for row in islice(rows, _HEADER_ROWS) if row]
        names = widths[0] if widths else 0
        return names > 1 and widths.count(names) * 2 > len(widths), names

    return max(_DELIMITERS, key=rank)


def _complete(rows: Iterator[list[str]], is_whole: bool) -> Iterator[list[str]]:
    """Leave out the last row of a text that is cut."""
    if is_whole:
        yield from rows
        return
    last: list[str] | None = None
    try:
        for row in rows:
            if last is not None:
                yield last
            last = row
    except csv.Error:  # a quoted value is cut
        return


def _json(path: Path, max_rows: int) -> FileSample:
    text, encoding, is_whole = _text(path)
    decoder, columns = json.JSONDecoder(parse_float=Decimal), dict[str, ColumnSample]()
    position, count = _next_value(text, 0, "[" if text.lstrip()[:1] == "[" else ""), 0
    while position < len(text) and text[position] != "]":
        if count == max_rows:
            is_whole = False
            break
        try:
            row, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError:
            if not is_whole:
                break
            raise
        if not isinstance(row, dict):
            raise ValueError(f"row {count + 1} is not an object")
        _add_row(columns, row, count)
        count += 1
        position = _next_value(text, position, ",")
    return FileSample(path, FileFormat.JSON, columns, count, is_whole, encoding=encoding)


def _next_value(text: str, position: int, separator: str) -> int:
    """Return where the next value begins: behind white space, and one separator."""
    for skipped in (separator, ""):
        while text[position : position + 1].isspace():
            position += 1
        if skipped and text.startswith(skipped, position):
            position += 1
    return position


def _avro(path: Path, max_rows: int) -> FileSample:
    import fastavro

    from jvm_bridge.builder.sources.source import open_bytes

    columns: dict[str, ColumnSample] = {}
    with closing(open_bytes(path)) as stream:
        reader = fastavro.reader(stream)
        fields: Any = reader.writer_schema
        fields = fields.get("fields", ()) if isinstance(fields, dict) else ()
        for described in fields:
            columns[described["name"]] = ColumnSample(
                described["name"], declared=_avro_type(described["type"])
            )
        count = 0
        for row in cast("Iterable[Mapping[str, Any]]", reader):
            if count == max_rows:
                return FileSample(path, FileFormat.AVRO, columns, count, is_whole=False)
            _add_row(columns, row, count)
            count += 1
    return FileSample(path, FileFormat.AVRO, columns, count, is_whole=True)


def _avro_type(described: Any) -> str:
    if isinstance(described, list):
        return " or ".join(_avro_type(each) for each in described if each != "null") or "null"
    if isinstance(described, dict):
        return str(described.get("logicalType") or described.get("type"))
    return str(described)


def _parquet(path: Path, max_rows: int) -> FileSample:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        batches = file.iter_batches(batch_size=min(max_rows, 10_000))
        return _arrow(path, FileFormat.PARQUET, file.schema_arrow, batches, file.metadata.num_rows, max_rows)


def _orc(path: Path, max_rows: int) -> FileSample:
    import pyarrow.orc as orc

    file = orc.ORCFile(path)
    stripes = (file.read_stripe(number) for number in range(file.nstripes))
    return _arrow(path, FileFormat.ORC, file.schema, stripes, file.nrows, max_rows)


def _arrow(
    path: Path, file_format: FileFormat, schema: Any, batches: Iterable[Any], rows: int, max_rows: int
) -> FileSample:
    columns = {name: ColumnSample(name, declared=str(schema.field(name).type)) for name in schema.names}
    count = 0
    for batch in batches:
        part = batch.slice(0, max_rows - count)
        for name, column in columns.items():
            for value in part.column(name).to_pylist():
                _add(column, value)
        count += part.num_rows
        if count == max_rows:
            break
    return FileSample(path, file_format, columns, count, count == rows)


def _add_row(columns: dict[str, ColumnSample], row: Mapping[str, Any], rows_before: int) -> None:
    for name in row:
        if name not in columns:
            columns[name] = ColumnSample(name, nulls=rows_before)
    for name, column in columns.items():
        _add(column, row.get(name))


def _add(column: ColumnSample, value: Any) -> None:
    if value is None:
        column.nulls += 1
    else:
        column.values.append(value)


def _text(path: Path) -> tuple[str, str, bool]:
    """Return the first text of a file, its encoding, and whether that is all."""
    from jvm_bridge.builder.sources.source import open_bytes
    from jvm_bridge.builder.sources.text_input import BYTE_ORDER_MARKS

    with closing(open_bytes(path)) as stream:
        data = stream.read(_TEXT_BYTES + 1)
    is_whole = len(data) <= _TEXT_BYTES
    data = data[:_TEXT_BYTES]
    marked = (family for mark, family, _ in BYTE_ORDER_MARKS if data.startswith(mark))
    encoding = next(marked, "utf-8")
    try:
        decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)()
        return decoder.decode(data, final=is_whole), encoding.upper(), is_whole
    except UnicodeDecodeError:
        return data.decode("windows-1252"), "windows-1252", is_whole


_READERS: Mapping[FileFormat, Callable[[Path, int], FileSample]] = {
    FileFormat.CSV: _csv,
    FileFormat.JSON: _json,
    FileFormat.AVRO: _avro,
    FileFormat.PARQUET: _parquet,
    FileFormat.ORC: _orc,
}
