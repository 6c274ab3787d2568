"""Which roles are connected to Helix now."""

from __future__ import annotations

from controller_client.helix.record_at import read_record_at
from controller_client.zookeeper.property_store import PropertyStore

__all__ = ["live_session"]


def live_session(store: PropertyStore, instance: str) -> str | None:
    """The Helix session of an instance, or None while it is not connected."""
    record = read_record_at(store, f"/{store.cluster_name}/LIVEINSTANCES/{instance}")
    return record.simple_fields.get("SESSION_ID") if record else None
