"""Opens a file of any format as a source for the arrow path."""

from __future__ import annotations

from jvm_bridge.builder.model import FileFormat
from jvm_bridge.builder.planning import TablePlan, Unsuitable, plan_csv
from jvm_bridge.builder.source_file import SourceFile
from jvm_bridge.builder.sources.avro_source import open_avro
from jvm_bridge.builder.sources.csv_source import open_csv
from jvm_bridge.builder.sources.json_source import open_json
from jvm_bridge.builder.sources.parquet_source import open_parquet
from jvm_bridge.builder.sources.source import Source

__all__ = ["open_file"]


def open_file(file: SourceFile, table: TablePlan) -> Source:
    """Plan a file that :func:`~jvm_bridge.builder.sources.prepare.prepare` has prepared.

    Raises:
        Unsuitable: Pinot's reader must read it; also while batches are read.
    """
    if file.file_format is FileFormat.CSV:
        return open_csv(file.path, table, plan_csv(file.reader_config))
    if file.reader_config:
        raise Unsuitable(f"only Pinot's reader supports the reader property {min(file.reader_config)}")
    if file.file_format is FileFormat.JSON:
        return open_json(file.path, table)
    if file.file_format is FileFormat.AVRO:
        return open_avro(file, table)
    return open_parquet(file.path, table, file.times)
