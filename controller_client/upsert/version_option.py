"""The query option by which servers of Pinot 1.3 and later leave the rows of one version in upsert tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from controller_client.common.sql_text import SqlText, TokenKind
from controller_client.upsert.columns import VALID_FROM, VALID_UNTIL
from controller_client.upsert.rewriting import RefusedQueryError
from controller_client.upsert.tables import QueriedTable, VersionOptions

__all__ = ["VERSIONS", "option_text", "queried_tables", "queried_words", "versions_at"]

VERSIONS = "upsertVersions"
"""The option: ``orders_REALTIME:17,users_REALTIME:4``."""

_WORD = re.compile(r"[\w$.]+")
_DEFAULT_DATABASE = "default"
_UNPRUNED = "unpruned"
_VERSION_COLUMN = re.compile("|".join(map(re.escape, (VALID_FROM, VALID_UNTIL))), re.IGNORECASE)


def queried_tables(
    sql: str | SqlText, table_of: Callable[[str], QueriedTable | None], *, database: str = ""
) -> dict[str, QueriedTable]:
    """Find the upsert tables that a query may read, by the name that it has for each.

    Every word that names an upsert table counts, also one in a string, which may be a query itself: a table
    too many does no harm.

    Args:
        sql: The query, of either engine.
        table_of: Given a word, returns the upsert table of that name; must be cheap for one that is none.
        database: The query's, where its options or headers name one.

    Raises:
        QueryError: Its quotes or parentheses do not match.
    """
    found = {name: table_of(name) for name in queried_words(sql, database=database)}
    return {name: table for name, table in found.items() if table is not None}


def queried_words(sql: str | SqlText, *, database: str = "") -> list[str]:
    """Return all that may name a table in a query; arguments and errors as of :func:`queried_tables`."""
    return list(dict.fromkeys(_names(SqlText.of(sql), database)))


def versions_at(
    tables: Mapping[str, QueriedTable], asked: VersionOptions, version_of: Callable[[QueriedTable], int]
) -> dict[str, int]:
    """Return the versions of a query's tables, by name with type.

    Args:
        tables: As of :func:`queried_tables`.
        asked: What the query's options say about versions.
        version_of: Returns the version of a table to answer at; may raise to refuse the query.

    Raises:
        RefusedQueryError: A table has no one version, or they have none in common.
    """
    if asked.skip:
        return {}
    by_table = {table.table: table for table in tables.values()}
    if asked.version is not None and len(by_table) > 1:
        raise RefusedQueryError(
            f"asOfVersion={asked.version} says nothing about {' and '.join(by_table)} together: each has "
            f"versions of its own",
            expected="a query of one upsert table",
            remedy="ask with asOfTimestamp, in milliseconds",
        )
    for name, table in tables.items():
        table.check_hybrid(name)
    return {name: version_of(table) for name, table in by_table.items()}


def option_text(versions: Mapping[str, int], sql: str) -> str:
    """The option's value.

    Args:
        versions: By table with type.
        sql: The query. Where it has a condition on the columns of versions, servers must leave out no segment
            for the values that these had when the segment was made.
    """
    pairs = [f"{table}:{version}" for table, version in versions.items()]
    return ",".join([*pairs, _UNPRUNED] if pairs and _VERSION_COLUMN.search(sql) else pairs)


def _names(sql: SqlText, database: str) -> Iterator[str]:
    """All that may name a table in a query."""
    tokens = sql.tokens
    for number, token in enumerate(tokens):
        words: list[str] = []
        if token.is_name:
            before = tokens[max(number - 2, 0) : number]
            if len(before) == 2 and before[1].is_sign(".") and before[0].is_name:
                # A column, or a table of a database.
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
