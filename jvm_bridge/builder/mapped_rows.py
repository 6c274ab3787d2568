"""Maps many files to one file of rows, read and transformed in Java.

``RowFile.java`` passes the rows of one record reader after the other through the table's transforms, and
writes them with the classes of Pinot's own merge tasks, in the form that the driver reads, including nulls.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jpype

from controller_client.errors import DataError
from jvm_bridge.builder.driver import PinotTable, SegmentTarget, generator_config
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.pinot_classes import has_method, java_class
from jvm_bridge.builder.record_reader import open_reader
from jvm_bridge.builder.segment_times import segment_times
from jvm_bridge.builder.transformers import ROWS_PACKAGE, row_classes, row_pipeline
from jvm_bridge.java_errors import JAVA_ERRORS

__all__ = ["FULL_BYTES", "MAX_BYTES", "MappedRows", "Mapper", "MappingError", "RowsTooLargeError"]

MAX_BYTES = 2**31 - 1
"""The maximum size of one ByteBuffer; beyond it Pinot maps files in a way that newer JDKs do not allow."""
FULL_BYTES = 1 << 30
"""No further file is started after this many bytes of rows; the last file must fit below MAX_BYTES."""


class MappingError(Exception):
    """A file cannot be read or transformed; the cause has the reason.

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
        self._generator, self._zone = config, table.zone
        self._config, self._schema = config.getTableConfig(), config.getSchema()

    def map(self, files: Sequence[SourceFile]) -> Iterator[MappedRows]:
        """Map the files in their order; yields more than one result only if rows take gigabytes.

        Each result is valid until the next one is requested.

        Raises:
            MappingError: A file cannot be read or transformed.
            RowsTooLargeError: The rows of a file take more bytes than Pinot can map.
        """
        begun = 0
        while begun < len(files):
            output = self._folder / f"mapped-{begun}"
            output.mkdir()
            path = output / "record.data"
            try:
                with closing(self._row_file(output)) as rows:
                    begun = self._add(files, begun, rows, path)
                    rows.end()
                    if rows.rows():
                        late = [str(name) for name in rows.late()]
                        yield MappedRows(int(rows.rows()), path, late, rows.reader)
            finally:
                shutil.rmtree(output)

    def can_map(self, file: SourceFile) -> bool:
        """Return whether the file can be read and transformed, regardless of the size of its rows."""
        try:
            for _ in self.map([file]):
                pass
        except MappingError:
            return False
        except RowsTooLargeError:
            pass
        return True

    def _row_file(self, output: Path) -> Any:
        specs = [spec for spec in self._schema.getAllFieldSpecs() if not spec.isVirtualColumn()]
        with_nulls = bool(self._config.getIndexingConfig().isNullHandlingEnabled())
        if has_method(java_class("org.apache.pinot.spi.data.Schema"), "isEnableColumnBasedNullHandling"):
            with_nulls = with_nulls or bool(self._schema.isEnableColumnBasedNullHandling())
        return row_classes()[f"{ROWS_PACKAGE}.RowFile"](
            java_class("java.io.File")(str(output)),
            java_class("java.util.ArrayList")(specs),
            jpype.JBoolean(with_nulls),
            row_pipeline(self._generator, self._zone, segment_times(self._generator, self._zone)),
        )

    def _add(self, files: Sequence[SourceFile], begun: int, rows: Any, path: Path) -> int:
        """Add the rows of files until there are enough, and return the number of files that are done."""
        for position in range(begun, len(files)):
            try:
                reader = open_reader(files[position], self._config, self._schema, self._zone)
                with closing(reader):
                    rows.add(reader)
            except (*JAVA_ERRORS, DataError) as error:
                raise MappingError(position) from error
            size_bytes = path.stat().st_size if path.exists() else 0
            if size_bytes > MAX_BYTES:
                raise RowsTooLargeError(f"the rows take more than {MAX_BYTES} bytes")
            if size_bytes >= FULL_BYTES:
                return position + 1
        return len(files)
