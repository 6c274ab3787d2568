"""Opens a file of any format as a source for the arrow path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jvm_bridge.builder.csv_source import open_csv
from jvm_bridge.builder.json_source import open_json
from jvm_bridge.builder.model import FileFormat
from jvm_bridge.builder.parquet_source import open_parquet
from jvm_bridge.builder.planning import TablePlan, Unsuitable, plan_csv
from jvm_bridge.builder.source import Source

__all__ = ["open_file"]


def open_file(
    path: Path, file_format: FileFormat, table: TablePlan, reader_config: Mapping[str, str] | None
) -> Source:
    """Plan a file.

    Raises:
        Unsuitable: Pinot's reader must read it; also while batches are read.
    """
    if file_format is FileFormat.CSV:
        return open_csv(path, table, plan_csv(reader_config))
    if file_format is FileFormat.AVRO:
        raise Unsuitable("Arrow does not read Avro")
    if reader_config:
        raise Unsuitable(f"the reader property {min(reader_config)} is known to Pinot's reader only")
    return open_json(path, table) if file_format is FileFormat.JSON else open_parquet(path, table)
