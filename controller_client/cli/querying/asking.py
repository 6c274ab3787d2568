"""Statements run with the options of one command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from controller_client.cli.context import CliContext
from controller_client.common.closing import Closing
from controller_client.errors import PinotPluginError, QueryError

if TYPE_CHECKING:
    from controller_client.broker.client import QueryResult
    from controller_client.upsert.queries import UpsertQueries

__all__ = ["Answer", "Asker", "Asking"]

_QUERY_ID = "clientQueryId"
"""Option of a query by which its sender can have it ended; older versions do not mind it."""
_GOES_ON = (
    "The query goes on in Pinot until it is done or its timeoutMs is over: no broker and no server could be"
    " made to end it."
)


@dataclass(frozen=True)
class Asking:
    """How statements are asked.

    Attributes:
        options: Query options of Pinot.
        timeout_s: Seconds that each may take; None: the broker's limit.
        allow_partial: Whether answers of fewer servers or segments will do.
        upsert: Whether upsert tables are to be answered for at one version by this process.
    """

    options: Mapping[str, str]
    timeout_s: float | None = None
    allow_partial: bool = False
    upsert: bool = False


@dataclass(frozen=True)
class Answer:
    """A result, and the versions of upsert tables that it is of, if it is of any."""

    result: QueryResult
    versions: Mapping[str, int]


class Asker(Closing):
    """Asks the brokers; a context manager.

    Args:
        cli: The run.
        asking: How.
    """

    def __init__(self, cli: CliContext, asking: Asking) -> None:
        self._cli = cli
        self._asking = asking
        self._open = ExitStack()
        self._queries: UpsertQueries | None = None

    def close(self) -> None:
        """Close what was opened here."""
        self._open.close()

    def ask(self, sql: str, params: Mapping[str, Any] | None) -> Answer:
        """Run one statement; Ctrl-C has the broker end it, where it can.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
            PinotPluginError: As of :meth:`~controller_client.broker.client.BrokerClient.query`; an unknown
                table is named, with those of similar names.
        """
        options = {_QUERY_ID: uuid4().hex, **self._asking.options}
        with self._naming_tables(sql):
            try:
                return self._asked(sql, params, options)
            except KeyboardInterrupt:
                self._end(options[_QUERY_ID])
                raise

    def _asked(self, sql: str, params: Mapping[str, Any] | None, options: Mapping[str, str]) -> Answer:
        how = self._asking
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

    def _end(self, query_id: str) -> None:
        ended = self._cli.broker().cancel(query_id)
        self._cli.out.note("\nThe servers are told to end the query." if ended else f"\n{_GOES_ON}")

    def _upsert_queries(self) -> UpsertQueries:
        if self._queries is None:
            from controller_client.upsert.queries import UpsertQueries

            queries = UpsertQueries(self._cli.broker(), self._cli.property_store())
            self._queries = self._open.enter_context(queries)
        return self._queries

    @contextmanager
    def _naming_tables(self, sql: str) -> Iterator[None]:
        """Name an unknown table and those with similar names: the broker's error does neither."""
        try:
            yield
        except QueryError as error:
            from controller_client.broker.client import UNKNOWN_TABLE
            from controller_client.common.sql_text import table_names

            # Without a controller that answers, the broker's words are all there is.
            with suppress(PinotPluginError):
                if UNKNOWN_TABLE in error.codes:
                    tables = self._cli.client().tables
                    for name in table_names(sql):
                        if not tables.exists(name):
                            named = tables.unknown(name)
                            error.message, error.remedy = named.message, named.remedy
                            break
            raise
