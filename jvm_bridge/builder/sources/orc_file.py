"""ORC, written anew as Parquet, so that Arrow and Pinot's Parquet reader get the same of it.

Pinot's own reader of ORC is in a plugin that is not among the pinned jars. What it would give of a value is
what the copy has: a timestamp's milliseconds, a date's days. In time columns both come in the unit that the
table counts in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import orc

from controller_client.errors import DataError, SetupError
from jvm_bridge.builder.model import FileFormat, UnreadableFileError
from jvm_bridge.builder.source_file import SourceFile
from jvm_bridge.builder.sources.arrow_source import write_parquet

__all__ = ["as_parquet"]


def as_parquet(file: SourceFile, path: Path, time_steps: Mapping[str, int]) -> None:
    """Write the rows of an ORC file as Parquet, a stripe at a time.

    Args:
        file: The ORC file.
        path: Where to.
        time_steps: The table's time columns, each with the nanoseconds of a step.

    Raises:
        UnreadableFileError: It is no whole ORC file, or a value has no place in Arrow or Parquet: a timestamp
            outside of 1677 to 2262, a union.
        SetupError: This pyarrow would change such timestamps without a word.
    """
    _check_pyarrow()
    try:
        source = orc.ORCFile(file.path)
        schema = source.schema
        if len(set(schema.names)) != len(schema.names):
            raise _error(file, "a column name comes twice")
        days = frozenset(
            field.name for field in schema if pa.types.is_date(field.type) and field.name not in time_steps
        )
        plain = pa.schema([(each.name, pa.int32() if each.name in days else each.type) for each in schema])
        write_parquet(plain, _batches(source, plain, days), path, time_steps)
    except (pa.ArrowException, DataError) as error:
        if isinstance(error, UnreadableFileError):
            raise
        raise _error(file, str(error).splitlines()[0][:200]) from error
    # Arrow's reader raises OSError of a damaged file; a full disk is one with a number.
    except OSError as error:
        if error.errno is not None:
            raise
        raise _error(file, str(error).splitlines()[0][:200]) from error


def _batches(source: Any, plain: pa.Schema, days: frozenset[str]) -> Iterator[Any]:
    for stripe in range(source.nstripes):
        batch = source.read_stripe(stripe)
        columns = [
            batch.column(name).view(pa.int32()) if name in days else batch.column(name)
            for name in plain.names
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=plain)


@cache
def _check_pyarrow() -> None:
    """See that a timestamp that Arrow's nanoseconds do not reach is refused, and does not become another."""
    sink = pa.BufferOutputStream()
    orc.write_table(pa.table({"t": pa.array([datetime(9999, 1, 1)], pa.timestamp("us"))}), sink)  # noqa: DTZ001
    try:
        orc.ORCFile(pa.BufferReader(sink.getvalue())).read()
    except pa.ArrowInvalid:
        return
    raise SetupError(
        f"pyarrow {pa.__version__} changes timestamps of ORC files after 2262",
        expected="one that refuses them",
        remedy="pip install --upgrade pyarrow",
    )


def _error(file: SourceFile, what: str) -> UnreadableFileError:
    return UnreadableFileError(
        f"{file.name} cannot be read as {FileFormat.ORC}: {what}",
        expected="a whole ORC file, with values that Arrow has",
        where=file.where,
    )
