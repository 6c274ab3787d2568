"""Parses a broker's response, with all digits of a BIG_DECIMAL, and checks that it covers the whole table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import requests

from controller_client.broker.result import QueryResult, QueryStats
from controller_client.broker.rows import Column
from controller_client.common.collection import collection_paused
from controller_client.common.parsing import whole_number
from controller_client.errors import PartialResultError, QueryError
from controller_client.rest.replies import broken_reply, parse_reply
from controller_client.rest.transport import Transport

__all__ = ["UNKNOWN_TABLE", "parse_answer", "read_reply", "result_of", "without_java"]


_DECIMALS = ("BIG_DECIMAL", "BIG_DECIMAL_ARRAY")


def _fastest() -> Callable[[bytes], Any]:
    try:
        import orjson
    except ModuleNotFoundError:
        return json.loads
    return orjson.loads


_LOADS = _fastest()


def parse_answer(content: bytes) -> Any:
    """Parse a broker's response.

    Pinot writes a BIG_DECIMAL as a string, or as a number (0.11), of which a double would keep only 15
    digits: a response with such numbers is parsed again.

    Raises:
        ValueError: It is not JSON.
    """
    with collection_paused():
        try:
            document = _LOADS(content)
        except ValueError:
            # orjson refuses lone surrogates, which Java may write.
            document = json.loads(content)
        return json.loads(content, parse_float=Decimal) if _has_numbers(document) else document


def _has_numbers(document: Any) -> bool:
    """Whether a BIG_DECIMAL is written as a number."""
    table = document.get("resultTable") if isinstance(document, dict) else None
    if not table:
        return False
    kinds = table["dataSchema"]["columnDataTypes"]
    positions = [number for number, kind in enumerate(kinds) if kind in _DECIMALS]
    return any(_is_number({type(row[at]) for row in table["rows"]}, at, table) for at in positions)


def _is_number(types: set[type], position: int, table: Any) -> bool:
    if list in types:
        types = types | {type(item) for row in table["rows"] for item in row[position] or ()}
    return not types.isdisjoint((int, float))


UNKNOWN_TABLE = 190
"""Pinot's error code for a query of a table that does not exist."""

# Codes of org.apache.pinot.common.exception.QueryException for missing parts of the data.
_PARTIAL_CODES = frozenset({210, 230, 235, 305, 425, 427})

_LONGEST_TEXT = 1_000

_VERSIONS = "upsertVersions"

# "org.apache.calcite.runtime.CalciteContextException: " adds nothing to the text after it.
# Only from the start of a name on, and without going back: a message may have 50,000 parts.
_JAVA_NAMES = re.compile(r"(?<![\w.])(?:[a-z]\w*\.){2,}+[A-Z]\w*+: ")


def read_reply(response: requests.Response, transport: Transport) -> dict[str, Any]:
    """Parse a broker's response.

    Raises:
        NotAppliedError: It is not one: each has a list of exceptions, which may be empty.
    """
    document = parse_reply(response, dict, loads=parse_answer, clean=transport.clean, reads=True)
    if not isinstance(document.get("exceptions"), list):
        raise broken_reply(response, "a result with 'exceptions'", clean=transport.clean, reads=True)
    return document


def result_of(document: Mapping[str, Any], transport: Transport, *, allow_partial: bool) -> QueryResult:
    """Return the result in a response.

    Args:
        document: The response.
        transport: Transport to the broker it came from.
        allow_partial: Whether to accept a result of fewer servers or segments.

    Raises:
        QueryError: The response contains exceptions.
        PartialResultError: Servers or segments are missing.
    """
    stats = _stats(document)
    _check(document, stats, transport, allow_partial=allow_partial)
    columns, cells = _table(document.get("resultTable"))
    return QueryResult(columns, cells, stats, transport.base_url, _versions(document))


def _stats(document: Mapping[str, Any]) -> QueryStats:
    return QueryStats(
        servers_queried=document.get("numServersQueried", 0),
        servers_responded=document.get("numServersResponded", 0),
        segments_queried=document.get("numSegmentsQueried", 0),
        segments_processed=document.get("numSegmentsProcessed", 0),
        segments_pruned=document.get("numSegmentsPrunedByServer", 0),
        docs_scanned=document.get("numDocsScanned", 0),
        total_docs=document.get("totalDocs", 0),
        time_ms=document.get("timeUsedMs", 0),
        partial=bool(document.get("partialResult")),
        groups_limit_reached=bool(document.get("numGroupsLimitReached")),
        segments_invalid=document.get("numSegmentsPrunedInvalid", 0),
        row_filters_applied=bool(document.get("rlsFiltersApplied")),
        segments_pruned_by_broker=document.get("numSegmentsPrunedByBroker", 0),
    )


def _versions(document: Mapping[str, Any]) -> dict[str, int]:
    named = str((document.get("traceInfo") or {}).get(_VERSIONS) or "")
    pairs = (part.rpartition(":") for part in named.split(","))
    versions = {table: whole_number(version) for table, _, version in pairs}
    return {table: version for table, version in versions.items() if version is not None}


def _check(
    document: Mapping[str, Any], stats: QueryStats, transport: Transport, *, allow_partial: bool
) -> None:
    exceptions = document.get("exceptions") or []
    fatal = [fault for fault in exceptions if fault.get("errorCode") not in _PARTIAL_CODES]
    if fatal:
        error = QueryError(_texts(fatal, transport.clean), where=transport.base_url)
        error.codes = frozenset(int(fault.get("errorCode") or 0) for fault in fatal)
        if UNKNOWN_TABLE in error.codes:
            error.remedy = (
                "see 'pinotctl table list'; brokers recognize a new table a moment after its creation"
            )
        raise error
    if stats.segments_invalid and not allow_partial:
        # To Pinot this is not an error: it returns the rows of the other segments, or none.
        raise PartialResultError(
            f"{stats.segments_invalid} of {stats.segments_queried} segments lack a column of the query and"
            " are missing from the result",
            expected="segments with all columns of the schema",
            where=transport.base_url,
            remedy="reload the table's segments, e.g. with 'pinotctl schema update --reload', or omit the"
            " column; allow_partial accepts the incomplete result",
        )
    missing = stats.servers_responded < stats.servers_queried or stats.partial or bool(exceptions)
    # Each queried segment is processed or pruned by its server, with or without LIMIT; only a query plan
    # (recognized by this column) processes none.
    seen = stats.segments_processed + stats.segments_pruned
    columns = (document.get("resultTable") or {}).get("dataSchema", {}).get("columnNames", ())
    missing = missing or (seen < stats.segments_queried and "Operator_Id" not in columns)
    if missing and not allow_partial:
        reported = f": {_texts(exceptions, transport.clean)}" if exceptions else ""
        raise PartialResultError(
            f"{stats.servers_responded} of {stats.servers_queried} servers answered, with {seen} of"
            f" {stats.segments_queried} segments{reported}",
            where=transport.base_url,
            remedy="check that all servers are running, then query again; allow_partial accepts the"
            " incomplete result",
        )


def _texts(exceptions: Sequence[Mapping[str, Any]], clean: Callable[[str], str]) -> str:
    texts = []
    for fault in exceptions:
        code = fault.get("errorCode")
        text = "there is no such table" if code == UNKNOWN_TABLE else str(fault.get("message", ""))
        texts.append(f"{code} {clean(without_java(text))[:_LONGEST_TEXT]}")
    return "; ".join(texts)


def without_java(message: str) -> str:
    """Return a Pinot message on one line, without Java's stack trace and exception names."""
    lines = [line for line in message.splitlines() if not line.startswith(("\tat ", "...", "\t..."))]
    return _JAVA_NAMES.sub("", " ".join(lines))


def _table(table: Mapping[str, Any] | None) -> tuple[tuple[Column, ...], Sequence[Sequence[Any]]]:
    if not table:
        return (), ()
    schema = table["dataSchema"]
    columns = tuple(
        Column(name, data_type)
        for name, data_type in zip(schema["columnNames"], schema["columnDataTypes"], strict=True)
    )
    return columns, table["rows"]
