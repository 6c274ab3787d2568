"""Opens a file of any format as a source for the arrow path."""

from __future__ import annotations

from jvm_bridge.builder.model import FileFormat, SourceFile
from jvm_bridge.builder.planning import TableRequirements, plan_csv
from jvm_bridge.builder.sources.avro_source import avro_columns
from jvm_bridge.builder.sources.csv_source import open_csv
from jvm_bridge.builder.sources.file_columns import FileColumns, planned
from jvm_bridge.builder.sources.json_source import open_json
from jvm_bridge.builder.sources.orc_source import orc_columns
from jvm_bridge.builder.sources.parquet_source import parquet_columns
from jvm_bridge.builder.sources.source import Source

__all__ = ["columns_of", "open_file"]


def open_file(file: SourceFile, table: TableRequirements) -> Source:
    """Plan a file that :func:`~jvm_bridge.builder.sources.prepare.prepare` has prepared.

    Raises:
        Unsuitable: It must be read row by row; also while batches are read.
        UnreadableFileError: It cannot be read; also while batches are read.
    """
    if file.file_format is FileFormat.CSV:
        return open_csv(file.path, table, plan_csv(file.reader_config))
    if file.file_format is FileFormat.JSON:
        return open_json(file.path, table)
    return planned(columns_of(file), table)


def columns_of(file: SourceFile) -> FileColumns:
    """Return the columns of a Parquet, ORC or Avro file.

    Raises:
        UnreadableFileError: It cannot be read; also while batches are read.
    """
    if file.file_format is FileFormat.AVRO:
        return avro_columns(file)
    return orc_columns(file) if file.file_format is FileFormat.ORC else parquet_columns(file)
