"""SQL over HTTP to the brokers, with checks for incomplete results."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import requests

from controller_client.broker.cursor import Cursor
from controller_client.broker.parameters import bind
from controller_client.broker.reply import UNKNOWN_TABLE, read_reply, result_of, without_java
from controller_client.broker.result import QueryResult, QueryStats
from controller_client.broker.rows import Column
from controller_client.clock import Clock, SystemClock
from controller_client.common.closing import Closing
from controller_client.common.http_session import HttpSession
from controller_client.common.retry import RetryPolicy, TransientFailureError, call_with_retry
from controller_client.config import BrokerConfig
from controller_client.errors import (
    ConfigError,
    NotAppliedError,
    OutcomeUnknownError,
    PartialResultError,
    UnsupportedError,
)
from controller_client.rest.brokers import cancel_query
from controller_client.rest.transport import Transport

__all__ = ["UNKNOWN_TABLE", "BrokerClient", "Column", "QueryResult", "QueryStats", "without_java"]

_ONE_ATTEMPT = RetryPolicy(attempts=1)


class BrokerClient(Closing):
    """Queries; a context manager that closes its connections.

    If a broker cannot be reached or breaks off, the next one is tried, because a query changes nothing. Not
    thread-safe.

    Args:
        config: How to reach the brokers; or only their base addresses, as a list or separated by commas.
        session: HTTP session to use; it is not closed. Default: a new session.
        clock: Time and sleep of the retries.
        rng: Random source for the first broker and the retries' jitter.
    """

    def __init__(
        self,
        config: BrokerConfig | Sequence[str] | str,
        *,
        session: requests.Session | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.config = BrokerConfig.at(config)
        self._clock: Clock = clock or SystemClock()
        self._rng = rng or random.Random()  # noqa: S311 - the choice of a broker is no secret
        self._owned = HttpSession() if session is None else None
        self._transports = [
            Transport(self.config, url=url, session=session or self._owned, clock=self._clock, rng=self._rng)
            for url in self.config.urls
        ]
        self._rng.shuffle(self._transports)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({','.join(self.config.urls)!r})"

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
            sql: A statement in Pinot's SQL. Without LIMIT, Pinot returns 10 rows.
            params: Values of its placeholders ``:name``, see :mod:`controller_client.broker.parameters`;
                None: colons have no special meaning.
            options: Query options, e.g. ``{"useMultistageEngine": True}``.
            timeout_s: Time limit for the broker in seconds (``timeoutMs``); default: the broker's own limit
                and the configuration's read timeout.
            allow_partial: Return the result even if servers or segments are missing; see ``stats``.

        Raises:
            ConfigError: A placeholder has no value, or a value has no placeholder or no SQL literal.
            QueryError: The broker returned exceptions: invalid SQL, unknown table or column, a timeout.
            PartialResultError: Servers or segments are missing, so the result does not cover the whole table;
                segments also count as missing if they lack a column. A broker that does not know of a dead
                server's segments at all cannot report it: compare ``total_docs``.
            NotAppliedError: No broker could be reached.
        """
        document, transport = self._ask(_request(sql, params, options, timeout_s), timeout_s)
        return result_of(document, transport, allow_partial=allow_partial)

    def cursor(
        self,
        sql: str,
        *,
        params: Mapping[str, Any] | None = None,
        options: Mapping[str, str | int | bool] | None = None,
        rows_per_page: int = 10_000,
        timeout_s: float | None = None,
        allow_partial: bool = False,
    ) -> Cursor:
        """Run a query whose result the broker stores, and fetch it page by page (Pinot 1.3 and later).

        The broker still reads the result as a whole, so the query needs a LIMIT; only the fetched pages are
        small. All pages come from the broker that ran the query: behind a load balancer, use the addresses of
        the brokers themselves.

        Args:
            sql: See :meth:`query`.
            params: Values of parameters in the statement, as for :meth:`query`.
            options: Pinot's query options.
            rows_per_page: Number of rows per page.
            timeout_s: Time for the query; pages have the configuration's read timeout.
            allow_partial: Whether to return what is left when servers do not answer.

        Returns:
            The cursor: a context manager; at its end the broker deletes the result.

        Raises:
            UnsupportedError: The broker is older and returned the whole result.
            ConfigError: See :meth:`query`, as for its other errors.
        """
        if rows_per_page < 1:
            raise ConfigError(f"rows_per_page is {rows_per_page}", expected="at least 1")
        wanted = {"getCursor": "true", "numRows": str(rows_per_page)}
        request = _request(sql, params, options, timeout_s)
        document, transport = self._ask(request, timeout_s, wanted)
        try:
            first = result_of(document, transport, allow_partial=allow_partial)
        except PartialResultError:
            with suppress(UnsupportedError):
                Cursor(document, None, transport, rows_per_page).close()
            raise
        return Cursor(document, first, transport, rows_per_page)

    def cancel(self, client_query_id: str) -> bool:
        """Cancel the query that was sent with this option ``clientQueryId`` (Pinot 1.4 or newer).

        If it is cancelled, its sender gets a QueryError a moment later.

        Args:
            client_query_id: Value of the option; letters and digits.

        Returns:
            Whether a server that has the query was reached. False: no broker is running it, supports
            cancelling or answers; or no server has it, see
            :func:`~controller_client.rest.brokers.cancel_query`.
        """
        for transport in list(self._transports):
            with suppress(NotAppliedError, OutcomeUnknownError):
                return cancel_query(transport, client_query_id, by_sender=True, retry=_ONE_ATTEMPT)
        return False

    def _ask(
        self,
        request: Mapping[str, str],
        timeout_s: float | None,
        params: Mapping[str, str | None] | None = None,
    ) -> tuple[dict[str, Any], Transport]:
        # The broker itself reports a timeout, in JSON: leave it time to.
        read_timeout_s = None if timeout_s is None else timeout_s + 5.0

        def one_round() -> tuple[dict[str, Any], Transport]:
            failed: NotAppliedError | None = None
            for transport in list(self._transports):
                try:
                    response = transport.request(
                        "POST",
                        "/query/sql",
                        params=params,
                        json=request,
                        read_only=True,
                        read_timeout_s=read_timeout_s,
                        retry=_ONE_ATTEMPT,
                    )
                except NotAppliedError as error:
                    if not _passing(error):
                        raise
                    failed = error
                    # Tried last from now on.
                    self._transports.remove(transport)
                    self._transports.append(transport)
                else:
                    return read_reply(response, transport), transport
            if failed is None:
                raise NotAppliedError("no live broker was found")
            raise TransientFailureError(failed, "no broker answered")

        return call_with_retry(
            one_round, policy=self.config.retry, clock=self._clock, rng=self._rng, what="query"
        )


def _passing(error: NotAppliedError) -> bool:
    """Whether another broker or a later attempt may succeed: no answer, or a gateway's status."""
    return error.http_status is None or error.http_status in (429, 502, 503, 504)


def _option(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _request(
    sql: str,
    params: Mapping[str, Any] | None,
    options: Mapping[str, str | int | bool] | None,
    timeout_s: float | None,
) -> dict[str, str]:
    settings = dict(options or {})
    if timeout_s is not None:
        settings["timeoutMs"] = int(timeout_s * 1000)
    request = {"sql": sql if params is None else bind(sql, params)}
    if settings:
        request["queryOptions"] = ";".join(f"{key}={_option(value)}" for key, value in settings.items())
    return request
