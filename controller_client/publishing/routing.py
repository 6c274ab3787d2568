"""What brokers route queries to: they learn of a replacement's end some moments after the controller.

The controller tells them by a message, which is lost when it dies before it has sent it: a broker would then
go on with the replaced segments for ever. So one that is late is asked to look again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from controller_client.common.names import TableName
from controller_client.common.waiting import wait_until
from controller_client.config import BrokerConfig
from controller_client.errors import NotAppliedError, NotFoundError, PinotPluginError
from controller_client.rest.transport import Transport, path_of

if TYPE_CHECKING:
    from controller_client.rest.client import RestClient

__all__ = ["routed_segments", "wait_routed"]

logger = logging.getLogger(__name__)

_REBUILD_AFTER_S = 3.0
"""The controller's message takes some tens of milliseconds."""


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

    A broker that has not heard of the change after some seconds is made to build its routing anew, once. One
    that does not answer is waited for until it does, or until the cluster has it online no more.

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
    asked: set[str] = set()
    patient_until_s = client.clock.monotonic() + _REBUILD_AFTER_S

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
                if url not in asked and client.clock.monotonic() >= patient_until_s:
                    asked.add(url)
                    _rebuild(client, url, table)
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
    with closing(_transport(client, url)) as transport:
        return routed_segments(transport, table)


def _rebuild(client: RestClient, url: str, table: TableName) -> None:
    logger.info("%s has not heard of the new segments of %s: it is asked to look again", url, table)
    try:
        with closing(_transport(client, url)) as transport:
            transport.request("PUT", path_of("routing", table), headers={"Accept": "text/plain"})
    except PinotPluginError as error:
        logger.warning("%s does not build its routing of %s anew: %s", url, table, error.message)


def _transport(client: RestClient, url: str) -> Transport:
    reach = replace(BrokerConfig.like(client.config, (url,)), read_timeout_s=client.config.read_timeout_s)
    return Transport(reach, clock=client.clock)
