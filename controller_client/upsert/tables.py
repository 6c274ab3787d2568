"""Finds the upsert tables that queries name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller_client.common.names import TableName, TableType
from controller_client.common.parsing import whole_number
from controller_client.helix.table_config import TABLES_PATH, read_table_config
from controller_client.stream.config import StreamConfig
from controller_client.upsert.misregistered import check_table
from controller_client.upsert.rewriting import RefusedQueryError
from controller_client.upsert.settings import UpsertSettings, is_upsert
from controller_client.zookeeper import PropertyStore

__all__ = [
    "REWRITTEN",
    "QueriedTable",
    "TableNames",
    "VersionOptions",
    "find_table",
    "is_offline_name",
    "raw_name",
]

REWRITTEN = "upsertRewritten"
"""Query option by which a client tells a broker with the hook that the SQL already has the condition."""


@dataclass(frozen=True)
class QueriedTable:
    """An upsert table named in a query.

    Attributes:
        table: Name with type.
        settings: Its settings.
        stream: Its input stream; may contain credentials, so it is never in a repr.
        is_hybrid: Whether an offline table of the same name exists.
        by_pinot: Whether Pinot's own upsert or dedup also replaces or drops its rows.
    """

    table: TableName
    settings: UpsertSettings
    stream: StreamConfig
    is_hybrid: bool
    by_pinot: bool = False

    def check(self, name: str, options: Mapping[str, str]) -> None:
        """Refuse a query that cannot be answered at one version.

        Args:
            name: The table's name in the query.
            options: The query's options.

        Raises:
            RefusedQueryError: The table is hybrid, or the query asks for its offline part, the multi-stage
                engine or null handling.
        """
        self.check_hybrid(name)
        if _is_true(options, "useMultistageEngine"):
            raise RefusedQueryError(
                f"the multi-stage engine cannot answer for the upsert table {name} at one version",
                where=self.table,
                remedy="query without useMultistageEngine, or with the option skipUpsert=true",
            )
        if _is_true(options, "enableNullHandling"):
            # Rows arrive without versions, so null vectors record the versions as null forever.
            raise RefusedQueryError(
                f"with enableNullHandling the versions of {name} would be read as nulls",
                where=self.table,
                remedy="query without enableNullHandling, or with the option skipUpsert=true",
            )

    def check_hybrid(self, name: str) -> None:
        """Refuse a query of an offline table, or of a table whose rows Pinot itself replaces.

        Args:
            name: The table's name in the query.

        Raises:
            RefusedQueryError: The table is hybrid, the query names its offline part, or it also uses Pinot's
                own upsert.
        """
        if self.by_pinot:
            raise RefusedQueryError(
                f"{name} also has Pinot's own upsertConfig or dedupConfig: rows are missing at every version",
                where=self.table,
                remedy="remove them from the table's config, or query with the option skipUpsert=true",
            )
        if self.is_hybrid or is_offline_name(name):
            raise RefusedQueryError(
                f"{name} is both an upsert table and an offline table: rows of the offline table have no "
                f"versions",
                where=self.table,
                remedy="delete the offline table, or query with the option skipUpsert=true",
            )


@dataclass(frozen=True)
class VersionOptions:
    """The version options of a query.

    Attributes:
        skip: ``skipUpsert=true``: all rows, whatever their versions.
        version: ``asOfVersion``: the newest version up to this one.
        timestamp_ms: ``asOfTimestamp``: the newest version complete at this time, milliseconds since 1970.
    """

    skip: bool = False
    version: int | None = None
    timestamp_ms: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> VersionOptions:
        """Read the version options from a query's options.

        Raises:
            RefusedQueryError: A value is not a number, or several are set.
        """
        if _is_true(options, REWRITTEN):
            return cls(skip=True)
        version, timestamp = (_number(options, key) for key in ("asOfVersion", "asOfTimestamp"))
        skip = _is_true(options, "skipUpsert")
        if (version is not None) + (timestamp is not None) + skip > 1:
            raise RefusedQueryError(
                "the query has several of skipUpsert, asOfVersion and asOfTimestamp",
                expected="only one of them",
            )
        return cls(skip, version, timestamp)


class TableNames:
    """The names of a cluster's tables, for looking up words of queries; almost no word is a table's name.

    Args:
        tables: Names with type.
    """

    def __init__(self, tables: Iterable[str]) -> None:
        self._realtime: dict[str, list[TableName]] = {}
        for name in sorted(tables):
            of_name = self._realtime.setdefault(raw_name(name).lower(), [])
            table = TableName.parse(name)
            if table is not None and table.type is TableType.REALTIME:
                of_name.append(table)

    def __contains__(self, name: str) -> bool:
        """Whether a name may be that of a table, realtime or offline."""
        return raw_name(name).lower() in self._realtime

    def alike(self, name: str) -> Sequence[TableName]:
        """Return the realtime tables (names with type) that a name may mean, ignoring case."""
        return self._realtime.get(raw_name(name).lower(), ())

    def key(self, name: str) -> str:
        """Return a key that is equal for all names of the same realtime table."""
        raw = raw_name(name)
        return raw if raw in (table.raw for table in self.alike(name)) else f"{raw.lower()} in any letters"


def find_table(store: PropertyStore, name: str) -> QueriedTable | None:
    """Return the upsert table with a name; None if it is another table or does not exist.

    Case is ignored, as in brokers that are configured so; an exact match takes precedence.

    Args:
        store: The cluster's property store.
        name: The name in the query, with or without type.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        ConfigError: The table's settings are incomplete, or it is a plain table that looks like an upsert
            table.
    """
    raw = raw_name(name)
    tables = store.children(TABLES_PATH)
    for table in sorted(TableNames(tables).alike(name), key=lambda each: each.raw != raw):
        config = read_table_config(store, table)
        if config is None:
            continue
        if is_upsert(config):
            is_hybrid = table.as_type(TableType.OFFLINE) in tables
            by_pinot = config.pinots_upsert is not None or config.pinots_dedup
            settings, stream = UpsertSettings.of(config), StreamConfig.of(config)
            return QueriedTable(table, settings, stream, is_hybrid, by_pinot)
        if table.raw == raw:
            check_table(store, config)
            return None
    return None


def is_offline_name(name: str) -> bool:
    """Whether a name refers to the offline part of a table."""
    return name.lower().endswith(_suffix(TableType.OFFLINE))


def raw_name(name: str) -> str:
    """Return a table's name without type; the case of the type is ignored."""
    # Unlike TableName: queries may write the type in lower case.
    for suffix in map(_suffix, TableType):
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def _suffix(table_type: TableType) -> str:
    return f"_{table_type}".lower()


def _is_true(options: Mapping[str, str], key: str) -> bool:
    return options.get(key, "").strip().lower() == "true"


def _number(options: Mapping[str, str], key: str) -> int | None:
    text = options.get(key, "").strip().strip("'")
    if not text:
        return None
    number = whole_number(text)
    if number is None:
        raise RefusedQueryError(f"the query option {key} is {text!r}", expected="a number, 0 or more")
    return number
