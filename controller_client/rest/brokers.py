"""Calls to the brokers themselves: their running queries, how to cancel one, and their routing of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from controller_client.clock import Clock
from controller_client.common.retry import RetryPolicy
from controller_client.config import BrokerConfig, ControllerConfig
from controller_client.errors import NotFoundError
from controller_client.rest.cluster import ClusterApi
from controller_client.rest.paths import path_of
from controller_client.rest.transport import Transport

__all__ = ["BrokersApi", "RunningQuery", "cancel_query"]


_OF_SERVERS = re.compile(r"responses from servers: \{(.*)\}", re.DOTALL)

_STATUS = re.compile(r"=\s*(\d{3})\b")


def cancel_query(
    transport: Transport, query_id: str, *, by_sender: bool = False, retry: RetryPolicy | None = None
) -> bool:
    """Make a broker cancel a query on its servers.

    Args:
        transport: Transport to the broker.
        query_id: The broker's id of the query, or the sender's.
        by_sender: Whether it is the sender's id, i.e. the option ``clientQueryId`` (Pinot 1.4 or newer).
        retry: Retry policy; default: the configuration's.

    Returns:
        Whether a server has the query. False: no server has it yet, so it continues. In both cases the broker
        no longer lists it.

    Raises:
        NotFoundError: The broker is not, or no longer, running the query.
        UnsupportedError: The broker cannot cancel queries; the error names the setting.
        OutcomeUnknownError: The reply was lost; repeating the call does no harm.
    """
    params = {"verbose": "true", "client": "true" if by_sender else None}
    answer = transport.request("DELETE", path_of("query", query_id), params=params, retry=retry)
    replies = _OF_SERVERS.search(answer.content.decode(errors="replace"))
    return replies is None or "200" in _STATUS.findall(replies[1])


_PLAIN_TEXT = {"Accept": "text/plain"}


@dataclass(frozen=True)
class RunningQuery:
    """A query that a broker runs.

    Attributes:
        broker_url: Base address of the broker.
        query_id: Its id, unique within the broker.
        sql: The query.
    """

    broker_url: str
    query_id: str
    sql: str


class BrokersApi:
    """Calls to the brokers, with the controller's credentials and TLS settings.

    Args:
        config: The controller's configuration.
        cluster: Lists the brokers.
        clock: Time and sleep of retries.
    """

    def __init__(self, config: ControllerConfig, cluster: ClusterApi, clock: Clock) -> None:
        self._config = config
        self._cluster = cluster
        self._clock = clock

    def running_queries(self, urls: Sequence[str] = ()) -> list[RunningQuery]:
        """Return the queries that brokers are running.

        Args:
            urls: Base addresses of brokers; default: all brokers that are online.

        Raises:
            UnsupportedError: A broker does not track its queries; the error names the setting.
            NotAppliedError: A broker does not answer.
        """
        return [query for url in self._urls(urls) for query in self._running(url)]

    def cancel_query(self, broker_url: str, query_id: str) -> bool:
        """Make a broker cancel a query on its servers.

        Args:
            broker_url: Base address of the broker that runs it.
            query_id: The broker's id of the query.

        Returns:
            Whether a server has the query; for details and errors see
            :func:`~controller_client.rest.brokers.cancel_query`.
        """
        with closing(self._transport(broker_url)) as transport:
            return cancel_query(transport, query_id)

    def rebuild_routing(self, table: str, urls: Sequence[str] = ()) -> list[str]:
        """Make brokers reread which servers have which segments of a table.

        Brokers do so automatically when that changes; this is for a broker that has missed a change.

        Args:
            table: Name with type.
            urls: Base addresses of brokers; default: the table's brokers that are online.

        Returns:
            The brokers that did so.

        Raises:
            NotFoundError: No broker of the table is online.
            NotAppliedError: A broker does not answer, or does not know the table.
        """
        chosen = self._urls(urls, table)
        for url in chosen:
            with closing(self._transport(url)) as transport:
                transport.request("PUT", path_of("routing", table), headers=_PLAIN_TEXT)
        return chosen

    def _running(self, url: str) -> Iterator[RunningQuery]:
        with closing(self._transport(url)) as transport:
            queries = transport.get_value(
                "/queries", dict, lambda answer: sorted(answer.items(), key=lambda item: int(item[0]))
            )
        for query_id, text in queries:
            yield RunningQuery(url, query_id, str(text))

    def _urls(self, given: Sequence[str], table: str | None = None) -> list[str]:
        urls = list(given) or self._cluster.broker_urls(table)
        if not urls:
            raise NotFoundError(
                "the cluster has no live broker" + (f" for {table}" if table else ""),
                where=self._config.url,
                remedy="start a broker, or check that a broker has the tag of the table's tenant",
            )
        return urls

    def _transport(self, url: str) -> Transport:
        return Transport(BrokerConfig.like(self._config, (url,)), clock=self._clock)
