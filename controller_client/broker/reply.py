"""What a broker's answer says, and whether it is of the whole table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controller_client.broker.result import QueryResult, QueryStats
from controller_client.broker.rows import Column
from controller_client.errors import PartialResultError, QueryError
from controller_client.rest.transport import Transport

__all__ = ["UNKNOWN_TABLE", "result_of", "without_java"]

UNKNOWN_TABLE = 190
"""Pinot's number of the error that the table of a query is not there."""

# Codes of org.apache.pinot.common.exception.QueryException that say that part of the data is missing.
_PARTIAL_CODES = frozenset({210, 230, 235, 305, 425, 427})
_LONGEST_TEXT = 1_000
_VERSIONS = "upsertVersions"
# "org.apache.calcite.runtime.CalciteContextException: " adds nothing to the text that follows.
_JAVA_NAMES = re.compile(r"\b(?:[a-z]\w*\.){2,}[A-Z]\w*: ")


def result_of(document: Mapping[str, Any], transport: Transport, *, allow_partial: bool) -> QueryResult:
    """Return the result that an answer holds.

    Args:
        document: The answer.
        transport: Of the broker that it came from.
        allow_partial: Whether an answer of fewer servers or segments will do.

    Raises:
        QueryError: It holds exceptions.
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
    )


def _versions(document: Mapping[str, Any]) -> dict[str, int]:
    named = str((document.get("traceInfo") or {}).get(_VERSIONS) or "")
    pairs = (part.rpartition(":") for part in named.split(","))
    return {table: int(version) for table, _, version in pairs if version.isdecimal()}


def _check(
    document: Mapping[str, Any], stats: QueryStats, transport: Transport, *, allow_partial: bool
) -> None:
    exceptions = document.get("exceptions") or []
    fatal = [fault for fault in exceptions if fault.get("errorCode") not in _PARTIAL_CODES]
    if fatal:
        error = QueryError(_texts(fatal, transport.clean), where=transport.base_url)
        error.codes = frozenset(int(fault.get("errorCode") or 0) for fault in fatal)
        if UNKNOWN_TABLE in error.codes:
            error.remedy = "see 'pinotctl table list'; a new table is known to brokers some moments later"
        raise error
    if stats.segments_invalid and not allow_partial:
        # Pinot calls it no error, and answers with the rows of the others, or with none.
        raise PartialResultError(
            f"{stats.segments_invalid} of {stats.segments_queried} segments lack a column that the query"
            " names, and are missing from the answer",
            expected="segments with all columns of the schema",
            where=transport.base_url,
            remedy="reload the table's segments, e.g. by 'pinotctl schema update --reload', or leave the"
            " column out; allow_partial accepts the answer as it is",
        )
    missing = stats.servers_responded < stats.servers_queried or stats.partial or bool(exceptions)
    # Each queried segment is processed or pruned by its server, LIMIT or not; only a plan (which has a column
    # of this name) processes none.
    seen = stats.segments_processed + stats.segments_pruned
    columns = (document.get("resultTable") or {}).get("dataSchema", {}).get("columnNames", ())
    missing = missing or (seen < stats.segments_queried and "Operator_Id" not in columns)
    if missing and not allow_partial:
        reported = f": {_texts(exceptions, transport.clean)}" if exceptions else ""
        raise PartialResultError(
            f"{stats.servers_responded} of {stats.servers_queried} servers answered, with {seen} of"
            f" {stats.segments_queried} segments{reported}",
            where=transport.base_url,
            remedy="check that all servers are up, then query again; allow_partial accepts the answer as it "
            "is",
        )


def _texts(exceptions: Sequence[Mapping[str, Any]], clean: Callable[[str], str]) -> str:
    texts = []
    for fault in exceptions:
        code = fault.get("errorCode")
        text = "there is no such table" if code == UNKNOWN_TABLE else str(fault.get("message", ""))
        texts.append(f"{code} {clean(without_java(text))[:_LONGEST_TEXT]}")
    return "; ".join(texts)


def without_java(message: str) -> str:
    """Return a message of Pinot's on one line, without Java's stack and the names of its exceptions."""
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
