"""Maps many files to one GenericRow file, read and transformed by Pinot's own classes, all in Java.

Pinot's ``SegmentMapper`` (which its minion tasks use to merge segments) reads one record reader after the
other, applies the table's transforms and filters, and writes the rows in the form that the driver reads,
including nulls. It does not support BIG_DECIMAL and multi-value BYTES, and in 0.11.0 it does not unnest. For
tables that need these, Pinot's driver first builds a plain segment of each file, and the mapper reads those:
a BIG_DECIMAL as the bytes in which Pinot stores it, and multi-value BYTES as hexadecimal digits.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jpype
from jpype import JProxy

from controller_client.errors import DataError
from jvm_bridge.builder.driver import PinotTable, SegmentTarget, generator_config
from jvm_bridge.builder.mapped_table import (
    late_columns,
    needs_plain_segments,
    plain_config,
    stored_schema,
    unsorted,
)
from jvm_bridge.builder.one_file import build_dir, build_with_pinot
from jvm_bridge.builder.pinot_classes import java_class, parse_schema, parse_table_config
from jvm_bridge.builder.record_reader import open_reader
from jvm_bridge.builder.source_file import SourceFile

__all__ = ["FULL_BYTES", "MAX_BYTES", "MappedRows", "Mapper", "MappingError", "RowsTooLargeError"]

_PROCESSING = "org.apache.pinot.core.segment.processing."
MAX_BYTES = 2**31 - 1
"""The maximum size of one ByteBuffer; beyond it Pinot maps files in a way that newer JDKs do not allow."""
FULL_BYTES = 1 << 30
"""No further file is started after this many bytes of rows; the last file must fit below MAX_BYTES."""


class MappingError(Exception):
    """Pinot could not read or transform a file; the cause has the reason.

    Attributes:
        position: Index of the file, from 0.
    """

    def __init__(self, position: int) -> None:
        super().__init__(f"file {position} cannot be mapped")
        self.position = position


class RowsTooLargeError(Exception):
    """The rows of a file take more bytes than Pinot can map."""


@dataclass(frozen=True)
class MappedRows:
    """Rows in a file.

    Attributes:
        count: Number of rows.
        path: The file.
        late: Columns that Pinot's ``DataTypeTransformer`` still has to convert to their stored form.
        reader: Returns a Java ``RecordReader``, given the first row and the row after the last.
    """

    count: int
    path: Path
    late: Sequence[str]
    reader: Callable[[int, int], Any]


class Mapper:
    """Maps files of one table.

    Args:
        table: The table.
        folder: An existing folder for intermediate files.
    """

    def __init__(self, table: PinotTable, folder: Path) -> None:
        self._folder = folder
        config = generator_config(table.config, table.schema, SegmentTarget("plain", folder, folder, {}))
        # The driver's own view of both: it adds the columns of timestamp indexes.
        self._table = replace(table, config=config.getTableConfig(), schema=config.getSchema())
        config_json = json.loads(str(self._table.config.toJsonString()))
        schema_json = json.loads(str(self._table.schema.toSingleLineJsonString()))
        self._late: Sequence[str] = ()
        mapped_config, mapped_schema = parse_table_config(unsorted(config_json)), self._table.schema
        self._by_segment = needs_plain_segments(config_json, schema_json)
        if self._by_segment:
            self._late = late_columns(schema_json)
            specs = self._table.schema.getAllFieldSpecs()
            single_value = [str(spec.getName()) for spec in specs if spec.isSingleValueField()]
            plain = plain_config(config_json, single_value)
            self._table = replace(self._table, config=parse_table_config(plain))
            mapped_config = parse_table_config({**plain, "ingestionConfig": None})
            mapped_schema = parse_schema(stored_schema(schema_json))
        builder = java_class(_PROCESSING + "framework.SegmentProcessorConfig$Builder")()
        self._config = builder.setTableConfig(mapped_config).setSchema(mapped_schema).build()

    def map(self, files: Sequence[SourceFile]) -> Iterator[MappedRows]:
        """Map the files in their order; yields more than one result only if rows take gigabytes.

        Each result is valid until the next one is requested.

        Raises:
            MappingError: Pinot cannot read or transform a file.
            RowsTooLargeError: The rows of a file take more bytes than Pinot can map.
        """
        begun = 0
        while begun < len(files):
            output = self._folder / f"mapped-{begun}"
            output.mkdir()
            try:
                managers, taken = self._mapped(files[begun:], begun, output)
                begun += taken
                for manager in managers:  # none without rows, else one, as rows are not partitioned
                    file = manager.getFileReader()
                    try:
                        ranges = file.getRecordReader().getRecordReaderForRange
                        yield MappedRows(int(file.getNumRows()), _data_paths(output)[0], self._late, ranges)
                    finally:
                        manager.cleanUp()
            finally:
                shutil.rmtree(output)

    def can_map(self, file: SourceFile) -> bool:
        """Return whether Pinot can read and transform the file, regardless of the size of its rows."""
        try:
            for _ in self.map([file]):
                pass
        except MappingError:
            return False
        except RowsTooLargeError:
            pass
        return True

    def _mapped(self, files: Sequence[SourceFile], begun: int, output: Path) -> tuple[list[Any], int]:
        """Return the managers of the rows, and the number of files that were read into them."""
        with _Readers(files, self._opened, lambda: _size_bytes(output) >= FULL_BYTES) as readers:
            try:
                managers = list(_segment_mapper(readers, self._config, output).map().values())
            except (jpype.JException, DataError) as error:
                raise MappingError(begun + readers.position) from error
        if _size_bytes(output) > MAX_BYTES:
            raise RowsTooLargeError(f"the rows take more than {MAX_BYTES} bytes")
        return managers, readers.position + 1

    @contextmanager
    def _opened(self, file: SourceFile) -> Iterator[Any]:
        with ExitStack() as opened:
            if self._by_segment:
                folder = opened.enter_context(build_dir(self._folder))
                reader = self._segment_reader(file, folder)
            else:
                reader = open_reader(file, self._table.config, self._table.schema)
            opened.callback(reader.close)
            yield reader

    def _segment_reader(self, file: SourceFile, folder: Path) -> Any:
        segment = build_with_pinot(self._table, file, SegmentTarget("plain", folder, folder, {}))
        reader = java_class("org.apache.pinot.segment.local.segment.readers.PinotSegmentRecordReader")()
        reader.init(java_class("java.io.File")(str(segment)), None, None, False)
        return reader


def _data_paths(output: Path) -> list[Path]:
    return list(output.glob("*/record.data"))


def _size_bytes(output: Path) -> int:
    return sum(path.stat().st_size for path in _data_paths(output))


def _segment_mapper(readers: _Readers, config: Any, output: Path) -> Any:
    mapper = java_class(_PROCESSING + "mapper.SegmentMapper")
    signatures = [
        [str(each.getTypeName()) for each in constructor.getGenericParameterTypes()]
        for constructor in mapper.class_.getConstructors()
    ]
    # 1.0 wraps each reader in a RecordReaderFileConfig, 1.1 also has a list of further transformers.
    wrapped = any("RecordReaderFileConfig" in types[0] for types in signatures)
    further = any("RecordTransformer>" in types[1] for types in signatures)
    arguments = [readers.as_java(wrapped=wrapped)]
    if further:
        arguments.append(java_class("java.util.ArrayList")())
    return mapper(*arguments, config, java_class("java.io.File")(str(output)))


class _Readers:
    """Record readers for Java, each opened when it is needed and closed before the next one.

    The mapper's loop over its list calls back once or twice per file, in the thread of the build.

    Attributes:
        position: Index of the file that was opened last, from 0.
    """

    def __init__(
        self,
        files: Sequence[SourceFile],
        opened: Callable[[SourceFile], AbstractContextManager[Any]],
        is_full: Callable[[], bool],
    ) -> None:
        self.position = -1
        self._files = files
        self._opened = opened
        self._is_full = is_full
        self._current = ExitStack()

    def __enter__(self) -> _Readers:
        return self

    def __exit__(self, *_: object) -> None:
        self._current.close()

    def as_java(self, *, wrapped: bool) -> Any:
        """Return a ``java.util.List`` of the readers.

        Args:
            wrapped: Whether each is in a ``RecordReaderFileConfig``.
        """

        def following() -> Any:
            self._current.close()
            self.position += 1
            reader = self._current.enter_context(self._opened(self._files[self.position]))
            return _file_config(reader) if wrapped else reader

        def has_following() -> bool:
            return self.position + 1 < len(self._files) and (self.position < 0 or not self._is_full())

        iterator = JProxy("java.util.Iterator", dict={"hasNext": has_following, "next": following})
        return JProxy("java.util.List", dict={"size": lambda: len(self._files), "iterator": lambda: iterator})


def _file_config(reader: Any) -> Any:
    return java_class("org.apache.pinot.spi.data.readers.RecordReaderFileConfig")(reader)
