"""Whether a table's lineage has room for one more entry, found out before anything is uploaded.

All entries of a table are one record, each with the names of all its segments. Helix refuses to write a
record of more than 1,024,000 bytes, a little below ZooKeeper's own ``jute.maxbuffer``. That is the size of
what is written: a record that is over the limit as text is compressed (gzip). A replacement that finds no
room would fail at its start, after all segments were built and staged.
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
"""Share of the limit that may be used: Java's text and gzip differ by less from ours."""


class LineageFullError(NotAppliedError):
    """The lineage record of a table has no room for a replacement."""


def lineage_path(table: TableName) -> str:
    """Path of a table's lineage record in the property store."""
    return f"/SEGMENT_LINEAGE/{table}"


def check_lineage_size(
    store: PropertyStore,
    table: TableName,
    segments_from: Collection[str],
    segments_to: Collection[str],
    *,
    limit_bytes: int = RECORD_LIMIT_BYTES,
) -> None:
    """Raise unless the table's lineage has room for one more replacement.

    Args:
        store: ZooKeeper.
        table: Table.
        segments_from: What is replaced.
        segments_to: What comes instead, as far as it is known.
        limit_bytes: What Helix writes at most.

    Raises:
        LineageFullError: It has none; nothing was changed.
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
        expected=f"at most {limit_bytes:,} bytes as it is written (compressed), Helix' limit of a record",
        where=lineage_path(table),
        remedy="let entries that are over go: delete what they replaced (`pinotctl task purge`), then let "
        "Pinot's RetentionManager run, which forgets them; or replace fewer segments in a run, or make "
        "larger ones",
    )
