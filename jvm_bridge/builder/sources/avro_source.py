"""Reads Avro with Avro's own library in the JVM, block by block, if Pinot's reader reads the same.

``AvroFile.java`` decodes directly into arrays, which become Arrow's buffers: there are no objects for single
values on either side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache
from typing import Any

import jpype
import pyarrow as pa

from controller_client.errors import DataError
from jvm_bridge.builder.heap import max_heap_mib, of_full_heap
from jvm_bridge.builder.java_classes import classes_of
from jvm_bridge.builder.model import FileFormat
from jvm_bridge.builder.pinot_classes import has_class, is_pinot_1, java_class, root_causes
from jvm_bridge.builder.planning import TablePlan, Unsuitable, plan_column
from jvm_bridge.builder.source_file import SourceFile
from jvm_bridge.builder.sources.avro_types import AvroColumn, AvroType, planned_column
from jvm_bridge.builder.sources.source import Batch, Source, is_gzipped

__all__ = ["open_avro"]

_PACKAGE = "io.pinotplugins.avro"
_READER_CONFIG = "org.apache.pinot.plugin.inputformat.avro.AvroRecordReaderConfig"
_BATCH_ROWS = 65_536
_BATCH_BYTES = 64 << 20


def open_avro(file: SourceFile, table: TablePlan) -> Source:
    """Plan an Avro file.

    Args:
        file: The file.
        table: The plan of the table.

    Raises:
        Unsuitable: Pinot's reader is not certain to read the same; also while batches are read.
        DataError: While batches are read: a value or a block does not fit into the heap.
    """
    # Pinot 0.11 detects gzip by the name, later versions by the content.
    if not is_pinot_1() and is_gzipped(file.path) != file.path.name.endswith(".gz"):
        raise Unsuitable("its name does not match whether it is gzipped")
    try:
        with closing(_open(file)) as opened:
            types = {name: _type(opened, name) for name in table.columns}
    except jpype.JException as error:
        raise _unreadable(error) from error
    applies_logical = _applies_logical_types()
    columns = {
        name: planned_column(name, found, file.times.get(name), applies_logical=applies_logical)
        for name, found in types.items()
        if found is not None
    }
    for name in table.arguments.intersection(columns):
        _check_argument(name, columns[name])
    plans = tuple(
        plan_column(field, columns[field.name].planned if field.name in columns else None)
        for field in table.fields
    )
    return Source(plans, _batches(file, columns, table))


def _check_argument(name: str, column: AvroColumn) -> None:
    """Reject an argument of a transform or filter for which Pinot's reader returns other values.

    The table's time columns are not affected: both readers return them as numbers in the table's unit.
    """
    if pa.types.is_list(column.stored):
        raise Unsuitable(f"column {name} has arrays and is used by a transform or filter")
    if column.millis_of is not None and column.conversion is None:
        raise Unsuitable(f"column {name} is a time for Pinot's reader and is used by a transform or filter")


def _open(file: SourceFile) -> Any:
    classes = classes_of("Avro cannot be read with", _PACKAGE)
    return classes[f"{_PACKAGE}.AvroFile"](str(file.path), is_gzipped(file.path))


def _type(opened: Any, name: str) -> AvroType | None:
    found = opened.type(name)
    if found is None:
        return None
    logical = None if found.logicalType is None else str(found.logicalType)
    return AvroType(str(found.type), logical, bool(found.isArray))


@cache
def _applies_logical_types() -> bool | None:
    """Return whether Pinot's reader does so by default; None if there is no reader."""
    return bool(java_class(_READER_CONFIG)().isEnableLogicalTypes()) if has_class(_READER_CONFIG) else None


def _batches(file: SourceFile, columns: Mapping[str, AvroColumn], table: TablePlan) -> Iterator[Batch]:
    full = None
    try:
        with closing(_open(file)) as opened:
            values = {name: opened.select(name) for name in columns}
            while rows := int(opened.next(_BATCH_ROWS, _BATCH_BYTES)):
                found = {name: _column(values[name], columns[name]) for name in columns}
                yield Batch.of(found, rows, table, file.times)
    except jpype.JException as error:
        full = of_full_heap(error)
        if full is None:
            raise _unreadable(error) from error
    except pa.ArrowException as error:
        raise Unsuitable(f"Arrow cannot read it: {str(error).splitlines()[0][:200]}") from error

    if full is not None:  # not in the handler, as a cause would make it look like a heap that is too small
        raise DataError(
            f"{file.name} cannot be read as {FileFormat.AVRO}: a value or a block did not fit into the free"
            f" part of Java's heap of {max_heap_mib()} MiB",
            expected="values and blocks that are much smaller than the heap",
            where=file.where,
        )


def _unreadable(error: Any) -> Unsuitable:
    return Unsuitable(f"Avro's library cannot read it: {root_causes(error)}")


def _column(values: Any, column: AvroColumn) -> Any:
    """Return one column of a batch as an Arrow array."""
    return column.converted(_stored(values, column.stored))


def _stored(values: Any, kind: pa.DataType) -> Any:
    """Return values that Java read from the file as an Arrow array; Java's arrays become its buffers."""
    nulls = int(values.nulls())
    validity = pa.py_buffer(memoryview(values.validity())) if nulls else None
    buffers = [validity, *(pa.py_buffer(memoryview(each)) for each in values.buffers())]
    children = [_stored(values.items(), kind.value_type)] if pa.types.is_list(kind) else None
    return pa.Array.from_buffers(kind, int(values.count()), buffers, nulls, children=children)
