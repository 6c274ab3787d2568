"""Builds one segment from one file, and chooses the reader."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jpype import JProxy

from controller_client.errors import DataError
from jvm_bridge.builder.arrow_build import EmptySource, build_with_arrow
from jvm_bridge.builder.bad_row import find_bad_row
from jvm_bridge.builder.driver import PinotTable, SegmentTarget, generator_config, rows_source, run_driver
from jvm_bridge.builder.heap import heap_full, heap_full_by_rows
from jvm_bridge.builder.model import Reader, SourceFile
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.record_reader import open_reader
from jvm_bridge.builder.segment_times import segment_times
from jvm_bridge.builder.sources.files import open_file
from jvm_bridge.builder.transformers import row_pipeline
from jvm_bridge.java_errors import JAVA_ERRORS, root_causes

__all__ = [
    "BuiltFolder",
    "ReaderChoice",
    "build_dir",
    "build_file",
    "build_with_pinot",
    "build_without_rows",
    "refusal_reason",
    "refused_by_arrow",
]

ReaderChoice = Literal["auto", "arrow", "pinot"]


@dataclass(frozen=True)
class BuiltFolder:
    """A segment's folder, the reader of its source, and why that was not Arrow."""

    path: Path
    reader: Reader
    fallback_reason: str | None


@contextmanager
def build_dir(work_dir: Path) -> Iterator[Path]:
    """Create a folder below ``work_dir`` that is deleted when the context ends."""
    folder = Path(tempfile.mkdtemp(prefix=".build-", dir=work_dir))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build_file(
    table: PinotTable, file: SourceFile, target: SegmentTarget, choice: ReaderChoice
) -> BuiltFolder:
    """Build a segment from a prepared file.

    Raises:
        DataError: The file is unreadable, a row is invalid, or (choice "arrow") Arrow must not read it.
        HeapFullError: Java's heap is full.
    """
    reason = None
    if choice != "pinot":
        try:
            source = open_file(file, table.plan())
            ((folder, _),) = build_with_arrow(table, [source], iter([target]))
            return BuiltFolder(folder, "arrow", None)
        except EmptySource:
            return BuiltFolder(build_without_rows(table, target), "arrow", None)
        except (Unsuitable, *JAVA_ERRORS) as refusal:
            if full := heap_full(refusal):
                raise full from refusal
            # Pinot's reader decides on the result and on the error.
            reason = refusal_reason(refusal)
    if choice == "arrow":
        raise refused_by_arrow(file, reason)
    return BuiltFolder(build_with_pinot(table, file, target), "pinot", reason)


def refusal_reason(refusal: Exception) -> str:
    """Return why Arrow's result was not used, from the exception of the arrow path."""
    return str(refusal) if isinstance(refusal, Unsuitable) else root_causes(refusal)


def refused_by_arrow(file: SourceFile, reason: str | None) -> DataError:
    """Return the error for a file that only Arrow was allowed to read."""
    return DataError(
        f"{file.name} cannot be read by Arrow with the same result as Pinot: {reason}",
        where=file.where,
        remedy='use reader="auto" or "pinot"',
    )


def build_without_rows(table: PinotTable, target: SegmentTarget) -> Path:
    """Build a segment without rows and return its folder."""
    # Pinot cannot map an empty row file.
    no_rows = JProxy(
        "org.apache.pinot.spi.data.readers.RecordReader",
        dict={"hasNext": lambda: False, "rewind": lambda: None, "close": lambda: None},
    )
    return run_driver(generator_config(table.config, table.schema, target), no_rows)


def build_with_pinot(table: PinotTable, file: SourceFile, target: SegmentTarget) -> Path:
    """Let Pinot's driver read the file.

    Returns:
        The segment's folder.

    Raises:
        DataError: The file is unreadable, or a row is invalid.
        HeapFullError: Java's heap is full.
        ConfigError: Pinot's reader does not support a property of the reader config.
    """
    config = generator_config(table.config, table.schema, target)
    config.setInputFilePath(str(file.path))
    with ExitStack() as opened:
        try:
            reader = open_reader(file, config.getTableConfig(), config.getSchema(), table.zone)
            opened.callback(reader.close)
            pipeline = row_pipeline(config, table.zone, segment_times(config, table.zone))
            return run_driver(config, rows_source(reader), pipeline)
        except JAVA_ERRORS as error:
            if full := heap_full_by_rows(error, file.file_format):
                raise full from error
            raise find_bad_row(file, config, error, table.zone) from error
