"""Making Helix' controller compute a table's segment states again."""

from __future__ import annotations

from contextlib import suppress

from controller_client.common.names import TableName
from controller_client.errors import ConflictError, NotFoundError, OutcomeUnknownError
from controller_client.zookeeper.property_store import PropertyStore

__all__ = ["wake_helix"]


def wake_helix(store: PropertyStore, table: TableName) -> None:
    """Write the table's ideal state as it is, so that Helix' controller decides anew what servers shall do.

    Helix (1.0.4 of Pinot 0.11 as 1.3.2 of Pinot 1.5) keeps what it decided until an ideal state, the live
    instances or a config changes. What it decided while a segment was in ERROR is to leave that alone, so a
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
    # Somebody else's write is a change, too; and one whose reply was lost changes nothing when it is made
    # again.
    with suppress(ConflictError, OutcomeUnknownError):
        store.connection.set(path, content, version)
