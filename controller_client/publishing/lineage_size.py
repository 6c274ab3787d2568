"""Checks that a table's lineage has room for another entry, before anything is uploaded.

All entries of a table are in one record, each with the names of all its segments. Helix refuses to write a
record of more than 1,024,000 bytes, slightly below ZooKeeper's own ``jute.maxbuffer``. This applies to the
written size: a record that is larger as text is compressed (gzip). Without room, a replacement would fail at
its start, after all segments had been built and staged.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import replace

from controller_client.common.names import TableName
from controller_client.errors import NotAppliedError
from controller_client.zookeeper import RECORD_LIMIT_BYTES, PropertyStore, ZNRecord

__all__ = ["LineageFullError", "check_lineage_size", "lineage_path"]

_ROOM = 0.99
"""Usable share of the limit: Java's text and gzip differ from Python's by less than the rest."""


class LineageFullError(NotAppliedError):
    """The lineage record of a table has no room for another replacement."""


def lineage_path(table: TableName) -> str:
    """Return the path of a table's lineage record in the property store."""
    return f"/SEGMENT_LINEAGE/{table}"


def check_lineage_size(
    store: PropertyStore,
    table: TableName,
    segments_from: Collection[str],
    segments_to: Collection[str],
    *,
    limit_bytes: int = RECORD_LIMIT_BYTES,
) -> None:
    """Raise an error unless the table's lineage has room for another replacement.

    Args:
        store: ZooKeeper.
        table: Table.
        segments_from: The segments to replace.
        segments_to: The new segments, as far as known.
        limit_bytes: Helix's limit.

    Raises:
        LineageFullError: There is no room; nothing was changed.
        UnreachableError: ZooKeeper does not answer.
    """
    found = store.get(lineage_path(table))
    present = found.record if found else ZNRecord(table)
    entry = [",".join(segments_from), ",".join(segments_to), "IN_PROGRESS", "1700000000000"]
    added = replace(present, list_fields={**present.list_fields, str(uuid.uuid4()): entry})
    size_bytes = added.written_bytes()
    if size_bytes <= limit_bytes * _ROOM:
        return
    raise LineageFullError(
        f"the lineage record of {table} would have {size_bytes:,} bytes with an entry that replaces "
        f"{len(segments_from):,} segments by {len(segments_to):,}; now it has {present.written_bytes():,} "
        f"bytes in {len(present.list_fields):,} entries",
        expected=f"at most {limit_bytes:,} bytes as written (compressed), Helix's limit for a record",
        where=lineage_path(table),
        remedy="remove old entries: delete the segments they replaced (`pinotctl task purge`), then let "
        "Pinot's RetentionManager run, which removes the entries; or replace fewer segments per run, or "
        "build larger ones",
    )
