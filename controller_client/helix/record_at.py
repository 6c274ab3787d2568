"""Records of a cluster outside the property store, by absolute path."""

from __future__ import annotations

from collections.abc import Sequence

from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["read_record_at", "read_records_at", "write_own_record"]


def read_record_at(store: PropertyStore, path: str) -> ZNRecord | None:
    """Return a record; None if it does not exist.

    Args:
        store: The cluster's property store.
        path: The record's absolute path.

    Raises:
        DataError: The znode does not contain a record.
        UnreachableError: ZooKeeper does not answer.
    """
    return read_records_at(store, [path])[0]


def read_records_at(store: PropertyStore, paths: Sequence[str]) -> list[ZNRecord | None]:
    """Return many records at once, in the order of the paths; see :func:`read_record_at`."""
    found = store.connection.get_many(paths)
    return [
        ZNRecord.from_bytes(content[0], where=path) if content and content[0] else None
        for path, content in zip(paths, found, strict=True)
    ]


def write_own_record(store: PropertyStore, path: str, record: ZNRecord) -> None:
    """Write one of this project's own records, unless it is already up to date.

    Args:
        store: The cluster's property store.
        path: The record's absolute path; its parents are created.
        record: The new content, whatever the current one: the caller is its only writer.

    Raises:
        ConflictError: Another client keeps writing it.
        UnreachableError: ZooKeeper does not answer.
        OutcomeUnknownError: The reply was lost, and ZooKeeper cannot be reached; write it again.
    """
    store.change_at(path, lambda _present: record)
