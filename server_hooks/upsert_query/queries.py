"""Determines the version at which a query is answered, or the reason to reject it."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Protocol

from controller_client.upsert.rewriting import RefusedQueryError, rewrite
from controller_client.upsert.tables import QueriedTable, VersionOptions
from controller_client.upsert.version_option import option_text, queried_tables, versions_at
from controller_client.upsert.versioned_query import version_for
from server_hooks.upsert_query.routing_state import RoutingState

__all__ = ["Request", "check_multistage", "version_of_query", "versions_of_query"]

_PARTITIONED = re.compile(r"in_?partitioned_?subquery", re.IGNORECASE)
_WORD = re.compile(r"[\w$]+")


class Request(Protocol):
    """The request that a query is compiled for."""

    @property
    def sql(self) -> str:
        """The text of the query."""
        ...

    def options(self) -> dict[str, str]:
        """Return its query options, wherever they were set."""
        ...

    @property
    def versions(self) -> MutableMapping[str, int]:
        """The versions already chosen for its tables: a query within a string uses the same ones."""
        ...


def version_of_query(routing_state: RoutingState, name: str, request: Request | None) -> int | None:
    """Return the version at which a query reads its table; None if it reads all rows.

    Args:
        routing_state: The broker's routing state.
        name: The table's name as written in the query.
        request: The request; None if the query is compiled for another purpose than an answer.

    Raises:
        PinotPluginError: The query is rejected.
    """
    if request is not None and _PARTITIONED.search(request.sql):
        _refuse_partitioned(routing_state, request)
    options = request.options() if request else {}
    asked = VersionOptions.of(options)
    table = None if asked.skip else routing_state.table(name)
    if table is None:
        return None
    table.check(name, options)
    if request is not None and table.table in request.versions:
        return request.versions[table.table]
    mark = routing_state.mark(table.table)
    version: int = mark
    if asked.version is not None or asked.timestamp_ms is not None:
        version = routing_state.with_ends(table, lambda ends: version_for(table, asked, mark, lambda _: ends))
    if request is not None:
        request.versions[table.table] = version
    return version


def check_multistage(routing_state: RoutingState, request: Request) -> None:
    """Reject a query for the multi-stage engine that reads an upsert table.

    Raises:
        PinotPluginError: The query is rejected.
    """
    options = request.options()
    if VersionOptions.of(options).skip:
        return

    def refuse(name: str) -> None:
        table = routing_state.table(name)
        if table is not None:
            table.check(name, {"useMultistageEngine": "true"})

    rewrite(request.sql, refuse, exists=routing_state.may_be_table)


def versions_of_query(routing_state: RoutingState, sql: str, options: Mapping[str, str]) -> str | None:
    """Return the query option by which servers of Pinot 1.5 filter the rows of a version.

    Args:
        routing_state: The broker's routing state.
        sql: The query.
        options: Its options, wherever they were set.

    Returns:
        ``orders_REALTIME:17,users_REALTIME:4``; None if it reads no upsert table, or requests all rows.


    Raises:
        PinotPluginError: The query is rejected.
    """
    asked = VersionOptions.of(options)
    if asked.skip:
        return None

    def table_of(name: str) -> QueriedTable | None:
        return routing_state.table(name) if routing_state.may_be_table(name) else None

    def version_of(table: QueriedTable) -> int:
        mark = routing_state.mark(table.table)
        if asked.version is None and asked.timestamp_ms is None:
            return mark
        found: int = routing_state.with_ends(
            table, lambda ends: version_for(table, asked, mark, lambda _: ends)
        )
        return found

    tables = queried_tables(sql, table_of, database=options.get("database", ""))
    return option_text(versions_at(tables, asked, version_of), sql) or None


def _refuse_partitioned(routing_state: RoutingState, request: Request) -> None:
    """Reject IN_PARTITIONED_SUBQUERY with an upsert table: servers compile it, and add no condition."""
    if VersionOptions.of(request.options()).skip:
        return
    words = dict.fromkeys(_WORD.findall(request.sql))
    named = [word for word in words if routing_state.may_be_table(word) and routing_state.table(word)]
    if named:
        raise RefusedQueryError(
            f"IN_PARTITIONED_SUBQUERY is not supported for the upsert table {named[0]}",
            remedy="use IN_SUBQUERY, or query with the option skipUpsert=true",
        )
