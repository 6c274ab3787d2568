"""Reads Parquet with Arrow if Pinot 0.11.0's reader (parquet-avro, no logical types) would read the same.

The *stored* values count: Pinot uses the number of a timestamp or date unchanged, in the file's unit. Columns
that the table declares as times are converted after either reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from controller_client.models.epoch_format import UNIT_NS
from jvm_bridge.builder.planning import TablePlan, Unsuitable, plan_column
from jvm_bridge.builder.sources.lists import with_values
from jvm_bridge.builder.sources.source import Batch, Source
from jvm_bridge.time_conversion import MILLI_NS, TimeConversion

__all__ = ["open_parquet", "read_columns"]

_BATCH_ROWS = 65_536
_BUFFER_BYTES = 128 << 10  # of each column
# If the file contains an Avro schema, parquet-avro reads it by that schema.
_AVRO_SCHEMA_KEYS = (b"parquet.avro.schema", b"avro.schema")

_BY_PHYSICAL_TYPE: Mapping[tuple[str, str], pa.DataType] = {
    ("BOOLEAN", "NONE"): pa.bool_(),
    ("INT32", "NONE"): pa.int32(),
    ("INT32", "INT"): pa.int32(),
    ("INT32", "DATE"): pa.int32(),
    ("INT64", "NONE"): pa.int64(),
    ("INT64", "INT"): pa.int64(),
    ("INT64", "TIMESTAMP"): pa.int64(),
    ("INT96", "NONE"): pa.int64(),
    ("FLOAT", "NONE"): pa.float32(),
    ("DOUBLE", "NONE"): pa.float64(),
    ("BYTE_ARRAY", "STRING"): pa.large_string(),
    ("BYTE_ARRAY", "NONE"): pa.large_binary(),
}


@dataclass(frozen=True)
class _Stored:
    """How a column is stored: its type for Pinot, the unit of a timestamp, and its conversion."""

    source_type: pa.DataType
    unit: str | None
    is_list: bool
    conversion: TimeConversion | None = None


def read_columns(path: Path) -> tuple[Mapping[str, int | None], bool]:
    """Return the file's columns, each with its unit in nanoseconds if it is a point in time.

    Returns:
        The columns, and whether only Pinot's native reader can read them: there are INT96 columns, or names
        that Avro does not allow.

    Raises:
        Unsuitable: A column's name appears twice.
    """
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise Unsuitable(f"it has the column {twice!r} twice")
        steps: dict[str, int | None] = dict.fromkeys(names)
        for field in file.schema_arrow:
            leaves = _leaves(file, field.name)
            if len(leaves) == 1 and not pa.types.is_struct(field.type):
                steps[field.name] = _step_ns(leaves[0])
        leaves = _leaves(file)
        parts = [*names, *(part for leaf in leaves for part in leaf.path.split("."))]
        is_for_avro = all(leaf.physical_type != "INT96" for leaf in leaves) and all(map(_is_avro_name, parts))
        return steps, not is_for_avro


def _is_avro_name(name: str) -> bool:
    """Return whether Java's Avro takes a name."""
    characters = name.replace("_", "a")
    return characters[:1].isalpha() and all(
        (character.isalpha() or character.isdecimal()) and character <= "\uffff" for character in characters
    )


def _leaves(file: Any, name: str | None = None) -> list[Any]:
    """Return the leaf columns of the file, or those of one of its fields."""
    leaves = [file.schema.column(number) for number in range(len(file.schema))]
    return [leaf for leaf in leaves if name is None or leaf.path == name or leaf.path.startswith(name + ".")]


def _step_ns(leaf: Any) -> int | None:
    if leaf.physical_type == "INT96":
        return MILLI_NS  # both readers return milliseconds
    logical = json.loads(leaf.logical_type.to_json())
    if logical["Type"] == "Date":
        return UNIT_NS["DAYS"]
    return UNIT_NS.get(str(logical.get("timeUnit")).upper()) if logical["Type"] == "Timestamp" else None


def open_parquet(path: Path, table: TablePlan, times: Mapping[str, TimeConversion]) -> Source:
    """Plan a Parquet file.

    Args:
        path: The file.
        table: The plan of the table.
        times: Columns whose numbers are converted.

    Raises:
        Unsuitable: Arrow is not certain to read the same as parquet-avro; also while batches are read.
    """
    try:
        # Without these options each row group is read at once, and the file decides how large these are.
        file = pq.ParquetFile(
            path, coerce_int96_timestamp_unit="ms", buffer_size=_BUFFER_BYTES, pre_buffer=False
        )
    except (pa.ArrowException, OSError) as error:
        raise Unsuitable(f"Arrow cannot read it: {str(error).splitlines()[0][:200]}") from error
    names = file.schema_arrow.names
    metadata = file.metadata.metadata or {}
    if any(key in metadata for key in _AVRO_SCHEMA_KEYS):
        raise Unsuitable("the file contains an Avro schema")
    stored = {name: _stored(file, name, times.get(name)) for name in table.columns if name in names}
    for name in sorted(table.arguments.intersection(stored)):
        if stored[name].is_list:
            raise Unsuitable(f"column {name} has lists and is used by a transform or filter")
    plans = tuple(plan_column(field, _planned_type(stored.get(field.name))) for field in table.fields)
    return Source(plans, _batches(file, stored, table))


def _stored(file: Any, name: str, conversion: TimeConversion | None) -> _Stored:
    leaves = _leaves(file, name)
    arrow_type = file.schema_arrow.field(name).type
    is_list = pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type)
    if (
        "." in name
        or pa.types.is_struct(arrow_type)
        or len(leaves) != 1
        or leaves[0].max_repetition_level != int(is_list)
    ):
        raise Unsuitable(f"column {name} is nested: {arrow_type}")
    leaf = leaves[0]
    if is_list and len(leaf.path.split(".")) != 3:
        raise Unsuitable(f"column {name} is a list with an unsupported layout: {leaf.path}")
    logical = json.loads(leaf.logical_type.to_json())
    source_type = _BY_PHYSICAL_TYPE.get((leaf.physical_type, logical["Type"].upper()))
    unit = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}.get(str(logical.get("timeUnit")))
    if leaf.physical_type == "INT96":
        unit = "ms"
    unsigned = logical.get("isSigned") is False and logical["bitWidth"] > 16
    if source_type is None or unsigned:
        raise Unsuitable(f"column {name} is stored as {leaf.physical_type} {logical['Type']}")
    if conversion is not None:
        source_type = pa.int64()
    return _Stored(source_type, unit, is_list, conversion)


def _planned_type(stored: _Stored | None) -> pa.DataType | None:
    if stored is None:
        return None
    return pa.large_list(stored.source_type) if stored.is_list else stored.source_type


def _batches(file: Any, stored: Mapping[str, _Stored], table: TablePlan) -> Iterator[Batch]:
    converted = {name for name, kind in stored.items() if kind.conversion is not None}
    try:
        with file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=list(stored), use_threads=False):
                columns = {name: _as_stored(batch.column(name), kind) for name, kind in stored.items()}
                yield Batch.of(columns, batch.num_rows, table, converted)
    except (pa.ArrowException, OSError) as error:
        raise Unsuitable(f"Arrow cannot read it: {str(error).splitlines()[0][:200]}") from error


def _as_stored(column: Any, kind: _Stored) -> Any:
    if kind.is_list:
        return with_values(column, lambda values: _as_stored(values, replace(kind, is_list=False)))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind.unit is not None:
        # The file may declare a coarser unit for Arrow than the one that it stores.
        column = column.cast(pa.timestamp(kind.unit, getattr(column.type, "tz", None)))
    if pa.types.is_temporal(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    if kind.conversion is not None:
        return kind.conversion.applied(column)
    return column.cast(kind.source_type)
