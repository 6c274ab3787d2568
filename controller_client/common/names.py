"""Names of tables and segments, parsed once on input and typed from there on.

A :class:`TableName` is a string, so it can be used directly in paths, records and messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from controller_client.errors import ConfigError

__all__ = ["SegmentName", "TableName", "TableType"]

_STREAM_SEGMENT = re.compile(r".+__(?P<partition>[0-9]{1,10})__(?P<sequence>[0-9]{1,10})__[^_]+", re.DOTALL)

_DEFAULT_DATABASE = "default"


class TableType(StrEnum):
    """The types of tables (org.apache.pinot.spi.config.table.TableType)."""

    OFFLINE = "OFFLINE"
    REALTIME = "REALTIME"


class TableName(str):
    """A table's name with type, e.g. ``flights_OFFLINE``, or ``sales.flights_OFFLINE`` in a database.

    Attributes:
        raw: The name without type, e.g. ``flights``, with the database if the name has one; used in schemas
            and queries.
        type: Its type.
    """

    __slots__ = ("raw", "type")

    raw: str
    type: TableType

    def __new__(cls, text: str) -> Self:
        """Read a name.

        Args:
            text: The whole name.

        Raises:
            ConfigError: The name has no type.
        """
        name = cls.parse(text)
        if name is None:
            raise ConfigError(
                f"{str(text)!r} is not a table name with type", expected=f"{text}_OFFLINE or {text}_REALTIME"
            )
        return name

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse a name; None for a name without type.

        The prefix of the default database is dropped, as in everything that Pinot stores.
        """
        database, _, rest = text.partition(".")
        if database.lower() == _DEFAULT_DATABASE and rest and "." not in rest:
            text = rest
        for table_type in TableType:
            raw = text.removesuffix(f"_{table_type}")
            if raw and raw != text:
                name = super().__new__(cls, text)
                name.raw, name.type = str(raw), table_type
                return name
        return None

    @classmethod
    def of(cls, name: str, table_type: TableType) -> Self:
        """Parse the name, with or without type, of a table of this type.

        Raises:
            ConfigError: The name has the other type.
        """
        given = cls.parse(name)
        if given is None:
            return cls(f"{name}_{table_type}")
        if given.type is not table_type:
            raise ConfigError(
                f"{str(name)!r} is a table of type {given.type}", expected=f"a table of type {table_type}"
            )
        return given

    @property
    def database(self) -> str | None:
        """The table's database (Pinot 1.2 and later); None: the default one."""
        database, dot, _ = self.raw.partition(".")
        return database if dot else None

    def as_type(self, table_type: TableType) -> TableName:
        """Return the table with the same raw name and this type."""
        return TableName(f"{self.raw}_{table_type}")


@dataclass(frozen=True, order=True)
class SegmentName:
    """The name of a segment that consumes, or consumed, a stream: ``flights__0__17__20260101T0000Z``.

    Uploaded segments have other names, which carry no such information.

    Attributes:
        partition: Partition group.
        sequence: Its number within its partition, from 0.
        name: The full name.
    """

    partition: int
    sequence: int
    name: str

    @property
    def table(self) -> TableName:
        """The table whose stream it reads."""
        return TableName(f"{self.name.rsplit('__', 3)[0]}_{TableType.REALTIME}")

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Parse a name; None for an uploaded segment."""
        found = _STREAM_SEGMENT.fullmatch(name)
        return cls(int(found["partition"]), int(found["sequence"]), name) if found else None
