"""The public interface of the builder: segments from a file, from many files or from Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

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
    FilesBuilt,
    SourceFile,
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
from jvm_bridge.builder.planning import TableRequirements, Unsuitable, is_foreign, plan_table
from jvm_bridge.builder.segment_times import has_zone, with_default_times
from jvm_bridge.builder.sources.arrow_source import arrow_columns, record_batches, write_parquet
from jvm_bridge.builder.sources.file_columns import planned
from jvm_bridge.builder.sources.prepare import prepare
from jvm_bridge.builder.sources.source import Source
from jvm_bridge.folder_columns import FolderColumns
from jvm_bridge.input_rules import FileFormat, InputRules, text_encoding
from jvm_bridge.java_errors import JAVA_ERRORS, root_causes
from jvm_bridge.jvm import running_jars
from jvm_bridge.time_conversion import time_steps

__all__ = ["SegmentBuilder"]

# The contract tests compare both paths, byte for byte, on these versions: a class does not show how its
# reader interprets a file.
_PROVEN = ("0.11.", "1.3.", "1.4.", "1.5.", "1.6.")
_RULES = InputRules()


class SegmentBuilder:
    """Builds segments of one table.

    A builder is thread-safe; each build has its own folder below ``work_dir``, which is deleted when the
    build ends. Only the two tars stay.

    Args:
        table_config: The table's config, as a model or as returned by Pinot's REST API.
        schema: The table's schema, likewise.
        work_dir: An existing folder; complete tars appear in it.
        reader: ``"pinot"`` reads with Pinot's record readers, ``"arrow"`` with Arrow (and fails if it would
            not give the same segment), ``"auto"`` uses Arrow if it gives the same and Pinot's otherwise.
        rules: Requirements for files: their encoding and time zone, and how far their columns may differ from
            the table's.

    Raises:
        ConfigError: Pinot cannot read the table config or the schema, or there is no such encoding or time
            zone.
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
            raise ConfigError(f"unknown reader {reader!r}", expected="auto, arrow or pinot")
        try:
            text_encoding(rules.encoding)
        except ValueError as error:
            raise ConfigError(f"the encoding of the files is {rules.encoding!r}: {error}") from error
        pinot_classes.fill_registries()
        self._work_dir = work_dir
        self._reader: ReaderChoice = reader
        self._rules = rules
        table_config, schema = _document(table_config), _document(schema)
        if not has_zone(rules.time_zone):
            raise ConfigError(
                f"there is no time zone {rules.time_zone!r}", expected="a name such as UTC or Europe/Berlin"
            )
        schema = with_default_times(schema)
        plan: TableRequirements | Unsuitable
        try:
            plan = with_arguments(plan_table(table_config, schema, of_pinot_1=pinot_classes.is_pinot_1()))
        except Unsuitable as reason:
            plan = reason
        jars = running_jars()
        if reader == "auto" and jars is not None and not jars.version.startswith(_PROVEN):
            proven = ", ".join(f"{version}x" for version in _PROVEN)
            plan = Unsuitable(
                f"Pinot {jars.version}: Arrow is tested to give equal results only for {proven}"
            )
        java_config = pinot_classes.parse_table_config(table_config)
        java_schema = pinot_classes.parse_schema(schema)
        columns = pinot_classes.source_columns(java_config, java_schema, (table_config, schema))
        self._table = PinotTable(java_config, java_schema, plan, columns, time_steps(schema), rules.time_zone)

    @property
    def table(self) -> PinotTable:
        """The table, as parsed by Pinot."""
        return self._table

    def from_file(
        self,
        path: Path,
        file_format: FileFormat,
        segment_name: str,
        *,
        reader_config: Mapping[str, str] | None = None,
        custom_metadata: Mapping[str, str] | None = None,
        folders: FolderColumns | None = None,
    ) -> BuiltSegment:
        """Build a segment from one file.

        Args:
            path: The file; CSV, JSON lines and Avro may be gzipped (``.gz``).
            file_format: Its format.
            segment_name: Name of the segment; the tars are named after it and replace older ones.
            reader_config: Properties of Pinot's record reader config (CSV: ``delimiter``, ``header``,
                ``multiValueDelimiter`` ...). None is not the same as empty: if there is a config, Pinot's CSV
                reader drops spaces around values.
            custom_metadata: Stored in the segment's own ``metadata.properties`` (``custom.*``).
            folders: Columns that are in the names of the file's folders. A row of the file that has another
                value is an error.

        Raises:
            UnreadableFileError: The file as a whole cannot be read: it has another format, is truncated, or
                has no header or not the table's columns.
            DataError: Bytes are not valid in the encoding, a row cannot be read or does not fit the schema,
                or (reader "arrow") Arrow is not certain to give the same result as Pinot's reader.
            DiskFullError: The disk of the work folder is full.
            HeapFullError: Java's heap is full.
            ConfigError: A segment name, custom metadata or a reader property is invalid.
        """
        given = SourceFile(path, file_format, reader_config, folders=folders or {})
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
        folders: Sequence[FolderColumns] = (),
    ) -> FilesBuilt:
        """Build segments from many files: all rows in the order of the paths, split at ``max_rows``.

        A bad file never affects the others: none of its rows are in a segment. Tars appear only when all
        segments are built. Segments are split earlier if rows would take more than 2 GiB.

        Args:
            paths: The files, all in one format; CSV, JSON lines and Avro may be gzipped (``.gz``).
            file_format: Their format.
            segment_name: Number of the segment in this call, from 0 -> its name; the tars are named after it
                and replace older ones.
            max_rows: Maximum rows per segment.
            reader_config: See :meth:`from_file`.
            custom_metadata: Indexes of the files whose rows are in the segments -> what to store in the
                ``metadata.properties`` of each of them. Called again if a file turns out to be bad.
            folders: See :meth:`from_file`; for each file, or for none.

        Returns:
            The segments (one without rows if no good file has any), and the errors of the other files.

        Raises:
            DiskFullError: The disk of the work folder is full.
            HeapFullError: Java's heap is full.
            ConfigError: A segment name, custom metadata, a reader property or ``max_rows`` is invalid.
        """
        if max_rows < 1:
            raise ConfigError(f"max_rows is {max_rows}", expected="at least 1")
        files = [
            SourceFile(path, file_format, reader_config, folders=columns)
            for path, columns in zip(paths, folders or [{}] * len(paths), strict=True)
        ]
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

        Timestamps and dates are points in time: they are stored in the unit of a time column, and in any
        other LONG column as milliseconds since the epoch. If the table config transforms or filters rows, the
        data goes through a Parquet file, so that functions get the values of Pinot's reader.

        Args:
            table_or_batches: A table, a record batch, a reader or an iterable of batches (read once).
            segment_name: Name of the segment; the tars are named after it and replace older ones.
            custom_metadata: Stored in the segment's own ``metadata.properties`` (``custom.*``).

        Raises:
            DataError: A column or a value does not fit the schema.
            DiskFullError: The disk of the work folder is full.
            HeapFullError: Java's heap is full.
            ConfigError: The segment name or the custom metadata is invalid.
        """
        schema, batches = record_batches(table_or_batches)
        with self._target(segment_name, custom_metadata) as target:
            reason = None
            plan = self._table.planned
            is_written = isinstance(plan, TableRequirements) and plan.has_expressions
            if self._reader != "pinot" and not is_written:
                try:
                    self._check_names(schema, segment_name)
                    data = SourceFile(Path(f"Arrow data for {segment_name}"), FileFormat.PARQUET)
                    columns = arrow_columns(schema, batches, self._table.time_steps, data)
                    source = planned(columns, self._table.plan())
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

    def _check_names(self, schema: Any, segment_name: str) -> None:
        if is_foreign(self._table.plan().fields, schema.names):
            raise DataError(f"Arrow data for {segment_name} has none of the table's columns")

    def _of_arrow_alone(self, source: Source, target: SegmentTarget) -> BuiltSegment:
        try:
            ((folder, _),) = build_with_arrow(self._table, [source], iter([target]))
        except EmptySource:
            folder = build_without_rows(self._table, target)
        except Unsuitable as refusal:
            raise DataError(f"Arrow data for {target.segment_name}: {refusal}") from refusal
        except JAVA_ERRORS as error:
            if full := heap_full(error):
                raise full from error
            causes = root_causes(error)
            raise DataError(f"no segment could be built from Arrow data: {causes}") from error
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
