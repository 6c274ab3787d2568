"""Finds the row on which Pinot's driver failed, and describes the problem."""

from __future__ import annotations

import re
from typing import Any

import jpype

from controller_client.clock import Clock, SystemClock
from controller_client.errors import DataError
from jvm_bridge.builder.model import SourceFile, UnreadableFileError
from jvm_bridge.builder.pinot_classes import java_class
from jvm_bridge.builder.record_reader import open_reader
from jvm_bridge.builder.segment_times import segment_times
from jvm_bridge.builder.transformers import ROWS_PACKAGE, processor, row_pipeline
from jvm_bridge.java_errors import JAVA_ERRORS, causes, root_causes, text_of

__all__ = ["find_bad_row", "shortened"]

_SCAN_LIMIT_S = 60.0
_COLUMN = re.compile(r"for column: ?([^\s,;]+)")
_VALUE_CHARACTERS = 80
_OTHER_DATES = (
    "dates in another format need a transform in the table config, such as"
    " fromDateTime({}_text, 'dd.MM.yyyy'), and a column with that name in the file"
)
_OTHER_UNIT = (
    "if the numbers of the file have another unit than the column's format, change the format or the type"
)
_NO_TIME = (
    "give the row a time, leave it out with a filterConfig, or set the defaultNullValue of {} in the schema"
    " to a time"
)
_ROW_CLASSES = ("RecordReader", "RecordReaderFactory", "RecordExtractor", "TransformPipeline", "Transformer")


def find_bad_row(
    file: SourceFile, config: Any, error: Any, zone: str, clock: Clock | None = None
) -> DataError:
    """Read the file again row by row, with Pinot's reader and transforms, up to the row that fails.

    Args:
        file: The file on which the build failed.
        config: The ``SegmentGeneratorConfig`` of the failed build.
        error: The Java exception that the driver threw.
        zone: Time zone of texts in columns of type TIMESTAMP.
        clock: The clock, which limits the scan.

    Returns:
        An error with file, row (1-based; missing if the rows themselves are fine or the scan takes too long),
        field, value and Pinot's reason; an :class:`UnreadableFileError` if the reader cannot be opened.
    """
    cause = root_causes(error)
    failure = DataError(f"no segment could be built from {file.name}: {cause}", where=file.where)
    if not _is_of_a_row(error):
        return failure
    try:
        reader = open_reader(file, config.getTableConfig(), config.getSchema(), zone)
    except JAVA_ERRORS as open_error:
        return UnreadableFileError(
            f"{file.name} cannot be read as {file.file_format}: {root_causes(open_error)}",
            expected=f"a complete file in format {file.file_format}",
            where=file.where,
        )
    try:
        return _scan(file, config, reader, zone, clock or SystemClock()) or failure
    finally:
        reader.close()


def _is_of_a_row(error: Any) -> bool:
    """Return whether Java was reading or transforming rows; if not, a scan of all rows finds nothing."""
    if isinstance(error, UnicodeDecodeError):
        return True  # it has no frames
    names = [str(frame.getClassName()) for cause in causes(error) for frame in cause.getStackTrace()]
    return any(name.endswith(_ROW_CLASSES) or name.startswith(ROWS_PACKAGE) for name in names)


def _scan(file: SourceFile, config: Any, reader: Any, zone: str, clock: Clock) -> DataError | None:
    transform = processor(row_pipeline(config, zone, segment_times(config, zone)))
    record = java_class("org.apache.pinot.spi.data.readers.GenericRow")()
    deadline = clock.monotonic() + _SCAN_LIMIT_S
    row = 0
    while clock.monotonic() < deadline:
        row += 1
        try:
            if not reader.hasNext():
                return None
            record.clear()
            record = reader.next(record)
        except JAVA_ERRORS as error:
            if _unfit(error) is not None:
                return _row_error(file, row, record, config.getSchema(), error)
            return DataError(
                f"{file.name}, row {row}: cannot be read as {file.file_format}: {root_causes(error)}",
                expected=f"a complete file in format {file.file_format}",
                where=f"{file.where}, row {row}",
            )
        try:
            transform(record)
        except JAVA_ERRORS as error:
            return _row_error(file, row, record, config.getSchema(), error)
    return None


def _row_error(file: SourceFile, row: int, record: Any, schema: Any, error: Any) -> DataError:
    unfit = _unfit(error)
    cause = root_causes(error)
    match = _COLUMN.search(cause)
    if unfit is not None:
        field, value, cause = str(unfit.column), unfit.value, str(unfit.reason)
    elif match is not None:
        field = match.group(1)
        value = record.getValue(field)  # still as it was read
    else:
        return DataError(f"{file.name}, row {row}: {cause}", where=f"{file.where}, row {row}")
    if field in file.folders and value is not None and text_of(value) == file.folders[field]:
        cause += ", from the name of its folder"
    spec = schema.getFieldSpecFor(field)
    is_time = spec is not None and str(spec.getFieldType()) == "DATE_TIME"
    found = "" if value is None else f"found {shortened(value)}; "
    return DataError(
        f"{file.name}, row {row}, field {field}: {found}{cause}",
        expected=_expected(spec, is_time=is_time) if spec is not None else None,
        where=f"{file.where}, row {row}, field {field}",
        remedy=_remedy(field, value) if is_time else None,
    )


def _remedy(field: str, value: Any | None) -> str:
    if value is None:
        return _NO_TIME.format(field)
    return _OTHER_UNIT if isinstance(value, jpype.JClass("java.lang.Number")) else _OTHER_DATES.format(field)


def _unfit(error: Any) -> Any | None:
    """Return the cause that is an ``UnfitException``."""
    return next(
        (each for each in causes(error) if str(each.getClass().getName()).endswith(".UnfitException")), None
    )


def _expected(spec: Any, *, is_time: bool) -> str:
    data_type = str(spec.getDataType())
    text = f"{'a value' if spec.isSingleValueField() else 'values'} of type {data_type}"
    if data_type == "TIMESTAMP":
        return f"{text}: milliseconds since 1970, or yyyy-MM-dd HH:mm:ss[.SSS]"
    return f"{text} in the format {spec.getFormat()}" if is_time else text


def shortened(value: Any) -> str:
    """Return the value as text, at most 80 characters."""
    if isinstance(value, jpype.JArray):
        text = "[" + ", ".join(text_of(each) for each in value[:10]) + "]"
    else:
        text = text_of(value)
    return repr(text if len(text) <= _VALUE_CHARACTERS else text[: _VALUE_CHARACTERS - 1] + "…")
