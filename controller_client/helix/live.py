"""The roles currently connected to Helix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller_client.errors import ConfigError
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["live_process", "live_session"]


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


def live_process(store: PropertyStore, instance: str) -> str | None:
    """Return the process of an instance as Helix names it, ``pid@host``; None if it is not connected.

    It stays the same in a new session of the same process. In containers, it may also stay the same after a
    restart. It is ``?`` if the instance does not report it.

    Raises:
        ConfigError: The name is none of an instance.
        UnreachableError: ZooKeeper does not answer.
    """
    if instance in ("", ".", "..") or "/" in instance:
        raise ConfigError(f"{instance[:100]!r} is no name of an instance", expected="e.g. Server_host_8098")
    path = f"/{store.cluster_name}/LIVEINSTANCES/{instance}"
    found = store.connection.get(path)
    if found is None or not found[0]:
        return None
    return ZNRecord.from_bytes(found[0], where=path).simple_fields.get("LIVE_INSTANCE") or "?"
