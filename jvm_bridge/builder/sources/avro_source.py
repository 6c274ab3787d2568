"""Reads Avro with Avro's own library in the JVM, block by block.

``AvroFile.java`` decodes directly into arrays, which become Arrow's buffers: there are no objects for single
values on either side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import pyarrow as pa

from controller_client.errors import DataError, UnsupportedError
from jvm_bridge.builder.heap import max_heap_mib, of_full_heap
from jvm_bridge.builder.java_classes import classes_of
from jvm_bridge.builder.model import SourceFile, UnreadableFileError
from jvm_bridge.builder.pinot_classes import has_class, has_method, java_class
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.sources.avro_types import AvroColumn, AvroType, planned_column
from jvm_bridge.builder.sources.file_columns import FileColumns, by_row
from jvm_bridge.builder.sources.java_arrays import ARRAYS_PACKAGE, arrow_array
from jvm_bridge.builder.sources.source import Batch, is_gzipped
from jvm_bridge.builder.transformers import ROWS_PACKAGE
from jvm_bridge.input_rules import FileFormat
from jvm_bridge.java_errors import JAVA_ERRORS, root_causes

__all__ = ["applies_logical_types_by_default", "avro_columns"]

_PACKAGE = "io.pinotplugins.avro"
_READER_CONFIG = "org.apache.pinot.plugin.inputformat.avro.AvroRecordReaderConfig"
_FLAG = "isEnableLogicalTypes"
"""Pinot 1.6 no longer has it: its reader always applies them."""
_BATCH_ROWS = 65_536
_BATCH_BYTES = 64 << 20


def avro_columns(file: SourceFile) -> FileColumns:
    """Return the columns of an Avro file.

    Raises:
        UnreadableFileError: Avro's library cannot read it; also while batches are read.
        DataError: While batches are read: a time is out of range, or a value or a block does not fit into
            the heap.
    """
    applies_logical = _applies_logical_types(file)
    try:
        with closing(_open(file)) as opened:
            field_types = {str(name): _type(opened.type(name)) for name in opened.names()}
    except JAVA_ERRORS as error:
        raise _unreadable(file, error) from error
    columns = {
        name: planned_column(
            kind, file.times.get(name), applies_logical=applies_logical, keeps_times=file.keeps_times
        )
        for name, kind in field_types.items()
    }
    types = {name: column.planned for name, column in columns.items()}
    return FileColumns(types, partial(_batches, file, columns), frozenset(file.times))


def _open(file: SourceFile) -> Any:
    try:
        classes = classes_of("Avro cannot be read with", _PACKAGE, ARRAYS_PACKAGE, ROWS_PACKAGE)
    except Unsuitable as reason:
        raise UnsupportedError(str(reason), expected="a JDK, not only a JRE") from reason
    return classes[f"{_PACKAGE}.AvroFile"](str(file.path), is_gzipped(file.path))


def _type(found: Any) -> AvroType:
    logical = None if found.logicalType is None else str(found.logicalType)
    return AvroType(str(found.type), logical, bool(found.isArray))


def _applies_logical_types(file: SourceFile) -> bool:
    """Return whether Pinot's reader does so: the reader property, or its default."""
    given = (file.reader_config or {}).get("enableLogicalTypes")
    if given is not None:
        return given.strip().lower() == "true"
    return applies_logical_types_by_default()


def applies_logical_types_by_default() -> bool:
    """Return whether this Pinot's reader applies logical types unless a property says otherwise.

    Since 1.6 it has no such property; see ``SourceFile.keeps_times``.
    """
    if not has_class(_READER_CONFIG):
        return False
    config = java_class(_READER_CONFIG)
    return has_method(config, _FLAG) and bool(getattr(config(), _FLAG)())


def _batches(file: SourceFile, columns: Mapping[str, AvroColumn], names: Sequence[str]) -> Iterator[Batch]:
    full, begin = None, 0
    with closing(_open(file)) as opened:
        try:
            values = {name: opened.select(name) for name in names if columns[name].stored != pa.null()}
            while rows := int(opened.next(_BATCH_ROWS, _BATCH_BYTES)):
                arrays = {}
                for name in names:
                    column = columns[name]
                    stored = arrow_array(values[name], column.stored) if name in values else pa.nulls(rows)
                    arrays[name] = by_row(file, name, stored, begin, column.converted)
                yield Batch(arrays, rows)
                begin += rows
        except JAVA_ERRORS as error:
            full = of_full_heap(error)
            if full is None:
                row = int(opened.rows()) + 1
                raise DataError(
                    f"{file.name}, row {row}: cannot be read as {FileFormat.AVRO}: {root_causes(error)}",
                    expected="a complete Avro file",
                    where=f"{file.where}, row {row}",
                ) from error

    if full is not None:  # not in the handler, as a cause would make it look like a heap that is too small
        raise DataError(
            f"{file.name} cannot be read as {FileFormat.AVRO}: a value or a block did not fit into the free"
            f" part of Java's heap of {max_heap_mib()} MiB",
            expected="values and blocks that are much smaller than the heap",
            where=file.where,
        )


def _unreadable(file: SourceFile, error: Any) -> UnreadableFileError:
    return UnreadableFileError(
        f"{file.name} cannot be read as {FileFormat.AVRO}: {root_causes(error)}",
        expected="a complete Avro file",
        where=file.where,
    )
