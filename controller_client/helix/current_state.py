"""State transitions of segments: the last ones by servers' own records, and how to wake Helix for more."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from controller_client.common.names import TableName
from controller_client.errors import ConflictError, NotFoundError, OutcomeUnknownError
from controller_client.helix.instance_config import live_session
from controller_client.helix.record_at import read_record_at
from controller_client.zookeeper.property_store import PropertyStore

__all__ = ["last_transitions", "wake_helix"]


def wake_helix(store: PropertyStore, table: TableName) -> None:
    """Rewrite the table's ideal state unchanged, so that Helix's controller recomputes the transitions.

    Helix (1.0.4 in Pinot 0.11 as well as 1.3.2 in Pinot 1.5) keeps its decisions until an ideal state, the
    live instances or a config changes. While a segment is in ERROR, the decision is to leave it alone, so a
    segment that a reset takes out of ERROR stays OFFLINE until one of these changes.

    Raises:
        NotFoundError: There is no such table.
        UnreachableError: ZooKeeper does not answer.
    """
    path = f"/{store.cluster_name}/IDEALSTATES/{table}"
    found = store.connection.get(path)
    if found is None:
        raise NotFoundError(f"there is no table {table}", where=path)
    content, version = found
    # Another client's write is also a change, and a write whose reply was lost changes nothing when it is
    # repeated.
    with suppress(ConflictError, OutcomeUnknownError):
        store.connection.set(path, content, version)


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
    transitions: dict[tuple[str, str], Mapping[str, str]] = {}
    for server in sorted(servers):
        session = live_session(store, server)
        if session is None:
            continue
        path = f"/{store.cluster_name}/INSTANCES/{server}/CURRENTSTATES/{session}/{table}"
        record = read_record_at(store, path)
        states = record.map_fields if record else {}
        transitions |= {(segment, server): states[segment] for segment in segments if segment in states}
    return transitions
