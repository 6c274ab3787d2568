"""The routing of brokers, which learn of the end of a replacement a moment after the controller.

The controller notifies them by a message, which is lost if it dies before sending it: a broker would then use
the replaced segments forever. So a late broker is made to rebuild its routing.
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
from controller_client.rest.capabilities import Capability
from controller_client.rest.cluster import visible_config
from controller_client.rest.paths import path_of
from controller_client.rest.transport import Transport

if TYPE_CHECKING:
    from controller_client.rest.client import RestClient

__all__ = ["NEW_SEGMENTS", "brokers_skipping", "may_skip_new_segments", "routed_segments", "wait_routed"]

logger = logging.getLogger(__name__)

NEW_SEGMENTS = "pinot.broker.new.segment.expiration.seconds"
"""For so many seconds a segment is new to a broker of Pinot 1.x, in its configuration; 300 by default."""

_REBUILD_AFTER_S = 3.0
"""The controller's message takes some tens of milliseconds."""


def routed_segments(transport: Transport, table: TableName) -> set[str]:
    """Return the segments that a broker would query now, never including segments without rows.

    Args:
        transport: Transport to the broker.
        table: Table.
    """
    try:
        servers = transport.get_json(path_of("debug", "routingTable", table), dict, key=table)
    except NotFoundError:
        return set()  # a table without segments, or one that the broker does not know yet
    return {name for segments in servers.values() for name in segments}


def may_skip_new_segments(transport: Transport) -> bool:
    """Return whether a broker of Pinot 1.x may answer without new segments, and not report that.

    While one replica of a new segment is away, such a broker sends a part of the queries to that replica, as
    if it were there. The others are whole, so the routing that it shows proves nothing. Without new
    segments, it sends all to the replicas that are there, and reports a segment that has none.

    Args:
        transport: Transport to the broker.
    """
    settings = visible_config(transport.get_json("/appconfigs", dict, key="pinotConfig"))
    return settings.get(NEW_SEGMENTS) != "0"


def brokers_skipping(client: RestClient) -> list[str]:
    """Return the URLs of the brokers that may answer without new segments; see :func:`may_skip_new_segments`.

    Raises:
        NotAppliedError: The controller or a broker does not answer.
    """
    if not client.cluster.capabilities().has(Capability.NEW_SEGMENTS_LEFT_OUT):
        return []
    skipping = []
    for url in sorted(client.cluster.broker_urls()):
        with closing(_transport(client, url)) as transport:
            if may_skip_new_segments(transport):
                skipping.append(url)
    return skipping


def wait_routed(
    client: RestClient,
    table: TableName,
    *,
    present: Collection[str],
    absent: Collection[str],
    timeout_s: float,
) -> None:
    """Wait until every broker of a table queries certain segments and no longer queries others.

    A broker that has not noticed the change after a few seconds is made to rebuild its routing, once. A
    broker that does not answer is waited for until it does, or until it is no longer online.

    Args:
        client: Client of the cluster; brokers are reached with its credentials and TLS settings.
        table: Table.
        present: Segments with rows that must be queried.
        absent: Segments that must no longer be queried.
        timeout_s: Seconds until the last check.

    Raises:
        WaitTimeoutError: The error names a broker that differs or does not answer.
        NotAppliedError: The controller does not answer.
    """
    fresh: set[str] = set()
    rebuilt: set[str] = set()
    patient_until_s = client.clock.monotonic() + _REBUILD_AFTER_S

    def missing() -> str | None:
        # Requested each time: Helix assigns a new table to brokers a moment after its creation.
        urls = client.cluster.broker_urls(table)
        for url in sorted(set(urls) - fresh):
            try:
                routed = _routed_by(client, url, table)
            except NotAppliedError as error:
                # A killed broker is listed until its ZooKeeper session ends.
                return f"{url} does not answer: {error.message}"
            unseen, stale = set(present) - routed, set(absent) & routed
            if unseen or stale:
                if url not in rebuilt and client.clock.monotonic() >= patient_until_s:
                    rebuilt.add(url)
                    _rebuild(client, url, table)
                return f"{url} still queries {len(stale)} old segments and lacks {len(unseen)} new ones"
            fresh.add(url)
        return None if urls else "no broker serves the table"

    wait_until(
        missing,
        what=f"the brokers of {table} to query its new segments",
        timeout_s=timeout_s,
        clock=client.clock,
        first_poll_s=0.02,
        longest_poll_s=0.5,
        remedy="check the brokers' logs; they check the table again periodically",
    )


def _routed_by(client: RestClient, url: str, table: TableName) -> set[str]:
    with closing(_transport(client, url)) as transport:
        return routed_segments(transport, table)


def _rebuild(client: RestClient, url: str, table: TableName) -> None:
    logger.info("%s does not know the new segments of %s yet: making it rebuild its routing", url, table)
    try:
        with closing(_transport(client, url)) as transport:
            transport.request("PUT", path_of("routing", table), headers={"Accept": "text/plain"})
    except PinotPluginError as error:
        logger.warning("%s did not rebuild its routing of %s: %s", url, table, error.message)


def _transport(client: RestClient, url: str) -> Transport:
    reach = replace(BrokerConfig.like(client.config, (url,)), read_timeout_s=client.config.read_timeout_s)
    return Transport(reach, clock=client.clock)
