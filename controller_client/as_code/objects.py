"""What a cluster is made of, as documents: schemas, tables, tenants, instances, consumption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller_client.common.names import TableName, TableType
from controller_client.errors import ConfigError, PinotPluginError

__all__ = ["Document", "Kind", "ObjectRef", "ref_of", "sort_order"]

Document = Mapping[str, Any]
"""A JSON object: what is in one file, or what the cluster has."""


class Kind(StrEnum):
    """Kinds of objects; the value is the folder of their files. In the order in which they are applied."""

    SCHEMA = "schemas"
    INSTANCE = "instances"
    TENANT = "tenants"
    TABLE = "tables"
    CONSUMPTION = "consumption"

    @property
    def singular(self) -> str:
        """How a message calls one of them."""
        return {Kind.CONSUMPTION: "consumption of"}.get(self, self.value.removesuffix("s"))


@dataclass(frozen=True)
class ObjectRef:
    """One object.

    Attributes:
        kind: Its kind.
        name: Its name in the cluster; of tables and their consumption with type.
    """

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.singular} {self.name}"

    @property
    def key(self) -> str:
        """The object in a word, e.g. ``tables/flights_OFFLINE``."""
        return f"{self.kind}/{self.name}"

    @classmethod
    def from_key(cls, key: str) -> ObjectRef:
        """Read what :attr:`key` wrote.

        Raises:
            ConfigError: It is no such word.
        """
        kind, slash, name = key.partition("/")
        if not slash or not name or kind not in list(Kind):
            raise ConfigError(f"{key!r} names no object", expected="e.g. tables/flights_OFFLINE")
        return cls(Kind(kind), name)

    @property
    def table(self) -> TableName:
        """The table of a table or of its consumption."""
        return TableName(self.name)


def sort_order(ref: ObjectRef) -> tuple[int, str]:
    """Return what sorts objects in the order in which they are applied."""
    return list(Kind).index(ref.kind), ref.name


def ref_of(kind: Kind, document: Document, where: str) -> ObjectRef:
    """Return which object a document is about.

    Args:
        kind: Its kind.
        document: The document.
        where: Its file, for the error.

    Raises:
        ConfigError: It does not name its object as its kind does.
    """
    if kind is Kind.TABLE:
        table_type = str(document.get("tableType") or "").upper()
        if table_type not in list(TableType):
            raise ConfigError(
                f"tableType is {document.get('tableType')!r}", expected="OFFLINE or REALTIME", where=where
            )
        name = _text(document, "tableName", where)
        return ObjectRef(kind, _with_place(where, lambda: TableName.of(name, TableType(table_type))))
    key = _NAME_KEYS[kind]
    name = _text(document, key, where)
    if kind is Kind.CONSUMPTION:
        table = _with_place(where, lambda: TableName(name))
        if table.type is not TableType.REALTIME:
            raise ConfigError(f"{table} consumes nothing", expected="a realtime table", where=where)
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


def _with_place(where: str, read: Any) -> TableName:
    try:
        name: TableName = read()
    except PinotPluginError as error:
        error.where = where
        raise
    return name
