"""The builder's front: one segment per call, from a file or from Arrow."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import jpype

from controller_client.errors import ConfigError, DataError
from jvm_bridge.builder import pinot_classes
from jvm_bridge.builder.arrow_build import EmptySource, build_with_arrow
from jvm_bridge.builder.arrow_source import open_arrow, record_batches, write_parquet
from jvm_bridge.builder.bad_row import find_bad_row
from jvm_bridge.builder.driver import SegmentTarget, generator_config, pack, run_driver
from jvm_bridge.builder.files import check_file, open_file
from jvm_bridge.builder.model import BuiltSegment, FileFormat, check_custom_metadata, check_segment_name
from jvm_bridge.builder.planning import TablePlan, Unsuitable, plan_table
from jvm_bridge.builder.source import Source
from jvm_bridge.jvm import running_jars

__all__ = ["SegmentBuilder"]

# The contract tests compare both paths, byte for byte, on this version.
_PROVEN = "0.11."


class SegmentBuilder:
    """Builds segments of one table.

    A builder may be used by several threads at once; each build has a folder of its own below ``work_dir``,
    gone when the
    build ends. Only the two tars stay.

    Args:
        table_config: The table's config as Pinot's REST API gives it.
        schema: The table's schema as Pinot's REST API gives it.
        work_dir: An existing folder; tars appear in it, whole or not at all.
        reader: ``"pinot"`` reads with Pinot's record readers, ``"arrow"`` with Arrow (and fails where it
            would not give
            the same segment), ``"auto"`` takes Arrow where it gives the same and else Pinot's.

    Raises:
        ConfigError: Pinot cannot read the table config or the schema.
    """

    def __init__(
        self,
        table_config: Mapping[str, Any],
        schema: Mapping[str, Any],
        work_dir: Path,
        reader: Literal["auto", "arrow", "pinot"] = "auto",
    ) -> None:
        if reader not in {"auto", "arrow", "pinot"}:
            raise ConfigError(f"Unknown reader {reader!r}", expected="auto, arrow or pinot")
        pinot_classes.fill_registries()
        self._work_dir = work_dir
        self._reader = reader
        self._table_config = pinot_classes.parse_table_config(table_config)
        self._schema = pinot_classes.parse_schema(schema)
        self._table: TablePlan | Unsuitable
        try:
            self._table = plan_table(table_config, schema)
        except Unsuitable as reason:
            self._table = reason
        jars = running_jars()
        if reader == "auto" and jars is not None and not jars.version.startswith(_PROVEN):
            self._table = Unsuitable(f"Pinot {jars.version}: Arrow's equality is proven for {_PROVEN}x only")

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
            DataError: The file is unreadable, in another format, cut short, a row does not fit the schema, or
                (reader "arrow") Arrow would not certainly give what Pinot's reader gives.
            ConfigError: A wrong segment name, custom metadata or reader property.
        """
        planned = self._table if isinstance(self._table, TablePlan) else None
        check_file(path, file_format, planned, reader_config)
        with self._target(segment_name, custom_metadata) as target:
            reason = None
            if self._reader != "pinot":
                try:
                    source = open_file(path, file_format, self._plan(), reader_config)
                    return self._with_arrow(source, target)
                except (Unsuitable, jpype.JException) as refusal:
                    # Pinot's reader has the last word, on the result as on the error.
                    reason = _reason(refusal)
            if self._reader == "arrow":
                raise DataError(
                    f"{path.name} cannot be read by Arrow with Pinot's result: {reason}",
                    where=str(path),
                    remedy='use reader="auto" or "pinot"',
                )
            return self._with_pinot(path, file_format, target, reader_config, reason)

    def from_arrow(
        self,
        table_or_batches: Any,
        segment_name: str,
        *,
        custom_metadata: Mapping[str, str] | None = None,
    ) -> BuiltSegment:
        """Build a segment from Arrow data.

        Timestamps and dates are points in time: they become milliseconds since the epoch, whatever their
        unit.
        Where the table config transforms or filters rows, the data goes through a Parquet file to Pinot's
        reader.

        Args:
            table_or_batches: A table, a record batch, a reader or an iterable of batches (read once).
            segment_name: The segment's name; the tars are named after it and replace older ones.
            custom_metadata: Goes into the segment's own ``metadata.properties`` (``custom.*``).

        Raises:
            DataError: A column or a value does not fit the schema.
            ConfigError: A wrong segment name or custom metadata.
        """
        schema, batches = record_batches(table_or_batches)
        with self._target(segment_name, custom_metadata) as target:
            reason = None
            if self._reader != "pinot":
                try:
                    source = open_arrow(schema, batches, self._plan())
                except Unsuitable as refusal:
                    reason = str(refusal)
                else:
                    return self._of_arrow_alone(source, target)
            if self._reader == "arrow":
                raise DataError(f"Arrow data for {segment_name}: {reason}", remedy='use reader="auto"')
            path = target.build_dir / "rows.parquet"
            write_parquet(schema, batches, path)
            return self._with_pinot(path, FileFormat.PARQUET, target, None, reason)

    def _plan(self) -> TablePlan:
        if isinstance(self._table, Unsuitable):
            raise self._table
        return self._table

    def _of_arrow_alone(self, source: Source, target: SegmentTarget) -> BuiltSegment:
        try:
            return self._with_arrow(source, target)
        except Unsuitable as refusal:
            raise DataError(f"Arrow data for {target.segment_name}: {refusal}") from refusal
        except jpype.JException as error:
            causes = pinot_classes.root_causes(error)
            raise DataError(f"No segment could be built from Arrow data: {causes}") from error

    def _with_arrow(self, source: Source, target: SegmentTarget) -> BuiltSegment:
        try:
            folder = build_with_arrow(self._table_config, self._schema, self._plan(), source, target)
        except EmptySource:
            folder = self._without_rows(target)
        return pack(folder, target, "arrow", None)

    def _without_rows(self, target: SegmentTarget) -> Path:
        # An empty file cannot be mapped; as JSON lines it is no rows.
        path = target.build_dir / "empty.json"
        path.touch()
        config = generator_config(self._table_config, self._schema, target)
        config.setInputFilePath(str(path))
        config.setFormat(pinot_classes.java_file_format(FileFormat.JSON))
        return run_driver(config)

    def _with_pinot(
        self,
        path: Path,
        file_format: FileFormat,
        target: SegmentTarget,
        reader_config: Mapping[str, str] | None,
        fallback_reason: str | None,
    ) -> BuiltSegment:
        config = generator_config(self._table_config, self._schema, target)
        config.setInputFilePath(str(path))
        config.setFormat(pinot_classes.java_file_format(file_format))
        java_reader_config = pinot_classes.reader_config(file_format, reader_config)
        if java_reader_config is not None:
            config.setReaderConfig(java_reader_config)
        try:
            folder = run_driver(config)
        except jpype.JException as error:
            raise find_bad_row(path, file_format, config, error) from error
        return pack(folder, target, "pinot", fallback_reason)

    @contextmanager
    def _target(
        self, segment_name: str, custom_metadata: Mapping[str, str] | None
    ) -> Iterator[SegmentTarget]:
        check_segment_name(segment_name)
        check_custom_metadata(custom_metadata or {})
        build_dir = Path(tempfile.mkdtemp(prefix=".build-", dir=self._work_dir))
        try:
            yield SegmentTarget(segment_name, build_dir, self._work_dir, dict(custom_metadata or {}))
        finally:
            shutil.rmtree(build_dir, ignore_errors=True)


def _reason(refusal: Exception) -> str:
    return str(refusal) if isinstance(refusal, Unsuitable) else pinot_classes.root_causes(refusal)
