"""Segments committed by servers hosted in Python, and their requests to the segment store."""

from __future__ import annotations

from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.segment_record import read_records
from tests.integration.server_hooks.conftest import TopicTable
from tests.support.pinot_services import DEEP_STORE_BUCKET
from tests.support.wait import wait_for

__all__ = ["FLUSH", "FLUSH_OF_TWO", "ROWS", "fill", "objects_of", "urls"]

ROWS = 20
"""Of a segment."""

FLUSH = {"realtime.segment.flush.threshold.rows": str(ROWS)}
"""Settings of the table's stream."""

FLUSH_OF_TWO = {"realtime.segment.flush.threshold.rows": str(2 * ROWS)}
"""The same where each server has two partitions: Pinot divides the number among them."""

_TIMEOUT_S = 300.0


def urls(table: TopicTable) -> dict[str, str]:
    """Return the download URLs of the committed segments."""
    records = read_records(table.store, table.full_name, RateLimit(1000))
    return {each.segment: each.url for each in records if not each.consuming}


def fill(table: TopicTable, segments: int, partitions: int) -> None:
    """Produce the rows of some segments into each partition, one segment at a time, and wait for them."""
    wanted = len(urls(table))
    for _ in range(segments):
        for partition in range(partitions):
            table.produce(partition, ROWS)
        table.wait_seen(table.produced)
        wanted += partitions
        _wait_committed(table, wanted)


def objects_of(table: TopicTable, folder: str = "*") -> str:
    """Return the key pattern of a table's objects, in one folder of the deep store or in all."""
    return f"{DEEP_STORE_BUCKET}/{folder}/{table.name}/*"


def _wait_committed(table: TopicTable, count: int) -> None:
    # The controller writes the segment's record first, the ideal state after it.
    def committed() -> bool:
        done, consuming = urls(table), table.consuming().values()
        return len(done) >= count and not done.keys() & set(consuming)

    wait_for(committed, f"{count} committed segments", _TIMEOUT_S)
