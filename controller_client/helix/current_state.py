"""When servers last changed the state of segments, by the records that they keep of it themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from controller_client.helix.live import live_session
from controller_client.helix.record_at import read_record_at
from controller_client.zookeeper.property_store import PropertyStore

__all__ = ["last_transitions"]


def last_transitions(
    store: PropertyStore, table: str, servers: Collection[str], segments: Collection[str]
) -> dict[tuple[str, str], Mapping[str, str]]:
    """Return what live servers have recorded of their last transition of segments.

    Two records of the same segment and server differ if a transition lies between them: they have its times.

    Args:
        store: ZooKeeper.
        table: Name with type.
        servers: Names in Helix.
        segments: Names.

    Returns:
        (segment, server) -> record; without what a server has never had since it joined.

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
