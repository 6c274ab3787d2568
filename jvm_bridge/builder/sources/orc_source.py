"""Reads ORC with Arrow: milliseconds of a timestamp, days of a date, and both in a time column's own unit.

Pinot's own ORC reader is in a plugin that is not in the pinned jars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs, orc

from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.sources.file_columns import (
    FileColumns,
    as_meant,
    by_row,
    check_names,
    is_time,
    meant_type,
    reading,
    time_steps,
    time_type,
)
from jvm_bridge.builder.sources.source import Batch

__all__ = ["orc_columns", "orc_times"]

_BATCH_ROWS = 16_384
"""Rows per batch; a stripe may have millions."""


def orc_times(file: SourceFile) -> Mapping[str, int | None]:
    """Return the file's columns, each with its unit in nanoseconds if it is a point in time.

    Raises:
        UnreadableFileError: It is not a complete ORC file, or a name appears twice.
        SetupError: This version of pyarrow changes values of such files without an error.
    """
    with reading(file):
        schema = orc.ORCFile(file.path).schema
        check_names(file, schema.names)
        return {field.name: 1 if is_time(field.type) else None for field in schema}


def orc_columns(file: SourceFile) -> FileColumns:
    """Return the columns of an ORC file.

    Raises:
        UnreadableFileError: It is not a complete ORC file, or (while batches are read) has a value that Arrow
            cannot store: a timestamp outside of 1677 to 2262, a union.
    """
    with reading(file):
        steps = {name: time.to_ns for name, time in file.times.items()}
        schema = orc.ORCFile(file.path).schema
        types = {field.name: time_type(field.type, steps.get(field.name)) for field in schema}
        if file.keeps_times:
            kept = [field for field in schema if is_time(field.type) and field.name not in steps]
            types |= {field.name: meant_type(field.type) for field in kept}
    return FileColumns(types, partial(_batches, file, types, steps), frozenset(steps))


def _batches(
    file: SourceFile, types: Mapping[str, pa.DataType], steps: Mapping[str, int], names: Sequence[str]
) -> Iterator[Batch]:
    # Unlike ORCFile, this reads a stripe in parts.
    fragment = ds.OrcFileFormat().make_fragment(str(file.path), fs.LocalFileSystem())
    options = {"use_threads": False, "batch_readahead": 1, "fragment_readahead": 1}
    begin = 0
    with reading(file):
        for batch in fragment.to_batches(columns=list(names), batch_size=_BATCH_ROWS, **options):
            columns = {}
            for name in names:
                convert = partial(_as_meant, kind=types[name], step_ns=steps.get(name))
                columns[name] = by_row(file, name, batch.column(name), begin, convert)
            yield Batch(columns, len(batch))
            begin += len(batch)


def _as_meant(column: Any, kind: pa.DataType, step_ns: int | None) -> Any:
    return as_meant(column if is_time(kind) else time_steps(column, step_ns), kind)
