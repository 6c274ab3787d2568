"""One file into one segment, with the choice of who reads it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jpype

from controller_client.errors import DataError
from jvm_bridge.builder import pinot_classes
from jvm_bridge.builder.arrow_build import EmptySource, build_with_arrow
from jvm_bridge.builder.bad_row import find_bad_row
from jvm_bridge.builder.driver import PinotTable, SegmentTarget, generator_config, run_driver
from jvm_bridge.builder.files import check_file, open_file
from jvm_bridge.builder.model import FileFormat, Reader
from jvm_bridge.builder.planning import TablePlan, Unsuitable

__all__ = [
    "BuiltFolder",
    "ReaderChoice",
    "SourceFile",
    "build_dir",
    "build_file",
    "build_with_pinot",
    "build_without_rows",
    "check_source",
    "refusal_reason",
    "refused_by_arrow",
]

ReaderChoice = Literal["auto", "arrow", "pinot"]


@dataclass(frozen=True)
class SourceFile:
    """A file with what must be known to read it."""

    path: Path
    file_format: FileFormat
    reader_config: Mapping[str, str] | None = None


@dataclass(frozen=True)
class BuiltFolder:
    """A segment's folder, who read its source, and why it was not Arrow."""

    path: Path
    reader: Reader
    fallback_reason: str | None


@contextmanager
def build_dir(work_dir: Path) -> Iterator[Path]:
    """Make a folder below ``work_dir`` that is gone when the context ends."""
    folder = Path(tempfile.mkdtemp(prefix=".build-", dir=work_dir))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_source(table: PinotTable, file: SourceFile) -> None:
    """Refuse what Pinot's reader would take without a word, see :func:`~jvm_bridge.builder.files.check_file`.

    Raises:
        UnreadableFileError: There is no such file, or it is one of these.
    """
    planned = table.planned if isinstance(table.planned, TablePlan) else None
    check_file(file.path, file.file_format, planned, file.reader_config)


def build_file(
    table: PinotTable, file: SourceFile, target: SegmentTarget, choice: ReaderChoice
) -> BuiltFolder:
    """Build a segment of a file that passed :func:`check_source`.

    Raises:
        DataError: The file is unreadable, a row does not fit, or (choice "arrow") Arrow must not read it.
    """
    reason = None
    if choice != "pinot":
        try:
            source = open_file(file.path, file.file_format, table.plan(), file.reader_config)
            ((folder, _),) = build_with_arrow(table, [source], iter([target]))
            return BuiltFolder(folder, "arrow", None)
        except EmptySource:
            return BuiltFolder(build_without_rows(table, target), "arrow", None)
        except (Unsuitable, jpype.JException) as refusal:
            # Pinot's reader has the last word, on the result as on the error.
            reason = refusal_reason(refusal)
    if choice == "arrow":
        raise refused_by_arrow(file, reason)
    return BuiltFolder(build_with_pinot(table, file, target), "pinot", reason)


def refusal_reason(refusal: Exception) -> str:
    """Return why Arrow's result was not taken, of what the arrow path raised."""
    return str(refusal) if isinstance(refusal, Unsuitable) else pinot_classes.root_causes(refusal)


def refused_by_arrow(file: SourceFile, reason: str | None) -> DataError:
    """Return the error of a file that only Arrow was allowed to read."""
    return DataError(
        f"{file.path.name} cannot be read by Arrow with Pinot's result: {reason}",
        where=str(file.path),
        remedy='use reader="auto" or "pinot"',
    )


def build_without_rows(table: PinotTable, target: SegmentTarget) -> Path:
    """Build a segment without rows and return its folder."""
    # An empty file cannot be mapped; as JSON lines it is no rows.
    path = target.build_dir / "empty.json"
    path.touch()
    return run_driver(_file_config(table, SourceFile(path, FileFormat.JSON), target))


def build_with_pinot(table: PinotTable, file: SourceFile, target: SegmentTarget) -> Path:
    """Let Pinot's driver read the file itself.

    Returns:
        The segment's folder.

    Raises:
        DataError: The file is unreadable or a row does not fit.
        ConfigError: Pinot's reader does not know a property of the reader config.
    """
    config = _file_config(table, file, target)
    try:
        return run_driver(config)
    except jpype.JException as error:
        raise find_bad_row(file.path, file.file_format, config, error) from error


def _file_config(table: PinotTable, file: SourceFile, target: SegmentTarget) -> Any:
    config = generator_config(table.config, table.schema, target)
    config.setInputFilePath(str(file.path))
    config.setFormat(pinot_classes.java_file_format(file.file_format))
    java_reader_config = pinot_classes.reader_config(file.file_format, file.reader_config)
    if java_reader_config is not None:
        config.setReaderConfig(java_reader_config)
    return config
