"""The query option that makes servers of Pinot 1.3 and later return one version of upsert tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from controller_client.common.sql_text import SqlText, TokenKind
from controller_client.upsert.columns import VALID_FROM, VALID_UNTIL
from controller_client.upsert.rewriting import RefusedQueryError
from controller_client.upsert.tables import QueriedTable, VersionOptions

__all__ = [
    "VERSIONS",
    "option_text",
    "queried_tables",
    "queried_words",
    "reads_one_table",
    "versions_at",
]

VERSIONS = "upsertVersions"
"""The option: ``orders_REALTIME:17,users_REALTIME:4``."""

_WORD = re.compile(r"[\w$.]+")
_DEFAULT_DATABASE = "default"
_UNPRUNED = "unpruned"
# Options with which a query reads a table several times, or not all of its segments.
_OTHER_SCANS = frozenset({"usemultistageengine", "tablesampler"})
_VERSION_COLUMN = re.compile("|".join(map(re.escape, (VALID_FROM, VALID_UNTIL))), re.IGNORECASE)


def queried_tables(
    sql: str | SqlText, table_of: Callable[[str], QueriedTable | None], *, database: str = ""
) -> dict[str, QueriedTable]:
    """Return the upsert tables that a query may read, by their names in the query.

    Every word that names an upsert table counts, even in a string, which may itself be a query: an extra
    table does no harm.

    Args:
        sql: The query, of either engine.
        table_of: Returns the upsert table with a name; must be cheap for words that are not tables.
        database: The query's database, if its options or headers name one.

    Raises:
        QueryError: Its quotes or parentheses do not match.
    """
    found = {name: table_of(name) for name in queried_words(sql, database=database)}
    return {name: table for name, table in found.items() if table is not None}


def queried_words(sql: str | SqlText, *, database: str = "") -> list[str]:
    """Return all words that may name a table; arguments and errors: see :func:`queried_tables`."""
    return list(dict.fromkeys(_names(SqlText.of(sql), database)))


def versions_at(
    tables: Mapping[str, QueriedTable], asked: VersionOptions, version_of: Callable[[QueriedTable], int]
) -> dict[str, int]:
    """Return the versions of a query's tables, by name with type.

    Args:
        tables: See :func:`queried_tables`.
        asked: The query's version options.
        version_of: Returns the version to query a table at; may raise an error to refuse the query.

    Raises:
        RefusedQueryError: A table cannot be queried at one version, or the tables share no version.
    """
    if asked.skip:
        return {}
    by_table = {table.table: table for table in tables.values()}
    if asked.version is not None and len(by_table) > 1:
        raise RefusedQueryError(
            f"asOfVersion={asked.version} does not apply to {' and '.join(by_table)} together: each table "
            f"has its own versions",
            expected="a query that reads one upsert table",
            remedy="use asOfTimestamp, in milliseconds, instead",
        )
    for name, table in tables.items():
        table.check_hybrid(name)
    return {name: version_of(table) for name, table in by_table.items()}


def option_text(versions: Mapping[str, int], sql: str) -> str:
    """Return the option's value.

    Args:
        versions: Version by table (name with type).
        sql: The query. If it has a condition on the version columns, servers must not prune segments by the
            values that these had when the segment was built.
    """
    pairs = [f"{table}:{version}" for table, version in versions.items()]
    return ",".join([*pairs, _UNPRUNED] if pairs and _VERSION_COLUMN.search(sql) else pairs)


def reads_one_table(sql: SqlText, options: Mapping[str, str]) -> bool:
    """Return whether a query certainly reads all segments of one table, once, and nothing else.

    Args:
        sql: The query.
        options: Its options, wherever they are set.
    """
    if any(key.lower() in _OTHER_SCANS and value.lower() != "false" for key, value in options.items()):
        return False
    words = [token.text.upper() for token in sql.tokens if token.kind is TokenKind.WORD]
    scans = sum(word in ("FROM", "JOIN") for word in words)
    return scans == 1 and not any("SUBQUERY" in word or word == "EXPLAIN" for word in words)


def _names(sql: SqlText, database: str) -> Iterator[str]:
    """Yield all words that may name a table in a query."""
    tokens = sql.tokens
    for number, token in enumerate(tokens):
        words: list[str] = []
        if token.is_name:
            before = tokens[max(number - 2, 0) : number]
            if len(before) == 2 and before[1].is_sign(".") and before[0].is_name:
                # A column, or a table in a database.
                words = [f"{before[0].text}.{token.text}"]
                if before[0].text.lower() == _DEFAULT_DATABASE:
                    words.append(token.text)
            else:
                words = [token.text]
        elif token.kind is TokenKind.STRING:
            words = _WORD.findall(token.text)
        yield from words
        if database:
            yield from (f"{database}.{word}" for word in words)
