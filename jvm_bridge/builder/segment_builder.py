"""The builder's front: segments from a file, from many files or from Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jpype

from controller_client.common.disk import naming_full_disks
from controller_client.errors import ConfigError, DataError
from controller_client.models import Schema, TableConfig
from jvm_bridge.builder import pinot_classes
from jvm_bridge.builder.arrow_build import EmptySource, build_with_arrow
from jvm_bridge.builder.driver import PinotTable, SegmentTarget, pack
from jvm_bridge.builder.expressions.evaluation import with_arguments
from jvm_bridge.builder.files_build import FilesOrder, build_files
from jvm_bridge.builder.heap import heap_full
from jvm_bridge.builder.model import (
    BuiltSegment,
    FileFormat,
    FilesBuilt,
    check_custom_metadata,
    check_segment_name,
)
from jvm_bridge.builder.one_file import (
    ReaderChoice,
    build_dir,
    build_file,
    build_with_pinot,
    build_without_rows,
)
from jvm_bridge.builder.planning import TablePlan, Unsuitable, plan_table
from jvm_bridge.builder.source_file import SourceFile
from jvm_bridge.builder.sources.arrow_source import open_arrow, record_batches, write_parquet
from jvm_bridge.builder.sources.prepare import prepare
from jvm_bridge.builder.sources.source import Source
from jvm_bridge.input_rules import InputRules, text_encoding
from jvm_bridge.jvm import running_jars
from jvm_bridge.time_conversion import time_steps

__all__ = ["SegmentBuilder"]

# The contract tests compare both paths, byte for byte, on these versions: how a reader understands a file
# cannot be asked of its class.
_PROVEN = ("0.11.", "1.3.", "1.4.", "1.5.")
_RULES = InputRules()


class SegmentBuilder:
    """Builds segments of one table.

    A builder may be used by several threads at once; each build has a folder of its own below ``work_dir``,
    gone when the build ends. Only the two tars stay.

    Args:
        table_config: The table's config, as a model or as Pinot's REST API gives it.
        schema: The table's schema, likewise.
        work_dir: An existing folder; tars appear in it, whole or not at all.
        reader: ``"pinot"`` reads with Pinot's record readers, ``"arrow"`` with Arrow (and fails where it
            would not give the same segment), ``"auto"`` takes Arrow where it gives the same and else Pinot's.
        rules: What files may be like: their encoding, and how far their columns may differ from the table's.

    Raises:
        ConfigError: Pinot cannot read the table config or the schema, or there is no such encoding.
    """

    def __init__(
        self,
        table_config: TableConfig | Mapping[str, Any],
        schema: Schema | Mapping[str, Any],
        work_dir: Path,
        reader: ReaderChoice = "auto",
        rules: InputRules = _RULES,
    ) -> None:
        if reader not in {"auto", "arrow", "pinot"}:
            raise ConfigError(f"Unknown reader {reader!r}", expected="auto, arrow or pinot")
        try:
            text_encoding(rules.encoding)
        except ValueError as error:
            raise ConfigError(f"the encoding of the files is {rules.encoding!r}: {error}") from error
        pinot_classes.fill_registries()
        self._work_dir = work_dir
        self._reader: ReaderChoice = reader
        self._rules = rules
        table_config, schema = _document(table_config), _document(schema)
        planned: TablePlan | Unsuitable
        try:
            planned = plan_table(table_config, schema, of_pinot_1=pinot_classes.is_pinot_1())
            planned = with_arguments(planned)
        except Unsuitable as reason:
            planned = reason
        jars = running_jars()
        if reader == "auto" and jars is not None and not jars.version.startswith(_PROVEN):
            proven = ", ".join(f"{version}x" for version in _PROVEN)
            planned = Unsuitable(f"Pinot {jars.version}: Arrow's equality is proven for {proven} only")
        java_config = pinot_classes.parse_table_config(table_config)
        java_schema = pinot_classes.parse_schema(schema)
        columns = pinot_classes.source_columns(java_config, java_schema, (table_config, schema))
        self._table = PinotTable(java_config, java_schema, planned, columns, time_steps(schema))

    @property
    def table(self) -> PinotTable:
        """The table as Pinot parsed it."""
        return self._table

    def from_file(
        self,
        path: Path,
        file_format: FileFormat,
        segment_name: str,
        *,
        reader_config: Mapping[str, str] | None = None,
        custom_metadata: Mapping[str, str] | None = None,
    ) -> BuiltSegment:
        """Build a segment from one file.

        Args:
            path: The file; CSV, JSON lines and Avro may be gzipped (``.gz``).
            file_format: Its format.
            segment_name: The segment's name; the tars are named after it and replace older ones.
            reader_config: Properties of Pinot's record reader config (CSV: ``delimiter``, ``header``,
                ``multiValueDelimiter`` ...). None is not the same as empty: with any config Pinot's CSV
                reader drops spaces around values.
            custom_metadata: Goes into the segment's own ``metadata.properties`` (``custom.*``).

        Raises:
            UnreadableFileError: The file as a whole cannot be read: another format, its head or end cut off,
                no header, not the table's columns.
            DataError: Bytes are not of the encoding, a row cannot be read or does not fit the schema, or
                (reader "arrow") Arrow would not certainly give what Pinot's reader gives.
            DiskFullError: No room is left in the work folder.
            HeapFullError: Java's heap is full.
            ConfigError: A wrong segment name, custom metadata or reader property.
        """
        given = SourceFile(path, file_format, reader_config)
        with self._target(segment_name, custom_metadata) as target, build_dir(self._work_dir) as folder:
            prepared = prepare(self._table, given, self._rules, folder)
            built = build_file(self._table, prepared.file, target, self._reader)
            segment = pack(built.path, target, built.reader, built.fallback_reason)
            return replace(segment, mismatch=prepared.mismatch)

    def from_files(
        self,
        paths: Sequence[Path],
        file_format: FileFormat,
        segment_name: Callable[[int], str],
        *,
        max_rows: int,
        reader_config: Mapping[str, str] | None = None,
        custom_metadata: Callable[[Sequence[int]], Mapping[str, str]],
    ) -> FilesBuilt:
        """Build segments from many files: all rows in the order of the paths, cut at ``max_rows``.

        A bad file never affects the others: no row of it is in a segment. Tars appear only when all segments
        are built. Cuts come earlier where rows would take more than 2 GiB.

        Args:
            paths: The files, all of one format; CSV, JSON lines and Avro may be gzipped (``.gz``).
            file_format: Their format.
            segment_name: Number of the segment in this call, from 0 -> its name; the tars are named after it
                and replace older ones.
            max_rows: Most rows in a segment.
            reader_config: See :meth:`from_file`.
            custom_metadata: Indexes of the files whose rows are in the segments -> what goes into the
                ``metadata.properties`` of each of them. Called again when a file turns out to be bad.

        Returns:
            The segments (one without rows when no good file has any) and what is wrong with the other files.

        Raises:
            DiskFullError: No room is left in the work folder.
            HeapFullError: Java's heap is full.
            ConfigError: A wrong segment name, custom metadata, reader property or ``max_rows``.
        """
        if max_rows < 1:
            raise ConfigError(f"max_rows is {max_rows}", expected="at least 1")
        files = [SourceFile(path, file_format, reader_config) for path in paths]
        order = FilesOrder(
            files, segment_name, max_rows, custom_metadata, self._work_dir, self._reader, self._rules
        )
        with naming_full_disks(self._work_dir):
            return build_files(self._table, order)

    def from_arrow(
        self,
        table_or_batches: Any,
        segment_name: str,
        *,
        custom_metadata: Mapping[str, str] | None = None,
    ) -> BuiltSegment:
        """Build a segment from Arrow data.

        Timestamps and dates are points in time: in a time column they come in its unit, in any other LONG
        column as milliseconds since the epoch.
        Where the table config transforms or filters rows, the data goes through a Parquet file: functions
        are given what Pinot's reader gives of it.

        Args:
            table_or_batches: A table, a record batch, a reader or an iterable of batches (read once).
            segment_name: The segment's name; the tars are named after it and replace older ones.
            custom_metadata: Goes into the segment's own ``metadata.properties`` (``custom.*``).

        Raises:
            DataError: A column or a value does not fit the schema.
            DiskFullError: No room is left in the work folder.
            HeapFullError: Java's heap is full.
            ConfigError: A wrong segment name or custom metadata.
        """
        schema, batches = record_batches(table_or_batches)
        with self._target(segment_name, custom_metadata) as target:
            reason = None
            planned = self._table.planned
            is_written = isinstance(planned, TablePlan) and planned.has_expressions
            if self._reader != "pinot" and not is_written:
                try:
                    source = open_arrow(schema, batches, self._table.plan())
                except Unsuitable as refusal:
                    reason = str(refusal)
                else:
                    return self._of_arrow_alone(source, target)
            if self._reader == "arrow" and not is_written:
                raise DataError(f"Arrow data for {segment_name}: {reason}", remedy='use reader="auto"')
            path = target.build_dir / "rows.parquet"
            write_parquet(schema, batches, path, self._table.time_steps)
            file = SourceFile(path, FileFormat.PARQUET)
            if is_written:
                built = build_file(self._table, file, target, self._reader)
                return pack(built.path, target, built.reader, built.fallback_reason)
            return pack(build_with_pinot(self._table, file, target), target, "pinot", reason)

    def _of_arrow_alone(self, source: Source, target: SegmentTarget) -> BuiltSegment:
        try:
            ((folder, _),) = build_with_arrow(self._table, [source], iter([target]))
        except EmptySource:
            folder = build_without_rows(self._table, target)
        except Unsuitable as refusal:
            raise DataError(f"Arrow data for {target.segment_name}: {refusal}") from refusal
        except jpype.JException as error:
            if full := heap_full(error):
                raise full from error
            causes = pinot_classes.root_causes(error)
            raise DataError(f"No segment could be built from Arrow data: {causes}") from error
        return pack(folder, target, "arrow", None)

    @contextmanager
    def _target(
        self, segment_name: str, custom_metadata: Mapping[str, str] | None
    ) -> Iterator[SegmentTarget]:
        check_segment_name(segment_name)
        check_custom_metadata(custom_metadata or {})
        with naming_full_disks(self._work_dir), build_dir(self._work_dir) as folder:
            yield SegmentTarget(segment_name, folder, self._work_dir, dict(custom_metadata or {}))


def _document(value: TableConfig | Schema | Mapping[str, Any]) -> Mapping[str, Any]:
    return value.to_json() if isinstance(value, TableConfig | Schema) else value
