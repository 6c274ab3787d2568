"""The roles currently connected to Helix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["live_session"]


def live_session(
    store: PropertyStore, instance: str, changed: Callable[[Any], None] | None = None
) -> str | None:
    """Return the Helix session of an instance; None if it is not connected.

    Args:
        store: The cluster's property store.
        instance: Its name in Helix.
        changed: Called once, in kazoo's thread, when that changes or this client's session is lost.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    path = f"/{store.cluster_name}/LIVEINSTANCES/{instance}"
    found = store.connection.read(path, changed)
    if found is None or not found.content:
        return None
    return ZNRecord.from_bytes(found.content, where=path).simple_fields.get("SESSION_ID")
