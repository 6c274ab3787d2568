"""Results of queries in the forms of ``--output``."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller_client.cli.output import Output, OutputFormat, cell_text
from controller_client.common.extras import missing_module
from controller_client.common.visible_text import visible
from controller_client.errors import ConfigError, SetupError

if TYPE_CHECKING:
    from controller_client.cli.querying.asking import Answer

__all__ = ["ONE_STATEMENT", "check_target", "note_of", "write", "written_to"]

ONE_STATEMENT = frozenset({OutputFormat.CSV, OutputFormat.JSONL, OutputFormat.PARQUET})
"""Forms that hold the rows of one statement."""


def check_target(output_format: OutputFormat, statements: int, target: Path | None) -> None:
    """Refuse what cannot be written, before anything is asked.

    Raises:
        ConfigError: Several statements have no place in the form, or it is no text and meant for a terminal.
    """
    if statements > 1 and output_format in ONE_STATEMENT:
        raise ConfigError(
            f"there are {statements} statements, and {output_format} holds the rows of one",
            expected="--output table, vertical or json, or one statement",
        )
    if output_format is OutputFormat.PARQUET and target is None and sys.stdout.isatty():
        raise ConfigError("Parquet is no text for a terminal", remedy="pass --to FILE")


@contextmanager
def written_to(target: Path | None) -> Iterator[None]:
    """Within the block, have what is written to stdout in a file.

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
    """Write the answers to stdout in the run's form.

    Args:
        out: The run's output.
        answers: Of one statement, or of several where the form can hold them.
        versions: Whether JSON names versions of upsert tables where there are none, too.
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
    """What is said of an answer beside its rows."""
    stats = answer.result.stats
    rows = len(answer.result.cells)
    return [
        (
            f"{rows} rows in {stats.time_ms} ms; {stats.docs_scanned} of {stats.total_docs} docs "
            f"scanned; {stats.servers_responded} of {stats.servers_queried} servers answered"
        ),
        *(f"{table} at version {version}" for table, version in answer.versions.items()),
    ]


def _write_one(out: Output, answer: Answer) -> None:
    result = answer.result
    columns = [column.name for column in result.columns]
    if out.format is OutputFormat.CSV:
        out.document(_csv(columns, result.rows))
    elif out.format is OutputFormat.JSONL:
        for row in result.dicts():
            out.json_line(row)
    elif out.format is OutputFormat.PARQUET:
        _write_parquet(result.to_arrow())
    elif out.format is OutputFormat.VERTICAL:
        for line in vertical(columns, result.rows):
            out.line(line)
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


def _csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([cell_text(value) for value in row] for row in rows)
    return text.getvalue()


def vertical(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The lines of rows that stand one below the other, a line a value."""
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
