"""Opens a file with Pinot's own record reader; its time columns come in the units of the table.

Pinot 0.11's readers hand on the number that the file stores, in the file's unit, and no transform of Pinot's
can change a column in place. So a reader of ours stands before Pinot's. It is written in Java, since it is
called for each row.
"""

from __future__ import annotations

import threading
from typing import Any

import jpype

from controller_client.errors import ConfigError
from jvm_bridge.builder.csv_source import check_widths
from jvm_bridge.builder.model import FileFormat
from jvm_bridge.builder.pinot_classes import java_class, java_file_format, root_causes, source_fields
from jvm_bridge.builder.source_file import SourceFile
from jvm_bridge.changed_classes import ChangedClasses, changing
from jvm_bridge.time_conversion import MILLI_NS

__all__ = ["open_reader", "reader_config"]

_READERS = "org.apache.pinot.spi.data.readers"
_CLASS = f"{_READERS}.TimeConvertingRecordReader"
_FIELDS = (
    f"private {_READERS}.RecordReader reader;",
    "private String[] names;",
    "private long[] perMilli;",
    "private long[] multipliers;",
    "private long[] divisors;",
    "private boolean[] areInt;",
)
# Javassist's compiler does no boxing.
_METHODS = (
    f"""public void set({_READERS}.RecordReader reader, String[] names, long[] perMilli, long[] multipliers,
            long[] divisors, boolean[] areInt) {{
        this.reader = reader;
        this.names = names;
        this.perMilli = perMilli;
        this.multipliers = multipliers;
        this.divisors = divisors;
        this.areInt = areInt;
    }}""",
    """private Object converted(Object value, int column) {
        if (value instanceof Object[]) {
            Object[] values = (Object[]) value;
            Object[] all = new Object[values.length];
            for (int i = 0; i < values.length; i++) {
                all[i] = converted(values[i], column);
            }
            return all;
        }
        long number;
        if (value instanceof java.sql.Timestamp && perMilli[column] > 0) {
            // Where Pinot's reader heeds the file's unit itself.
            number = Math.multiplyExact(((java.sql.Timestamp) value).getTime(), perMilli[column]);
        } else if (value instanceof Long || value instanceof Integer) {
            number = ((Number) value).longValue();
        } else {
            return value;
        }
        number = Math.multiplyExact(number, multipliers[column]);
        number = Math.floorDiv(number, divisors[column]);
        if (areInt[column]) {
            return Integer.valueOf(Math.toIntExact(number));
        }
        return Long.valueOf(number);
    }""",
    f"""public void init(java.io.File file, java.util.Set fields, {_READERS}.RecordReaderConfig config) {{
        reader.init(file, fields, config);
    }}""",
    "public boolean hasNext() { return reader.hasNext(); }",
    f"""public {_READERS}.GenericRow next({_READERS}.GenericRow row) {{
        row = reader.next(row);
        for (int i = 0; i < names.length; i++) {{
            Object value = row.getValue(names[i]);
            if (value != null) {{
                try {{
                    row.putValue(names[i], converted(value, i));
                }} catch (ArithmeticException e) {{
                    throw new RuntimeException("The time does not fit, for column: " + names[i], e);
                }}
            }}
        }}
        return row;
    }}""",
    f"public {_READERS}.GenericRow next() {{ return next(new {_READERS}.GenericRow()); }}",
    "public void rewind() { reader.rewind(); }",
    "public void close() { reader.close(); }",
)
_lock = threading.Lock()


def open_reader(file: SourceFile, table_config: Any, schema: Any) -> Any:
    """Open a file; Java exceptions pass through.

    Args:
        file: A file that was made ready.
        table_config: Pinot's ``TableConfig``.
        schema: Pinot's ``Schema``.

    Returns:
        A Java ``RecordReader``.

    Raises:
        DataError: A row of a CSV file has more values than the header has names.
        ConfigError: Pinot's reader does not know a property of the reader config.
    """
    if file.file_format is FileFormat.CSV:
        check_widths(file)
    reader = java_class(f"{_READERS}.RecordReaderFactory").getRecordReader(
        java_file_format(file.file_format),
        java_class("java.io.File")(str(file.path)),
        source_fields(table_config, schema),
        reader_config(file),
    )
    if not file.times:
        return reader
    names = list(file.times)
    converting = _converting_class()()
    converting.set(
        reader,
        jpype.JArray(jpype.JString)(names),
        jpype.JArray(jpype.JLong)([MILLI_NS // file.times[name].from_ns for name in names]),
        jpype.JArray(jpype.JLong)([file.times[name].multiplier for name in names]),
        jpype.JArray(jpype.JLong)([file.times[name].divisor for name in names]),
        jpype.JArray(jpype.JBoolean)([_is_int(schema, name) for name in names]),
    )
    return converting


def _is_int(schema: Any, name: str) -> bool:
    spec = schema.getFieldSpecFor(name)
    return spec is not None and str(spec.getDataType()) == "INT"


def _converting_class() -> Any:
    with _lock:
        try:
            return jpype.JClass(_CLASS)
        except TypeError:
            pass  # the first of this JVM
        with changing(
            "times of Parquet and Avro files cannot be converted in this version of Pinot",
            remedy="write them in the unit of the table's time columns",
        ):
            classes = ChangedClasses(f"{_READERS}.RecordReader")
            made = classes.pool.makeClass(_CLASS)
            made.addInterface(classes.get(f"{_READERS}.RecordReader"))
            for field in _FIELDS:
                classes.add_field(made, field)
            made.addConstructor(jpype.JClass("javassist.CtNewConstructor").defaultConstructor(made))
            for source in _METHODS:
                classes.add_method(made, source)
            classes.load(made)
        return jpype.JClass(_CLASS)


def reader_config(file: SourceFile) -> Any | None:
    """Return Pinot's ``RecordReaderConfig`` for a file, or None for Pinot's defaults.

    Raises:
        ConfigError: Pinot's reader of that format does not know a property.
    """
    config = file.reader_config
    if file.has_int96:
        config = {"useParquetAvroRecordReader": "false", **(config or {})}
    if config is None:
        return None
    properties = java_class("java.util.HashMap")()
    for key, value in config.items():
        properties.put(key, value)
    factory = java_class(f"{_READERS}.RecordReaderFactory")
    try:
        return factory.getRecordReaderConfig(java_file_format(file.file_format), properties)
    except jpype.JException as error:
        raise ConfigError(
            f"Pinot's {file.file_format} reader does not take these properties: {root_causes(error)}",
            expected="the properties of Pinot's record reader config, e.g. delimiter, header",
        ) from error
