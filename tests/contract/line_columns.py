"""Called in the child: reads lines of text by columns."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from controller_client.errors import DataError
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.planning import Field, TableRequirements, Unsuitable
from jvm_bridge.builder.sources import csv_source, java_lines
from jvm_bridge.builder.sources.files import open_file
from jvm_bridge.input_rules import FileFormat

__all__ = ["columns_of", "mib_of_many_files", "wide_row"]


def columns_of(path: str, types: Mapping[str, str], block_bytes: int, batch_rows: int) -> dict[str, Any]:
    """Return the columns of a CSV or JSON file, or why it must be read row by row.

    Args:
        path: The file; its format is its ending.
        types: Pinot's data types by name; of multi-values, with ``[]``.
        block_bytes: How much of it is read at once.
        batch_rows: The largest number of rows of a batch.
    """
    fields = [
        Field(name, kind.removesuffix("[]"), single_value=not kind.endswith("[]"), max_length=512)
        for name, kind in types.items()
    ]
    columns: dict[str, list[Any]] = {name: [] for name in types}
    file = SourceFile(Path(path), FileFormat.parse(path.rpartition(".")[2]))
    with (
        mock.patch.object(java_lines, "_BLOCK_BYTES", block_bytes),
        mock.patch.object(java_lines, "_BATCH_ROWS", batch_rows),
    ):
        try:
            for batch in open_file(file, TableRequirements(tuple(fields), None, True)).batches:
                for name, values in columns.items():
                    batch.columns[name].validate(full=True)
                    values += batch.columns[name].to_pylist()
        except Unsuitable as reason:
            return {"unsuitable": str(reason)}
    return {"columns": columns}


def wide_row(path: str, config: Mapping[str, str] | None, block_bytes: int) -> list[str] | None:
    """Return the message and the remedy for a row of a CSV file with too many values, if there is one."""
    with mock.patch.object(java_lines, "_BLOCK_BYTES", block_bytes):
        try:
            csv_source.check_widths(SourceFile(Path(path), FileFormat.CSV, config))
        except DataError as error:
            return [error.message, str(error.remedy)]
    return None


def mib_of_many_files(path: str, files: int) -> float:
    """Return how much more memory Python has, in MiB, after it has read a file many times."""
    columns_of(path, {"s": "STRING"}, 4 << 20, 65_536)
    tracemalloc.start()
    try:
        for _ in range(files):
            columns_of(path, {"s": "STRING"}, 4 << 20, 65_536)
        return tracemalloc.get_traced_memory()[0] / (1 << 20)
    finally:
        tracemalloc.stop()
