"""A schema and a table config, with a task, for files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from controller_client.common.names import TableName, TableType
from controller_client.common.text import counted_text, visible
from controller_client.errors import ConfigError, DataError
from jvm_bridge.folder_columns import folder_columns
from jvm_bridge.input_rules import FileFormat
from minion_tasks.inference.guesses import ColumnGuess, guess_column
from minion_tasks.inference.samples import ColumnSample, FileSample, format_of, read_sample

__all__ = ["Proposal", "merged_columns", "proposal_of", "propose", "table_name_of", "table_named"]

_LIKELY_TIMES = re.compile(
    r"(?i)(?:event|record|created|started)?[_ ]?(?:ts|time|timestamp|date|datetime|at)?"
)
_FEW_VALUES = 1_000
_MIN_ROWS_FOR_HINTS = 100


@dataclass(frozen=True)
class Proposal:
    """What a table of files should be.

    Attributes:
        table_name: Its name.
        fields: The schema's lists of fields, by their keys.
        table: The table's config with its task.
        columns: The columns, in the files' order.
        notes: What else was decided, and why.
    """

    table_name: TableName
    fields: Mapping[str, list[dict[str, Any]]]
    table: Mapping[str, Any]
    columns: Sequence[ColumnGuess]
    notes: Sequence[str]

    @property
    def schema(self) -> dict[str, Any]:
        """The schema, in Pinot's own form."""
        return {"schemaName": self.table_name.raw, **self.fields}


def propose(
    table_name: TableName,
    paths: Sequence[Path],
    *,
    format_name: str | None = None,
    time_column: str | None = None,
    max_rows: int = 10_000,
) -> Proposal:
    """Guess what a table of files should be from the first rows of each.

    Args:
        table_name: The table's name.
        paths: Files of one format.
        format_name: Their format, as in the task's ``inputFormat``; None: that of their names.
        time_column: The time column; None: guess it.
        max_rows: Rows to read of each file.

    Raises:
        ConfigError: The files have several formats, or the time column is none of theirs.
        DataError: A file cannot be read, or has no columns.
        SetupError: A module that reads the format is not installed.
    """
    formats = {FileFormat.parse(format_name) if format_name else format_of(path) for path in paths}
    if len(formats) != 1:
        raise ConfigError(
            f"the files have several formats: {', '.join(sorted(each.lower() for each in formats))}",
            expected="files of one format",
            remedy="make a table of each, or pass --format",
        )
    (one_format,) = formats
    samples = [read_sample(path, one_format, max_rows) for path in paths]
    _check_alike(samples)
    root = _root(paths)
    columns = [
        *(guess_column(column, is_text=one_format is FileFormat.CSV) for column in merged_columns(samples)),
        *_guesses_of_folders(samples, root),
    ]
    return proposal_of(table_name, columns, _task(samples, root), time_column, _notes(samples))


def proposal_of(
    table_name: TableName,
    columns: Sequence[ColumnGuess],
    task: Mapping[str, str],
    time_column: str | None,
    notes: Sequence[str],
) -> Proposal:
    """Put the guesses about a table's columns together.

    Args:
        table_name: The table's name.
        columns: The columns, in the order of their source.
        task: The table's task.
        time_column: The time column; None: guess it.
        notes: What was decided about the source, and why.

    Raises:
        ConfigError: The time column is none of the columns.
    """
    times = _time_columns(columns)
    if time_column is not None and time_column not in [guess.name for guess in times]:
        raise ConfigError(
            f"the column {visible(time_column)} cannot be the time column",
            expected="a column with a time in every row: "
            + (", ".join(guess.name for guess in times) or "none has one"),
        )
    chosen = time_column or (times[0].name if times else None)
    notes = list(notes)
    if any(guess.nulls for guess in columns):
        notes.append("some columns have nulls, so nullHandlingEnabled is set")
    notes.append(_time_note(chosen, times, has_choice=time_column is None))
    table = _table(table_name, columns, chosen, task)
    return Proposal(table_name, _fields(columns), table, columns, notes)


def table_name_of(path: Path) -> TableName:
    """Return a name for the table of a file: the start of its own."""
    return table_named(path.name.partition(".")[0])


def table_named(text: str) -> TableName:
    """Return the name of a table after a text, in letters, digits and underscores."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    return TableName(f"{name or 'table'}_{TableType.OFFLINE}")


def _check_alike(samples: Sequence[FileSample]) -> None:
    """Raise ConfigError unless one task can read all files."""
    first = samples[0]
    for sample in samples:
        for what, one, other in (
            ("the delimiter", first.reader.get("delimiter", ","), sample.reader.get("delimiter", ",")),
            ("the encoding", first.encoding, sample.encoding),
        ):
            if one != other:
                raise ConfigError(
                    f"{what} of {visible(sample.path.name)} is {other!r}, not {one!r}",
                    where=f"{visible(str(sample.path))}, {visible(str(first.path))}",
                    expected="files that are read alike",
                    remedy="make a table of each kind, or rewrite the files",
                )


def merged_columns(samples: Iterable[FileSample]) -> Sequence[ColumnSample]:
    """Return the columns of all files; rows of a file without a column are nulls in it."""
    merged: dict[str, ColumnSample] = {}
    rows = 0
    for sample in samples:
        for name, column in sample.columns.items():
            whole = merged.setdefault(name, ColumnSample(name, nulls=rows, declared=column.declared))
            whole.values += column.values
            whole.nulls += column.nulls
            if whole.declared != column.declared:
                whole.declared = None
        rows += sample.rows
        for name, column in merged.items():
            if name not in sample.columns:
                column.nulls += sample.rows
    if not rows:
        raise DataError("the files have no rows", expected="at least one row to guess types from")
    return list(merged.values())


def _root(paths: Sequence[Path]) -> Path:
    """Return the folder around all files, and around folders whose names have columns (``dt=2024-01-01``)."""
    folder = Path(os.path.commonpath([path.absolute().parent for path in paths]))
    parts = folder.parts
    first = next((number for number, name in enumerate(parts) if folder_columns(f"{name}/")), len(parts))
    return Path(*parts[:first])


def _guesses_of_folders(samples: Sequence[FileSample], root: Path) -> Sequence[ColumnGuess]:
    """Return what columns should be that are in names of folders, and in no file."""
    in_files = {name for sample in samples for name in sample.columns}
    named = []
    for sample in samples:
        texts = folder_columns(sample.path.absolute().relative_to(root).as_posix())
        columns = {
            name: ColumnSample(name, [text] * sample.rows)
            if text is not None
            else ColumnSample(name, nulls=sample.rows)
            for name, text in texts.items()
            if name not in in_files
        }
        named.append(replace(sample, columns=columns))
    guesses = [guess_column(column, is_text=True) for column in merged_columns(named)]
    return [replace(guess, reason=f"{guess.reason}, in names of folders") for guess in guesses]


def _time_columns(columns: Sequence[ColumnGuess]) -> Sequence[ColumnGuess]:
    """Return the columns that could be the time column, the likeliest first."""
    times = [guess for guess in columns if guess.time is not None and guess.time.is_usual and not guess.nulls]
    return sorted(times, key=lambda guess: (_LIKELY_TIMES.fullmatch(guess.name) is None, -guess.distinct))


def _time_note(chosen: str | None, times: Sequence[ColumnGuess], *, has_choice: bool) -> str:
    if chosen is None:
        return "no column has a time in every row, so the table has no time column and no retention"
    others = [guess.name for guess in times if guess.name != chosen]
    why = f", and not {' or '.join(others)}: --time-column chooses another" if others and has_choice else ""
    return f"the time column is {chosen}{why}"


def _fields(columns: Sequence[ColumnGuess]) -> dict[str, list[dict[str, Any]]]:
    fields: dict[str, list[dict[str, Any]]] = {
        "dimensionFieldSpecs": [],
        "metricFieldSpecs": [],
        "dateTimeFieldSpecs": [],
    }
    for guess in columns:
        spec: dict[str, Any] = {"name": guess.name, "dataType": guess.data_type}
        if guess.time is not None:
            spec |= {"format": guess.time.text, "granularity": guess.time.granularity}
            fields["dateTimeFieldSpecs"].append(spec)
        elif guess.is_metric:
            fields["metricFieldSpecs"].append(spec)
        else:
            if guess.has_lists:
                spec["singleValueField"] = False
            fields["dimensionFieldSpecs"].append(spec)
    return {key: specs for key, specs in fields.items() if specs}


def _table(
    name: TableName,
    columns: Sequence[ColumnGuess],
    time_column: str | None,
    task: Mapping[str, str],
) -> dict[str, Any]:
    indexing: dict[str, Any] = {}
    filtered = [guess.name for guess in columns if _is_filtered(guess, time_column)]
    if filtered:
        indexing["invertedIndexColumns"] = filtered
    if any(guess.nulls for guess in columns):
        indexing["nullHandlingEnabled"] = True
    # The schema has the table's name; Pinot 1.x no longer has a field for another one.
    segments = {"replication": "1"}
    if time_column is not None:
        segments["timeColumnName"] = time_column
    return {
        "tableName": name.raw,
        "tableType": str(name.type),
        "segmentsConfig": segments,
        "tenants": {},
        "tableIndexConfig": indexing,
        "task": {"taskTypeConfigsMap": {"FileIngestionTask": dict(task)}},
        "metadata": {},
    }


def _is_filtered(guess: ColumnGuess, time_column: str | None) -> bool:
    is_dimension = guess.data_type in ("STRING", "BOOLEAN", "INT", "LONG") and not guess.is_metric
    few = 1 < guess.distinct <= _FEW_VALUES and guess.distinct * 10 <= guess.rows
    return is_dimension and few and guess.rows >= _MIN_ROWS_FOR_HINTS and guess.name != time_column


def _task(samples: Sequence[FileSample], folder: Path) -> dict[str, str]:
    paths = [sample.path.absolute() for sample in samples]
    task = {
        "inputDirURI": f"file://{folder}/",
        "inputFormat": samples[0].file_format.lower(),
        "includeFileNamePattern": _pattern(folder, paths),
        "consistentPushEnabled": "true",
    }
    if samples[0].encoding != "UTF-8":
        task["inputEncoding"] = samples[0].encoding
    return task | {f"recordReader.prop.{key}": value for key, value in samples[0].reader.items()}


def _pattern(folder: Path, paths: Sequence[Path]) -> str:
    """Return a pattern that takes these files alone; and later ones next to them, if they share an ending."""
    endings = {path.name.partition(".")[2] for path in paths}
    if len(endings) == 1 and (pattern := _pattern_of_ending(folder, paths, *endings)):
        return pattern
    names = sorted(_literal(str(path.relative_to(folder))) for path in paths)
    return f"glob:**/{{{','.join(names)}}}" if len(names) > 1 else f"glob:**/{names[0]}"


def _pattern_of_ending(folder: Path, paths: Sequence[Path], ending: str) -> str | None:
    """Return a pattern for an ending, if it takes no other files: in one folder, or in folders of columns."""
    depths = {len(path.relative_to(folder).parts) for path in paths}
    if len(depths) > 1 or (max(depths) > 1 and not folder_columns(str(paths[0].relative_to(folder)))):
        return None
    names = "*/" * (max(depths) - 1)
    others = (path for path in folder.glob(f"{names}*.{glob.escape(ending)}") if path not in paths)
    is_another = any(not path.name.startswith((".", "_")) and path.is_file() for path in others)
    return None if is_another else f"glob:{_literal(str(folder))}/{names}*.{_literal(ending)}"


def _literal(text: str) -> str:
    return re.sub(r"([*?\[\]{},\\])", r"\\\1", text)


def _notes(samples: Sequence[FileSample]) -> Sequence[str]:
    rows = sum(sample.rows for sample in samples)
    whole = all(sample.is_whole for sample in samples)
    seen = "all" if whole else "the first"
    notes = [f"guessed from {seen} {counted_text(rows, 'row')} of {counted_text(len(samples), 'file')}"]
    if samples[0].encoding != "UTF-8":
        notes.append(f"the files are not UTF-8, so they are read as {samples[0].encoding}: check it")
    return notes
