"""Runs statements with the options of one command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from controller_client.common.closing import Closing
from controller_client.errors import PinotPluginError, QueryError
from pinotctl.context import CliContext

if TYPE_CHECKING:
    from controller_client.broker.client import QueryResult
    from controller_client.upsert.queries import UpsertQueries

__all__ = ["Answer", "QueryRunner", "QuerySettings"]

_QUERY_ID = "clientQueryId"
"""Query option with an id by which the sender can cancel the query; older versions ignore it."""
_NOT_CANCELLED = (
    "The query could not be cancelled: it runs in Pinot until it finishes or its timeoutMs has passed."
)


@dataclass(frozen=True)
class QuerySettings:
    """How to run statements.

    Attributes:
        options: Query options of Pinot.
        timeout_s: Seconds that each may take; None: the broker's limit.
        allow_partial: Whether to accept answers from fewer servers or segments.
        upsert: Whether this process queries upsert tables at one version.
    """

    options: Mapping[str, str]
    timeout_s: float | None = None
    allow_partial: bool = False
    upsert: bool = False


@dataclass(frozen=True)
class Answer:
    """A result, and the versions of the upsert tables that were queried, if any."""

    result: QueryResult
    versions: Mapping[str, int]


class QueryRunner(Closing):
    """Queries the brokers; a context manager.

    Args:
        cli: The context of the run.
        settings: How to run statements.
    """

    def __init__(self, cli: CliContext, settings: QuerySettings) -> None:
        self._cli = cli
        self._settings = settings
        self._open = ExitStack()
        self._queries: UpsertQueries | None = None

    def close(self) -> None:
        """Close the connections that were opened here."""
        self._open.close()

    def run(self, sql: str, params: Mapping[str, Any] | None) -> Answer:
        """Run one statement; Ctrl-C cancels it, if the broker supports that.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
            PinotPluginError: As for :meth:`~controller_client.broker.client.BrokerClient.query`; if a table
                is unknown, the error names it and tables with similar names.
        """
        options = {_QUERY_ID: uuid4().hex, **self._settings.options}
        with self._naming_tables(sql):
            try:
                return self._answer(sql, params, options)
            except KeyboardInterrupt:
                self._cancel(options[_QUERY_ID])
                raise

    def _answer(self, sql: str, params: Mapping[str, Any] | None, options: Mapping[str, str]) -> Answer:
        how = self._settings
        if not how.upsert:
            result = self._cli.broker().query(
                sql,
                params=params,
                options=options,
                timeout_s=how.timeout_s,
                allow_partial=how.allow_partial,
            )
            return Answer(result, result.versions)
        from controller_client.broker.parameters import bind

        text = sql if params is None else bind(sql, params)
        answer = self._upsert_queries().query(
            text, options=options, timeout_s=how.timeout_s, allow_partial=how.allow_partial
        )
        return Answer(answer.result, answer.versions)

    def _cancel(self, query_id: str) -> None:
        cancelled = self._cli.broker().cancel(query_id)
        self._cli.out.note("\nAsked the servers to end the query." if cancelled else f"\n{_NOT_CANCELLED}")

    def _upsert_queries(self) -> UpsertQueries:
        if self._queries is None:
            from controller_client.upsert.queries import UpsertQueries

            queries = UpsertQueries(self._cli.broker(), self._cli.property_store())
            self._queries = self._open.enter_context(queries)
        return self._queries

    @contextmanager
    def _naming_tables(self, sql: str) -> Iterator[None]:
        """Make the error name an unknown table and similar ones: the broker's own error does neither."""
        try:
            yield
        except QueryError as error:
            from controller_client.broker.client import UNKNOWN_TABLE
            from controller_client.common.sql_text import table_names

            # If no controller answers, the broker's message is all there is.
            with suppress(PinotPluginError):
                if UNKNOWN_TABLE in error.codes:
                    tables = self._cli.client().tables
                    for name in table_names(sql):
                        if not tables.exists(name):
                            named = tables.unknown(name)
                            error.message, error.remedy = named.message, named.remedy
                            break
            raise
