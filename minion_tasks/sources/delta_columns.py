"""The columns of a Delta table: their names in its files, and how a file's rows become rows of the table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from controller_client.errors import DataError
from minion_tasks.sources.base import Columns

__all__ = ["DeltaColumns"]

_PHYSICAL = "delta.columnMapping.physicalName"


class DeltaColumns:
    """The columns that a Pinot table reads.

    Args:
        schema_json: The schema in the table's metadata.
        columns: Names of the columns to read; None: all.
        types: The table's columns as Arrow types.
    """

    def __init__(self, schema_json: str, columns: Columns, types: pa.Schema) -> None:
        fields = json.loads(schema_json)["fields"]
        self._fields = [field for field in fields if columns is None or field["name"] in columns]
        self._columns = columns
        self.schema = pa.schema([types.field(field["name"]) for field in self._fields])
        """The columns that are read, as Arrow types."""

    @property
    def identity(self) -> Any:
        """What differs if the columns are read from other fields or as other types; a value of JSON."""
        return [(f["name"], _physical(f), f["type"]) for f in sorted(self._fields, key=lambda f: f["name"])]

    def are_those_of(self, file: pa.Schema, partition: Mapping[str, pa.Scalar]) -> bool:
        """Return whether a data file has each column with its name and type, and no other one by a name.

        Args:
            file: The file's columns.
            partition: The values of the columns that are not in the file.
        """
        present = {field.name: field.type for field in file}
        for field in self._fields:
            name = field["name"]
            is_plain = not partition.keys() & {name} and _is_named_as_in_files(field)
            if not is_plain or present.pop(name, None) != self.schema.field(name).type:
                return False
        return not (present if self._columns is None else present.keys() & self._columns)

    def project(self, batch: pa.RecordBatch, partition: Mapping[str, pa.Scalar]) -> pa.RecordBatch:
        """Return rows of a file as rows of the table.

        Raises:
            DataError: A value of the file does not fit the table's type.
        """
        arrays = []
        for field, target in zip(self._fields, self.schema, strict=True):
            physical = _physical(field)
            value = partition.get(physical, partition.get(field["name"]))
            if value is not None:
                array: pa.Array = pa.repeat(value, batch.num_rows)
            elif physical in batch.schema.names:
                column = batch.column(physical)
                array = column.view(_named(column.type, field["type"]))
            else:
                array = pa.nulls(batch.num_rows, target.type)
            try:
                arrays.append(array.cast(target.type))
            except pa.ArrowException as error:
                raise DataError(
                    f"column {field['name']!r} of a data file has the type {array.type}",
                    expected=f"{target.type}, as the Delta table says",
                ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _physical(field: Mapping[str, Any]) -> str:
    return str(field["metadata"].get(_PHYSICAL, field["name"]))


def _is_named_as_in_files(field: Mapping[str, Any]) -> bool:
    """Whether a field and those within it have the same names in the table and in its files."""
    return _physical(field) == field["name"] and all(
        map(_is_named_as_in_files, _fields_within(field["type"]))
    )


def _fields_within(kind: Any) -> Iterator[Mapping[str, Any]]:
    match kind:
        case {"type": "struct", "fields": fields}:
            yield from fields
        case {"type": "array", "elementType": element}:
            yield from _fields_within(element)
        case {"type": "map", "keyType": key, "valueType": value}:
            yield from _fields_within(key)
            yield from _fields_within(value)


def _named(there: pa.DataType, kind: Any) -> pa.DataType:
    """Return the type of a file's column with the names of the table for the fields within it."""
    match kind:
        case {"type": "struct", "fields": fields}:
            by_name = {_physical(field): field for field in fields}
            named = []
            for index in range(there.num_fields):
                child = there.field(index)
                field = by_name.get(child.name)
                # A dropped field must not pass for a new one of its name.
                name = f"dropped {index}" if field is None else field["name"]
                inner = child.type if field is None else _named(child.type, field["type"])
                named.append(pa.field(name, inner, child.nullable))
            return pa.struct(named)
        case {"type": "array", "elementType": element}:
            return pa.list_(there.value_field.with_type(_named(there.value_type, element)))
        case {"type": "map", "keyType": key, "valueType": value}:
            return pa.map_(_named(there.key_type, key), _named(there.item_type, value))
    return there
