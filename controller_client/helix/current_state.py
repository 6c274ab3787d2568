"""The last state transitions of segments, from the servers' own records."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from controller_client.helix.live import live_session
from controller_client.helix.record_at import read_record_at
from controller_client.zookeeper.property_store import PropertyStore

__all__ = ["last_transitions"]


def last_transitions(
    store: PropertyStore, table: str, servers: Collection[str], segments: Collection[str]
) -> dict[tuple[str, str], Mapping[str, str]]:
    """Return the live servers' records of their last transitions of segments.

    Two records of the same segment and server differ if there was a transition in between, because they
    contain its times.

    Args:
        store: ZooKeeper.
        table: Name with type.
        servers: Names in Helix.
        segments: Names.

    Returns:
        (segment, server) -> record; without segments that a server has never had since it joined.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    found: dict[tuple[str, str], Mapping[str, str]] = {}
    for server in sorted(servers):
        session = live_session(store, server)
        if session is None:
            continue
        path = f"/{store.cluster_name}/INSTANCES/{server}/CURRENTSTATES/{session}/{table}"
        record = read_record_at(store, path)
        states = record.map_fields if record else {}
        found |= {(segment, server): states[segment] for segment in segments if segment in states}
    return found
