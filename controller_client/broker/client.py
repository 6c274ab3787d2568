"""SQL over HTTP to the brokers, with an eye on answers that are less than the table."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import requests

from controller_client.broker.answer import parse_answer
from controller_client.broker.parameters import bind
from controller_client.broker.result import QueryResult, QueryStats
from controller_client.broker.rows import Column
from controller_client.clock import Clock, SystemClock
from controller_client.common.closing import Closing
from controller_client.common.retry import RetryPolicy, TransientFailureError, call_with_retry
from controller_client.config import BrokerConfig
from controller_client.errors import NotAppliedError, PartialResultError, QueryError
from controller_client.rest.transport import Transport

__all__ = ["UNKNOWN_TABLE", "BrokerClient", "Column", "QueryResult", "QueryStats", "without_java"]

UNKNOWN_TABLE = 190
"""Pinot's number of the error that the table of a query is not there."""

# Codes of org.apache.pinot.common.exception.QueryException that say that part of the data is missing.
_PARTIAL_CODES = frozenset({210, 230, 235, 305, 425, 427})
_LONGEST_TEXT = 1_000
_VERSIONS = "upsertVersions"
# "org.apache.calcite.runtime.CalciteContextException: " adds nothing to the text that follows.
_JAVA_NAMES = re.compile(r"\b(?:[a-z]\w*\.){2,}[A-Z]\w*: ")
_ONE_ATTEMPT = RetryPolicy(attempts=1)


class BrokerClient(Closing):
    """Queries; a context manager that closes its connections.

    A broker that cannot be reached or breaks off is passed over for the next one, since a query changes
    nothing. Not for several threads at the same time.

    Args:
        config: How to reach the brokers, or their base addresses.
        session: HTTP session to use instead of an own one; stays open.
        clock: Time and sleep of the retries.
        rng: Chooses the broker that is asked first, and the retries' jitter.
    """

    def __init__(
        self,
        config: BrokerConfig | Sequence[str],
        *,
        session: requests.Session | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.config = config if isinstance(config, BrokerConfig) else BrokerConfig(tuple(config))
        self._clock: Clock = clock or SystemClock()
        self._rng = rng or random.Random()  # noqa: S311 - the choice of a broker is no secret
        self._owned = requests.Session() if session is None else None
        self._transports = [
            Transport(self.config, url=url, session=session or self._owned, clock=self._clock, rng=self._rng)
            for url in self.config.urls
        ]
        self._rng.shuffle(self._transports)

    def close(self) -> None:
        """Close the connections."""
        if self._owned is not None:
            self._owned.close()

    def query(
        self,
        sql: str,
        *,
        params: Mapping[str, Any] | None = None,
        options: Mapping[str, str | int | bool] | None = None,
        timeout_s: float | None = None,
        allow_partial: bool = False,
    ) -> QueryResult:
        """Run a query.

        Args:
            sql: One statement in Pinot's SQL. Without LIMIT, Pinot returns 10 rows.
            params: Values of its placeholders ``:name``, see :mod:`controller_client.broker.parameters`;
                without them a colon has no meaning.
            options: Query options, e.g. ``{"useMultistageEngine": True}``.
            timeout_s: Seconds that the broker may take (``timeoutMs``); default: the broker's own limit,
                and the configuration's read timeout.
            allow_partial: Return what came although servers or segments are missing; see ``stats``.

        Raises:
            ConfigError: A placeholder lacks a value, a value its placeholder or a literal.
            QueryError: The broker answered with exceptions: wrong SQL, unknown table or column, a time-out.
            PartialResultError: Servers or segments are missing, so the numbers are not the table's; segments
                also where they lack a column. A broker that does not know of a dead server's segments at all
                cannot show it: compare ``total_docs``.
            NotAppliedError: No broker could be reached.
        """
        settings = dict(options or {})
        if timeout_s is not None:
            settings["timeoutMs"] = int(timeout_s * 1000)
        request: dict[str, str] = {"sql": sql if params is None else bind(sql, params)}
        if settings:
            request["queryOptions"] = ";".join(f"{key}={_option(value)}" for key, value in settings.items())
        # The broker answers a time-out itself, in JSON: give it the time to.
        read_timeout_s = None if timeout_s is None else timeout_s + 5.0
        document, transport = self._ask(request, read_timeout_s)
        stats = _stats(document)
        _check(document, stats, transport, allow_partial=allow_partial)
        columns, cells = _table(document.get("resultTable"))
        return QueryResult(columns, cells, stats, transport.base_url, _versions(document))

    def _ask(self, request: dict[str, str], read_timeout_s: float | None) -> tuple[dict[str, Any], Transport]:
        def one_round() -> tuple[dict[str, Any], Transport]:
            failed: NotAppliedError | None = None
            for transport in list(self._transports):
                try:
                    response = transport.request(
                        "POST",
                        "/query/sql",
                        json=request,
                        read_only=True,
                        read_timeout_s=read_timeout_s,
                        retry=_ONE_ATTEMPT,
                    )
                except NotAppliedError as error:
                    if not _passing(error):
                        raise
                    failed = error
                    # Asked last from now on.
                    self._transports.remove(transport)
                    self._transports.append(transport)
                else:
                    return transport.json_of(response, loads=parse_answer) or {}, transport
            if failed is None:
                raise NotAppliedError("no live broker was found")
            raise TransientFailureError(failed, "no broker answered")

        return call_with_retry(
            one_round, policy=self.config.retry, clock=self._clock, rng=self._rng, what="query"
        )


def _passing(error: NotAppliedError) -> bool:
    """Whether another broker, or a later moment, may do better: no answer, or a gateway's status."""
    return error.http_status is None or error.http_status in (429, 502, 503, 504)


def _option(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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
