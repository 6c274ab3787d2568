"""Which tables of a cluster are upsert tables, as queries name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller_client.common.names import TableName, TableType
from controller_client.helix.table_config import read_table_config
from controller_client.stream.config import StreamConfig
from controller_client.upsert.misregistered import check_table
from controller_client.upsert.rewriting import RefusedQueryError
from controller_client.upsert.settings import UpsertSettings, is_upsert
from controller_client.zookeeper import PropertyStore

__all__ = [
    "REWRITTEN",
    "TABLES_PATH",
    "QueriedTable",
    "TableNames",
    "VersionOptions",
    "find_table",
    "is_offline_name",
    "raw_name",
]

REWRITTEN = "upsertRewritten"
"""Query option by which a client signals a broker with the hook that the condition is in the SQL already."""

TABLES_PATH = "/CONFIGS/TABLE"
"""Where the property store has the tables, by name with type."""


@dataclass(frozen=True)
class QueriedTable:
    """An upsert table that a query names.

    Attributes:
        table: Name with type.
        settings: Its settings.
        stream: Where its input is; may hold credentials, so it is in no repr.
        is_hybrid: Whether there is an offline table of that name too.
        by_pinot: Whether Pinot's own upsert or dedup replaces or drops its rows too.
    """

    table: TableName
    settings: UpsertSettings
    stream: StreamConfig
    is_hybrid: bool
    by_pinot: bool = False

    def check(self, name: str, options: Mapping[str, str]) -> None:
        """Refuse what has no one version.

        Args:
            name: As the query names the table.
            options: The query's options.

        Raises:
            RefusedQueryError: It is hybrid, its offline half is asked, the multi-stage engine is, or null
                handling.
        """
        self.check_hybrid(name)
        if _is_true(options, "useMultistageEngine"):
            raise RefusedQueryError(
                f"the multi-stage engine cannot answer for the upsert table {name} at one version",
                where=self.table,
                remedy="query without useMultistageEngine, or with the option skipUpsert=true",
            )
        if _is_true(options, "enableNullHandling"):
            # Rows come without versions, so that null vectors know them as null for ever.
            raise RefusedQueryError(
                f"with enableNullHandling the versions of {name} would be taken for nulls",
                where=self.table,
                remedy="query without enableNullHandling, or with the option skipUpsert=true",
            )

    def check_hybrid(self, name: str) -> None:
        """Refuse what reads rows of an offline table, or of a table whose rows Pinot itself replaces.

        Args:
            name: As the query names the table.

        Raises:
            RefusedQueryError: It is hybrid, or its offline half is asked; or it has Pinot's own upsert too.
        """
        if self.by_pinot:
            raise RefusedQueryError(
                f"{name} also has Pinot's own upsertConfig or dedupConfig: rows are missing at every version",
                where=self.table,
                remedy="take them out of the table's config, or query with the option skipUpsert=true",
            )
        if self.is_hybrid or is_offline_name(name):
            raise RefusedQueryError(
                f"{name} is both an upsert table and an offline table: rows of the offline table have no "
                f"version",
                where=self.table,
                remedy="delete the offline table, or query with the option skipUpsert=true",
            )


@dataclass(frozen=True)
class VersionOptions:
    """What the options of a query ask for about versions.

    Attributes:
        skip: ``skipUpsert=true``: all rows, whatever their versions.
        version: ``asOfVersion``: the newest version up to this one.
        timestamp_ms: ``asOfTimestamp``: the newest that was complete then, milliseconds since 1970.
    """

    skip: bool = False
    version: int | None = None
    timestamp_ms: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> VersionOptions:
        """Take them out of a query's options.

        Raises:
            RefusedQueryError: A value is no number, or there are two of them.
        """
        if _is_true(options, REWRITTEN):
            return cls(skip=True)
        version, timestamp = (_number(options, key) for key in ("asOfVersion", "asOfTimestamp"))
        skip = _is_true(options, "skipUpsert")
        if (version is not None) + (timestamp is not None) + skip > 1:
            raise RefusedQueryError(
                "the query has several of skipUpsert, asOfVersion and asOfTimestamp", expected="one of them"
            )
        return cls(skip, version, timestamp)


class TableNames:
    """The names of a cluster's tables, for words of queries: almost none of these is one.

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
        """Whether a name may mean any table, a realtime or an offline one."""
        return raw_name(name).lower() in self._realtime

    def alike(self, name: str) -> Sequence[TableName]:
        """Return the realtime tables (with type) that a name may mean: the same letters, small or capital."""
        return self._realtime.get(raw_name(name).lower(), ())

    def key(self, name: str) -> str:
        """Return the same text for all names that mean the same realtime table."""
        raw = raw_name(name)
        return raw if raw in (table.raw for table in self.alike(name)) else f"{raw.lower()} in any letters"


def find_table(store: PropertyStore, name: str) -> QueriedTable | None:
    """Return the upsert table that a query means; None where it means another table or none.

    Small and capital letters are the same here, as they are to a broker that is set up so; a table of just
    this name comes first.

    Args:
        store: The cluster's property store.
        name: As the query has it, with or without type.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        ConfigError: The table's settings are not whole, or it looks like an upsert table and is none.
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
    """Whether a name means the offline half of a table."""
    return name.lower().endswith(_suffix(TableType.OFFLINE))


def raw_name(name: str) -> str:
    """Return a table's name without type; small and capital letters are the same in that."""
    # Not as TableName does it: queries may write the type in small letters too.
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
    if not text.isascii() or not text.isdecimal():
        raise RefusedQueryError(f"the query option {key} is {text!r}", expected="a number, 0 or more")
    return int(text)
