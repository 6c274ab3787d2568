"""Segments committed by servers hosted in Python, and their requests to the segment store."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.segment_record import SegmentRecord, read_record, read_records
from tests.integration.server_hooks.conftest import MakeTopicTable, TopicTable
from tests.integration.upsert.realtime_table import RealtimeTable
from tests.support.pinot_services import COMMITS_FOLDER, DEEP_STORE_BUCKET
from tests.support.wait import wait_for

__all__ = [
    "ROWS",
    "commit",
    "fill",
    "in_commits",
    "make_committing",
    "objects_of",
    "record_of",
    "urls",
    "wait_committed",
    "wait_uploaded",
    "wait_url",
    "without_url",
]

ROWS = 20
"""Of a segment."""

_TIMEOUT_S = 300.0


@pytest.fixture
def make_committing(make_topic_table: MakeTopicTable) -> MakeTopicTable:
    """Return a function that creates tables with peer download that commit every 20 rows of a partition."""

    def make(partitions: int) -> TopicTable:
        # Pinot divides the number of rows among the partitions of a server.
        rows = {"realtime.segment.flush.threshold.rows": str(ROWS * partitions)}
        return make_topic_table(partitions, **rows)

    return make


def urls(table: RealtimeTable) -> dict[str, str]:
    """Return the download URLs of the committed segments."""
    records = read_records(table.store, table.full_name, RateLimit(1000))
    return {each.segment: each.url for each in records if not each.consuming}


def without_url(table: RealtimeTable) -> set[str]:
    """Return the committed segments that are not in the store."""
    return {segment for segment, url in urls(table).items() if not url}


def fill(table: TopicTable, segments: int = 1) -> None:
    """Produce the rows of some segments into each partition, one segment at a time, and wait for them."""
    for _ in range(segments):
        filled = table.consuming()
        for partition in filled:
            table.produce(partition, ROWS)
        table.wait_seen(table.produced)

        wait_committed(table, filled)


def wait_committed(table: TopicTable, filled: Mapping[int, str]) -> None:
    """Wait until segments, by partition, are committed and the next ones consume.

    The controller writes a segment's record first, the ideal state after it.
    """

    def committed() -> bool:
        now = table.consuming()
        return set(filled.values()) <= urls(table).keys() and all(
            now.get(partition, name) != name for partition, name in filled.items()
        )

    wait_for(committed, f"{sorted(filled.values())} to be committed", _TIMEOUT_S)


def commit(table: TopicTable) -> SegmentRecord:
    """Fill the consuming segment of a table with one partition; return its record."""
    segment = table.consuming()[0]
    fill(table)
    return record_of(table, segment)


def record_of(table: TopicTable, segment: str) -> SegmentRecord:
    """Return the record of a segment."""
    record = read_record(table.store, table.full_name, segment)
    assert record is not None
    return record


def wait_url(table: TopicTable, record: SegmentRecord) -> str:
    """Wait for a segment's download URL: on a busy machine the commit may not wait for its upload."""
    return wait_for(lambda: record_of(table, record.segment).url, "the upload to be registered", _TIMEOUT_S)


def wait_uploaded(table: TopicTable) -> None:
    """Wait until all committed segments are in the store."""
    wait_for(lambda: not without_url(table), f"all segments of {table.name} to be in the store", _TIMEOUT_S)


def objects_of(table: RealtimeTable, folder: str = "*") -> str:
    """Return the key pattern of a table's objects, in one folder of the deep store or in all."""
    return f"{DEEP_STORE_BUCKET}/{folder}/{table.name}/*"


def in_commits(table: RealtimeTable) -> str:
    """Return the key pattern of the objects that servers upload."""
    return objects_of(table, COMMITS_FOLDER)
