"""What brokers route queries to: they learn of a replacement's end some moments after the controller."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from controller_client.common.names import TableName
from controller_client.common.waiting import wait_until
from controller_client.config import BrokerConfig
from controller_client.errors import NotAppliedError, NotFoundError
from controller_client.rest.transport import Transport, path_of

if TYPE_CHECKING:
    from controller_client.rest.client import RestClient

__all__ = ["routed_segments", "wait_routed"]


def routed_segments(transport: Transport, table: TableName) -> set[str]:
    """Return the segments that a broker would query now; those without rows are never among them.

    Args:
        transport: To the broker.
        table: Table.
    """
    try:
        answer = transport.get_json(path_of("debug", "routingTable", table))
    except NotFoundError:
        return set()  # a table without segments, or one that the broker has not heard of yet
    servers = answer.get(table) or {}
    return {name for segments in servers.values() for name in segments}


def wait_routed(
    client: RestClient,
    table: TableName,
    *,
    present: Collection[str],
    absent: Collection[str],
    timeout_s: float,
) -> None:
    """Wait until every broker of a table queries some segments and no longer others.

    A broker that does not answer is waited for until it does, or until the cluster has it online no more.

    Args:
        client: Client of the cluster; brokers are reached with its credentials and TLS settings.
        table: Table.
        present: Segments with rows that have to be queried.
        absent: Segments that must not be queried any more.
        timeout_s: Seconds until the last check.

    Raises:
        WaitTimeoutError: The error lists which broker differs, or does not answer.
        NotAppliedError: The controller does not answer.
    """
    fresh: set[str] = set()

    def missing() -> str | None:
        # Asked again each time: Helix makes a new table known to brokers some moments after it is there.
        urls = client.cluster.broker_urls(table)
        for url in sorted(set(urls) - fresh):
            try:
                routed = _routed_by(client, url, table)
            except NotAppliedError as error:
                # One that was killed is listed until its session with ZooKeeper is over.
                return f"{url} does not answer: {error.message}"
            unseen, stale = set(present) - routed, set(absent) & routed
            if unseen or stale:
                return f"{url} queries {len(stale)} old segments and not {len(unseen)} new ones"
            fresh.add(url)
        return None if urls else "no broker serves the table"

    wait_until(
        missing,
        what=f"the brokers of {table} to query its new segments",
        timeout_s=timeout_s,
        clock=client.clock,
        first_poll_s=0.02,
        longest_poll_s=0.5,
        remedy="see the brokers' logs; they check the table again periodically",
    )


def _routed_by(client: RestClient, url: str, table: TableName) -> set[str]:
    reach = replace(BrokerConfig.like(client.config, (url,)), read_timeout_s=client.config.read_timeout_s)
    with closing(Transport(reach, clock=client.clock)) as transport:
        return routed_segments(transport, table)
