"""The objects of a cluster as documents: schemas, tables, tenants, instances, consumption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller_client.common.names import TableName, TableType
from controller_client.errors import ConfigError, PinotPluginError

__all__ = ["Document", "Kind", "ObjectRef", "ref_of", "sort_order"]

Document = Mapping[str, Any]
"""A JSON object: the content of one file, or an object in the cluster."""


class Kind(StrEnum):
    """Kinds of objects, in the order in which they are applied; the value is the folder of their files."""

    SCHEMA = "schemas"
    INSTANCE = "instances"
    TENANT = "tenants"
    TABLE = "tables"
    CONSUMPTION = "consumption"

    @property
    def singular(self) -> str:
        """The name of one such object in messages."""
        return {Kind.CONSUMPTION: "consumption of"}.get(self, self.value.removesuffix("s"))


@dataclass(frozen=True)
class ObjectRef:
    """One object.

    Attributes:
        kind: Its kind.
        name: Its name in the cluster; for tables and consumption, with type.
    """

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.singular} {self.name}"

    @property
    def key(self) -> str:
        """The object as one word, e.g. ``tables/flights_OFFLINE``."""
        return f"{self.kind}/{self.name}"

    @classmethod
    def from_key(cls, key: str) -> ObjectRef:
        """Read what :attr:`key` wrote.

        Raises:
            ConfigError: It is not a valid key.
        """
        kind, slash, name = key.partition("/")
        if not slash or not name or kind not in list(Kind):
            raise ConfigError(f"{key!r} is not an object", expected="e.g. tables/flights_OFFLINE")
        return cls(Kind(kind), name)

    @property
    def table(self) -> TableName:
        """The table, for a table or its consumption."""
        return TableName(self.name)


def sort_order(ref: ObjectRef) -> tuple[int, str]:
    """Return a key that sorts objects in the order in which they are applied."""
    return list(Kind).index(ref.kind), ref.name


def ref_of(kind: Kind, document: Document, where: str) -> ObjectRef:
    """Return the object that a document describes.

    Args:
        kind: Kind of the object.
        document: The document.
        where: Its file, for error messages.

    Raises:
        ConfigError: It does not name its object as this kind requires.
    """
    if kind is Kind.TABLE:
        table_type = str(document.get("tableType") or "").upper()
        if table_type not in list(TableType):
            raise ConfigError(
                f"tableType is {document.get('tableType')!r}", expected="OFFLINE or REALTIME", where=where
            )
        name = _text(document, "tableName", where)
        return ObjectRef(kind, _naming_file(where, lambda: TableName.of(name, TableType(table_type))))
    key = _NAME_KEYS[kind]
    name = _text(document, key, where)
    if kind is Kind.CONSUMPTION:
        table = _naming_file(where, lambda: TableName(name))
        if table.type is not TableType.REALTIME:
            raise ConfigError(f"{table} does not consume a stream", expected="a realtime table", where=where)
    return ObjectRef(kind, name)


_NAME_KEYS = {
    Kind.SCHEMA: "schemaName",
    Kind.INSTANCE: "instance",
    Kind.TENANT: "tenant",
    Kind.CONSUMPTION: "table",
}


def _text(document: Document, key: str, where: str) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value.strip() or "/" in value:
        raise ConfigError(f"{key} is {value!r}", expected="a name", where=where)
    return value


def _naming_file(where: str, read: Any) -> TableName:
    try:
        name: TableName = read()
    except PinotPluginError as error:
        error.where = where
        raise
    return name
