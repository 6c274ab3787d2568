"""Records below the cluster's znode, outside the property store: by their whole paths."""

from __future__ import annotations

from collections.abc import Sequence

from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["read_record_at", "read_records_at", "write_own_record"]


def read_record_at(store: PropertyStore, path: str) -> ZNRecord | None:
    """Return a record; None where there is none.

    Args:
        store: The cluster's property store.
        path: The record's whole path.

    Raises:
        DataError: The znode holds something else.
        UnreachableError: ZooKeeper does not answer.
    """
    return read_records_at(store, [path])[0]


def read_records_at(store: PropertyStore, paths: Sequence[str]) -> list[ZNRecord | None]:
    """As :func:`read_record_at` for many at once, in the order of the paths."""
    found = store.connection.get_many(paths)
    return [
        ZNRecord.from_bytes(content[0], where=path) if content and content[0] else None
        for path, content in zip(paths, found, strict=True)
    ]


def write_own_record(store: PropertyStore, path: str, record: ZNRecord) -> None:
    """Write a record of this project's own; nothing is written where it is the same already.

    Args:
        store: The cluster's property store.
        path: The record's whole path; its parents are made.
        record: What is to be there, whatever is there now: the caller is its only writer.

    Raises:
        ConflictError: Somebody else writes it all the time.
        UnreachableError: ZooKeeper does not answer.
        OutcomeUnknownError: The reply was lost and ZooKeeper cannot be asked; write it again.
    """
    store.change_at(path, lambda _present: record)
