"""Reads the rows of a Parquet, ORC, Avro or Arrow file one by one, with the values that the file means.

Arrow reads columns in batches, and ``ColumnRows.java`` takes the rows from these.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow as pa
from jpype import JProxy

from jvm_bridge.builder.expressions.java_columns import argument_of
from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.planning import MIXED, NESTED
from jvm_bridge.builder.sources.file_columns import FileColumns, by_row
from jvm_bridge.builder.sources.json_text import json_texts
from jvm_bridge.builder.transformers import ROWS_PACKAGE, row_classes

__all__ = ["column_rows"]


def column_rows(
    file: SourceFile,
    columns: FileColumns,
    names: Collection[str],
    *,
    ints: Collection[str],
    texts: Collection[str],
) -> Any:
    """Return a Java ``RecordReader``.

    Args:
        file: The file.
        columns: Its columns.
        names: Names of the columns to read; all if there are none.
        ints: Columns of which a time is an Integer for functions.
        texts: Columns of which lists, maps and structs are passed on as JSON.
    """
    classes = row_classes()
    read = [name for name in columns.types if not names or name in names]
    batches = _Batches(file, columns, read, ints, texts)
    proxy = JProxy(classes[f"{ROWS_PACKAGE}.ColumnRows$Batches"], inst=batches)
    return classes[f"{ROWS_PACKAGE}.ColumnRows"](proxy)


class _Batches:
    """Implements ``ColumnRows.Batches``; its methods are called by Java, in the thread of the build."""

    def __init__(
        self,
        file: SourceFile,
        columns: FileColumns,
        names: Sequence[str],
        ints: Collection[str],
        texts: Collection[str],
    ) -> None:
        self._file = file
        self._columns = columns
        self._names = names
        self._ints = ints
        self._texts = texts
        self._opened: Generator[Any, None, None] | None = None

    def open(self) -> None:
        self.close()
        self._opened = self._batches()

    def next(self) -> Any | None:
        return None if self._opened is None else next(self._opened, None)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _batches(self) -> Generator[Any, None, None]:
        classes, begin = row_classes(), 0
        for batch in self._columns.batches(self._names):
            rows = classes[f"{ROWS_PACKAGE}.ColumnRows$Batch"](batch.rows)
            for name, column in batch.columns.items():
                rows.put(name, by_row(self._file, name, column, begin, partial(self._argument, name)))
            begin += batch.rows
            yield rows

    def _argument(self, name: str, column: Any) -> Any:
        kind = self._columns.types[name]
        if name in self._texts and pa.types.is_nested(kind) and kind != MIXED:
            column, kind = column if kind == NESTED else json_texts(column), pa.large_string()
        if name in self._columns.converted and name in self._ints:
            with suppress(pa.ArrowInvalid):  # the row of such a number is named when it is converted
                column, kind = column.cast(pa.int32()), pa.int32()
        return argument_of(row_classes(), column, kind)
