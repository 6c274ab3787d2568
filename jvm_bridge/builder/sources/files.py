"""The formats of files, and how a file of each is opened as a source for the arrow path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jvm_bridge.builder.csv_plan import plan_csv
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.planning import TableRequirements
from jvm_bridge.builder.sources.avro_file import check_avro
from jvm_bridge.builder.sources.avro_source import avro_columns
from jvm_bridge.builder.sources.csv_source import open_csv
from jvm_bridge.builder.sources.file_columns import FileColumns, planned
from jvm_bridge.builder.sources.json_source import open_json
from jvm_bridge.builder.sources.orc_source import orc_columns, orc_times
from jvm_bridge.builder.sources.parquet_source import parquet_columns, parquet_times
from jvm_bridge.builder.sources.source import Source
from jvm_bridge.builder.sources.with_folders import with_folders
from jvm_bridge.input_rules import FileFormat

__all__ = ["COLUMN_FORMATS", "ColumnFormat", "columns_of", "open_file"]


def open_file(file: SourceFile, table: TableRequirements) -> Source:
    """Plan a file that :func:`~jvm_bridge.builder.sources.prepare.prepare` has prepared.

    Raises:
        Unsuitable: It must be read row by row; also while batches are read.
        UnreadableFileError: It cannot be read; also while batches are read.
    """
    return with_folders(_open(file, table), file.folders, table)


def _open(file: SourceFile, table: TableRequirements) -> Source:
    if file.file_format is FileFormat.CSV:
        return open_csv(file.path, table, plan_csv(file.reader_config))
    if file.file_format is FileFormat.JSON:
        return open_json(file.path, table)
    return planned(columns_of(file), table)


@dataclass(frozen=True)
class ColumnFormat:
    """How files of a format with columns are read.

    Attributes:
        check: Checks a file, and returns its columns, each with its unit in nanoseconds if it is a point in
            time.
        columns: Opens a checked file.
    """

    check: Callable[[SourceFile], Mapping[str, int | None]]
    columns: Callable[[SourceFile], FileColumns]


COLUMN_FORMATS: Mapping[FileFormat, ColumnFormat] = {
    FileFormat.AVRO: ColumnFormat(check_avro, avro_columns),
    FileFormat.PARQUET: ColumnFormat(parquet_times, parquet_columns),
    FileFormat.ORC: ColumnFormat(orc_times, orc_columns),
}
"""All formats but CSV and JSON, which are texts."""


def columns_of(file: SourceFile) -> FileColumns:
    """Return the columns of a file in one of :data:`COLUMN_FORMATS`.

    Raises:
        UnreadableFileError: It cannot be read; also while batches are read.
    """
    return COLUMN_FORMATS[file.file_format].columns(file)
