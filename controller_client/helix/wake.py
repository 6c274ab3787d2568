"""Makes Helix's controller recompute a table's segment states."""

from __future__ import annotations

from contextlib import suppress

from controller_client.common.names import TableName
from controller_client.errors import ConflictError, NotFoundError, OutcomeUnknownError
from controller_client.zookeeper.property_store import PropertyStore

__all__ = ["wake_helix"]


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
