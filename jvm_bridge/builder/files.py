"""Opens a file of any format as a source for the arrow path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from jvm_bridge.builder.avro_file import check_avro
from jvm_bridge.builder.csv_source import open_csv, read_header
from jvm_bridge.builder.json_source import open_json
from jvm_bridge.builder.model import FileFormat, UnreadableFileError
from jvm_bridge.builder.parquet_source import open_parquet
from jvm_bridge.builder.planning import TablePlan, Unsuitable, is_foreign, plan_csv
from jvm_bridge.builder.source import CORRUPT_GZIP, Source, open_bytes

__all__ = ["check_file", "open_file"]


def check_file(
    path: Path, file_format: FileFormat, table: TablePlan | None, reader_config: Mapping[str, str] | None
) -> None:
    """Refuse what Pinot's reader would take without a word.

    That is an Avro file that is cut short, a CSV file whose gzip header is, and a file with none of the
    table's columns.

    Args:
        path: The file.
        file_format: Its format.
        table: What was planned of the table; None where a transform may take columns that are not in the
            schema.
        reader_config: Properties of Pinot's record reader config.

    Raises:
        UnreadableFileError: It is one of these, or there is no such file.
    """
    if not path.is_file():
        raise UnreadableFileError("There is no such file", where=str(path))
    if file_format is FileFormat.CSV:
        _check_gzip(path)
    names = _column_names(path, file_format, reader_config)
    if table is not None and is_foreign(table.fields, names):
        fields = ", ".join(field.name for field in table.fields)
        raise UnreadableFileError(
            f"{path.name} has none of the table's columns; it has {', '.join(names)[:200]}",
            expected=f"columns of {fields[:200]}",
            where=str(path),
        )


def _check_gzip(path: Path) -> None:
    # Pinot reads what is no whole gzip header as plain text: a CSV file without rows.
    with closing(open_bytes(path)) as stream:
        try:
            stream.read(1)
        except CORRUPT_GZIP as error:
            raise UnreadableFileError(
                f"{path.name} cannot be read as {FileFormat.CSV}: its gzip data does not begin as it should",
                expected="a whole file",
                where=str(path),
            ) from error


def _column_names(
    path: Path, file_format: FileFormat, reader_config: Mapping[str, str] | None
) -> Sequence[str]:
    """Return the names in the file's head; none where it has none, or where Pinot's reader must say why."""
    if file_format is FileFormat.AVRO:
        return check_avro(path)
    try:
        if file_format is FileFormat.CSV:
            plan = plan_csv(reader_config)
            return plan.header or read_header(path, plan.delimiter)
        if file_format is FileFormat.PARQUET:
            return list(pq.read_schema(path).names)
    except (Unsuitable, pa.ArrowException, OSError):
        return ()
    return ()


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
