"""Writes query results in the formats of ``--output``."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller_client.common.extras import missing_module
from controller_client.common.terminal import json_text
from controller_client.common.text import counted_text, visible
from controller_client.errors import ConfigError, SetupError
from pinotctl.cells import cell_text, json_value
from pinotctl.output import Output, OutputFormat

if TYPE_CHECKING:
    from pinotctl.querying.running import Answer

__all__ = ["ONE_STATEMENT", "check_target", "format_of", "note_of", "write", "written_to"]

ONE_STATEMENT = frozenset({OutputFormat.CSV, OutputFormat.JSONL, OutputFormat.PARQUET})
"""Formats that can contain the rows of one statement only."""

_BY_ENDING = {
    "csv": OutputFormat.CSV,
    "json": OutputFormat.JSON,
    "jsonl": OutputFormat.JSONL,
    "ndjson": OutputFormat.JSONL,
    "parquet": OutputFormat.PARQUET,
}
_ROWS_AT_A_TIME = 1_000


def format_of(target: Path | None, asked: OutputFormat | None) -> OutputFormat:
    """Return the format in which to write rows: the one asked for, else the one of the file's ending."""
    by_ending = OutputFormat.TABLE if target is None else _BY_ENDING.get(target.suffix[1:].lower())
    return asked or by_ending or OutputFormat.TABLE


def check_target(output_format: OutputFormat, statements: int, target: Path | None) -> None:
    """Refuse what cannot be written, before any query is run.

    Raises:
        ConfigError: The format allows only one statement and there are several, or it is binary and would go
            to a terminal.
    """
    if statements > 1 and output_format in ONE_STATEMENT:
        raise ConfigError(
            f"there are {statements} statements, but {output_format} can contain the rows of only one",
            expected="--output table, vertical or json, or one statement",
        )
    if output_format is OutputFormat.PARQUET and target is None and sys.stdout.isatty():
        raise ConfigError("Parquet is binary and cannot be written to a terminal", remedy="pass --to FILE")


@contextmanager
def written_to(target: Path | None) -> Iterator[None]:
    """Redirect stdout to a file for the block.

    Raises:
        SetupError: The file cannot be written.
    """
    if target is None:
        yield
        return
    try:
        with target.open("w", encoding="utf-8", newline="") as file, redirect_stdout(file):
            yield
    except OSError as error:
        raise SetupError(f"the file cannot be written: {error.strerror}", where=str(target)) from error


def write(out: Output, answers: Sequence[Answer], *, versions: bool = False) -> None:
    """Write the answers to stdout in the run's format.

    Args:
        out: The run's output.
        answers: Of one statement, or of several if the format allows it.
        versions: Whether JSON has the key for versions of upsert tables even if there are none.
    """
    if out.is_json:
        documents = [_document(answer, versions=versions) for answer in answers]
        out.json(documents[0] if len(documents) == 1 else documents)
        return
    for number, answer in enumerate(answers):
        if number:
            out.line("")
        _write_one(out, answer)


def note_of(answer: Answer) -> list[str]:
    """The notes about an answer: statistics, and versions of upsert tables."""
    stats = answer.result.stats
    rows = len(answer.result.cells)
    return [
        (
            f"{counted_text(rows, 'row')} in {stats.time_ms} ms; {stats.docs_scanned} of {stats.total_docs} "
            f"docs scanned; {stats.servers_responded} of {stats.servers_queried} servers answered"
        ),
        *(f"{table} at version {version}" for table, version in answer.versions.items()),
    ]


def _write_one(out: Output, answer: Answer) -> None:
    result = answer.result
    columns = [column.name for column in result.columns]
    if out.format is OutputFormat.CSV:
        for text in _csv(columns, result.rows):
            out.document(text)
    elif out.format is OutputFormat.JSONL:
        names = result.names()
        out.lines(json_text(json_value(dict(zip(names, row, strict=True)))) for row in result.rows)
    elif out.format is OutputFormat.PARQUET:
        _write_parquet(result.to_arrow())
    elif out.format is OutputFormat.VERTICAL:
        out.lines(vertical(columns, result.rows))
    elif columns:
        out.table(columns, result.rows)


def _document(answer: Answer, *, versions: bool) -> Mapping[str, Any]:
    result = answer.result
    document = {
        "columns": [asdict(column) for column in result.columns],
        "rows": result.rows,
        "stats": asdict(result.stats),
    }
    if versions or answer.versions:
        document["versions"] = dict(answer.versions)
    return document


def _csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield the text of a CSV file in parts, so that a large result is not in memory once more."""
    for begin in range(0, max(len(rows), 1), _ROWS_AT_A_TIME):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if begin == 0:
            writer.writerow(columns)
        part = rows[begin : begin + _ROWS_AT_A_TIME]
        writer.writerows([cell_text(value) for value in row] for row in part)
        yield text.getvalue()


def vertical(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Return the lines of the vertical format: one line for each value."""
    names = [visible(column) for column in columns]
    width = max(map(len, names), default=0)
    for number, row in enumerate(rows, start=1):
        yield f"-[ row {number} ]".ljust(width + 3, "-")
        for name, value in zip(names, row, strict=True):
            yield f"{name.ljust(width)} | {visible(cell_text(value))}".rstrip()


def _write_parquet(table: Any) -> None:
    try:
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise missing_module(error, "--output parquet", ["arrow"]) from error
    pq.write_table(table, sys.stdout.buffer)
