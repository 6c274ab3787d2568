"""The builder's front: one segment per call, from a file or from Arrow."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import jpype

from controller_client.errors import DataError
from jvm_bridge.builder import pinot_classes
from jvm_bridge.builder.bad_row import find_bad_row
from jvm_bridge.builder.driver import SegmentTarget, generator_config, pack, run_driver
from jvm_bridge.builder.model import BuiltSegment, FileFormat, check_custom_metadata, check_segment_name

__all__ = ["SegmentBuilder"]


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
        self._table_config = dict(table_config)
        self._schema = dict(schema)
        self._work_dir = work_dir
        self._reader = reader
        pinot_classes.parse_table_config(self._table_config)
        pinot_classes.parse_schema(self._schema)

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
                reader drops
                spaces around values.
            custom_metadata: Goes into the segment's own ``metadata.properties`` (``custom.*``).

        Raises:
            DataError: The file is unreadable, in another format, cut short, or a row does not fit the schema.
            ConfigError: A wrong segment name, custom metadata or reader property.
        """
        with self._target(segment_name, custom_metadata) as target:
            return self._with_pinot_reader(path, file_format, target, reader_config)

    def _with_pinot_reader(
        self,
        path: Path,
        file_format: FileFormat,
        target: SegmentTarget,
        reader_config: Mapping[str, str] | None,
    ) -> BuiltSegment:
        if not path.is_file():
            raise DataError("There is no such file", where=str(path))
        table_config = pinot_classes.parse_table_config(self._table_config)
        schema = pinot_classes.parse_schema(self._schema)
        config = generator_config(table_config, schema, target)
        config.setInputFilePath(str(path))
        config.setFormat(pinot_classes.java_file_format(file_format))
        java_reader_config = pinot_classes.reader_config(file_format, reader_config)
        if java_reader_config is not None:
            config.setReaderConfig(java_reader_config)
        try:
            folder = run_driver(config)
        except jpype.JException as error:
            raise find_bad_row(path, file_format, config, error) from error
        return pack(folder, target, "pinot", None)

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
