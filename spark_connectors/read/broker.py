"""Reads rows through a broker, which can only read a table as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from controller_client.broker.client import BrokerClient, QueryResult
from controller_client.client import ControllerClient
from controller_client.common.arrow_types import ARROW_TYPES
from controller_client.common.names import TableName
from controller_client.errors import ConfigError, PartialResultError, PinotPluginError, QueryError
from controller_client.publishing.routing import routed_segments
from controller_client.rest.transport import Transport
from controller_client.upsert.versioned_query import VersionedQuery, check_whole
from spark_connectors.options import ReadOptions
from spark_connectors.read.assemble import Nulls, null_positions
from spark_connectors.read.columns import ReadColumn, choose, column
from spark_connectors.read.data_table import DataTable
from spark_connectors.read.plan import WholeTable
from spark_connectors.read.sql import all_of, count_by_segment, select_nulls, select_rows

__all__ = ["BrokerRows", "check_filter", "has_limit", "query_columns", "read_query", "read_table"]

_DEFAULT_LIMIT = 10
_HAS_LIMIT = re.compile(
    r"\blimit\s+\d+(\s*(,|\boffset\b)\s*\d+)?\s*;?\s*(option\s*\([^)]*\)\s*)?$", re.IGNORECASE
)
_ATTEMPTS_WHEN_CHANGED = 3
_ARROW = {**ARROW_TYPES, "TIMESTAMP": pa.int64()}
_CONVERT: Mapping[str, Callable[[Any], Any]] = {
    "BYTES": bytes.fromhex,
    "BIG_DECIMAL": lambda value: format(Decimal(value), "f"),
}


@dataclass(frozen=True)
class BrokerRows:
    """A broker's answer.

    Attributes:
        rows: All rows.
        nulls: The positions of nulls.
    """

    rows: DataTable
    nulls: Nulls


def check_filter(client: ControllerClient, options: ReadOptions, table: TableName) -> None:
    """Let a broker check the option ``filter`` before the job starts.

    Args:
        client: The controller client, used to find the brokers.
        options: The options of the read.
        table: Table name with type.

    Raises:
        QueryError: A column is unknown, or the predicate is not valid SQL.
    """
    sql = select_rows(table, (), all_of(options.filter), 1, with_position=True)
    # A query plan has no rows, so it needs no version of an upsert table.
    asked = replace(options, query_options=(*options.query_options, ("skipUpsert", "true")))
    try:
        _ask(client, asked, VersionedQuery(f"EXPLAIN PLAN FOR {sql}", {}))
    except QueryError as error:
        raise QueryError(
            f"Pinot rejects the filter: {error.message}",
            expected="a predicate in Pinot's SQL",
            where=error.where,
            remedy="fix the option 'filter'",
        ) from error


def read_table(
    client: ControllerClient,
    options: ReadOptions,
    whole: WholeTable,
    columns: Sequence[ReadColumn],
    nullable: Sequence[ReadColumn],
) -> BrokerRows:
    """Read a table's rows.

    Args:
        client: The controller client, used to find the brokers.
        options: The options of the read.
        whole: The table.
        columns: The columns to select.
        nullable: Those of the columns whose nulls are requested.

    Raises:
        PartialResultError: Segments are missing, or the table kept changing during the read.
    """
    table, where = whole.table, whole.where
    needed = {table: whole.needed} if whole.needed else {}
    sql = select_rows(table, columns, where, options.limit, with_position=bool(nullable), times_as_long=True)
    kinds = [(read_column.pinot_type, read_column.single_value) for read_column in columns]
    kinds += [("STRING", True), ("INT", True)] if nullable else []
    counting = VersionedQuery(count_by_segment(table, where), {})
    for _ in range(_ATTEMPTS_WHEN_CHANGED):
        before = _states(client, table)
        rows = _decoded(_ask(client, options, VersionedQuery(sql, {}, segments=needed)), kinds)
        if not nullable:
            return BrokerRows(rows, {})
        nulls = {}
        for each in nullable:
            asked = VersionedQuery(select_nulls(table, each, where), {}, segments=needed)
            nulls[each.name] = null_positions(iter([_decoded(_ask(client, options, asked), kinds[-2:])]))
        # Each broker switches to new segments at its own time, and sealing a segment may sort it.
        again = {row[0] for row in _ask(client, options, counting).rows}
        seen = set(pc.unique(rows.columns[-2]).to_pylist()) if rows.rows else set()
        same = seen <= again if options.limit is not None else seen == again
        if same and _states(client, table) == before:
            return BrokerRows(rows, nulls)
    raise PartialResultError(
        f"the segments of {table} kept changing during the read", remedy="set 'readFrom' to servers"
    )


def query_columns(
    client: ControllerClient, options: ReadOptions, query: VersionedQuery
) -> tuple[ReadColumn, ...]:
    """Run a query to find the columns of its result.

    TIMESTAMP is read as string, since brokers format it in their own time zone.

    Raises:
        ConfigError: Two columns have the same name, or a type cannot be read.
        QueryError: The broker rejects the query, or answers without columns.
    """
    return _columns(_ask_query(client, options, query), options)


def read_query(
    client: ControllerClient, options: ReadOptions, query: VersionedQuery, asked: StructType
) -> tuple[tuple[ReadColumn, ...], DataTable]:
    """Run a query and return its rows.

    Args:
        client: The controller client, used to find the brokers.
        options: The options of the read.
        query: Any SELECT query.
        asked: The DataFrame's schema, a projection of the result.

    Returns:
        The schema's columns, and their values.

    Raises:
        QueryError: The result may have been truncated.
        ConfigError: The schema does not fit the result.
    """
    result = _ask_query(client, options, query)
    if len(result.rows) == _DEFAULT_LIMIT and not has_limit(query.text):
        raise QueryError(
            f"the query has no LIMIT and returned {_DEFAULT_LIMIT} rows, Pinot's default limit:"
            " the result may be truncated",
            expected="a LIMIT at the end of 'query'",
            where=result.broker_url,
        )
    if result.stats.groups_limit_reached:
        raise QueryError(
            "the query has more groups than Pinot returns, so the result is incomplete",
            where=result.broker_url,
            remedy="narrow the query, or increase numGroupsLimit on the servers or in 'queryOptions'",
        )
    if not result.columns:
        return (), DataTable(0, ())  # without segments there are no rows
    found = _columns(result, options)
    columns = choose(found, asked)
    rows = _decoded(result, [(each.pinot_type, each.single_value) for each in found])
    positions_of = {each.name: n for n, each in enumerate(found)}
    chosen = tuple(rows.columns[positions_of[each.name]] for each in columns) if rows.rows else ()
    return columns, DataTable(rows.rows, chosen)


def has_limit(query: str) -> bool:
    """Return whether a query ends with a LIMIT clause."""
    return _HAS_LIMIT.search(query.strip()) is not None


def _ask_query(client: ControllerClient, options: ReadOptions, query: VersionedQuery) -> QueryResult:
    settings = tuple((key, str(value)) for key, value in query.options.items())
    return _ask(client, replace(options, query_options=settings), query)


def _ask(
    client: ControllerClient,
    options: ReadOptions,
    query: VersionedQuery,
) -> QueryResult:
    """Query a broker and check that its answer covers all needed segments."""
    found = () if options.brokers else tuple(client.cluster.broker_urls())
    config = options.broker_config(found)
    with BrokerClient(config) as broker:
        result = broker.query(
            query.text, options=dict(options.query_options), timeout_s=options.server_timeout_ms / 1000
        )
    if query.segments:
        with closing(Transport(config, url=result.broker_url)) as transport:
            check_whole(
                query.segments,
                lambda table: routed_segments(transport, table),
                lambda table: client.tables.ideal_state(table),
                covered=query.covered(result.stats),
                where=result.broker_url,
            )
    return result


def _columns(result: QueryResult, options: ReadOptions) -> tuple[ReadColumn, ...]:
    if not result.columns:
        raise QueryError(
            "the result has no columns, possibly because the table has no segments",
            where=result.broker_url,
            remedy="pass a schema with .schema(...), or read once the table has rows",
        )
    names = [result_column.name for result_column in result.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(
            f"the result has several columns named {', '.join(twice)}",
            remedy="rename them with AS in 'query'",
        )
    columns = []
    for result_column in result.columns:
        kind = result_column.data_type.removesuffix("_ARRAY")
        kind = "STRING" if kind == "TIMESTAMP" else kind
        columns.append(
            column(
                result_column.name, kind, not result_column.data_type.endswith("_ARRAY"), options.decimal_type
            )
        )
    return tuple(columns)


def _decoded(result: QueryResult, kinds: Sequence[tuple[str, bool]]) -> DataTable:
    if not result.rows:
        return DataTable(0, ())
    if len(kinds) != len(result.columns):
        raise PinotPluginError(
            f"a broker returned {len(result.columns)} columns", expected=f"{len(kinds)} columns"
        )
    arrays = [
        _array([row[n] for row in result.rows], kind, single_value=single)
        for n, (kind, single) in enumerate(kinds)
    ]
    return DataTable(len(result.rows), tuple(arrays))


def _array(values: list[Any], kind: str, *, single_value: bool) -> pa.Array:
    convert = _CONVERT.get(kind)
    if convert is not None:
        values = [
            value if value is None else convert(value) if single_value else [convert(each) for each in value]
            for value in values
        ]
    element = _ARROW.get(kind, pa.string())
    return pa.array(values, element if single_value else pa.list_(element))


def _states(client: ControllerClient, table: TableName) -> Mapping[str, Any]:
    return client.tables.ideal_state(table)
