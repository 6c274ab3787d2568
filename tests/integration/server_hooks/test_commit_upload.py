"""Commits on hosted servers with a faulty deep store: consumption does not wait for it."""

from __future__ import annotations

import pytest

from controller_client.deepstore.segment_record import SegmentRecord, read_record
from tests.integration.server_hooks.conftest import MakeTopicTable, TopicTable
from tests.support.faulty_s3 import FaultyS3
from tests.support.pinot_services import COMMITS_FOLDER, DEEP_STORE_BUCKET
from tests.support.wait import wait_for

_TIMEOUT_S = 300.0
_ROWS = 20


@pytest.fixture
def table(make_topic_table: MakeTopicTable) -> TopicTable:
    """A table with peer download that commits every 20 rows."""
    return make_topic_table(partitions=1, **{"realtime.segment.flush.threshold.rows": str(_ROWS)})


def _commit(table: TopicTable) -> SegmentRecord:
    """Produce a segment's rows, wait until they are committed and served, and return its record."""
    segment = table.consuming()[0]
    table.produce(0, _ROWS)
    table.wait_seen(table.produced)

    def committed() -> bool:
        # The controller writes the segment's record first, the ideal state after it.
        return not _record(table, segment).consuming and table.consuming()[0] != segment

    wait_for(committed, f"{segment} to be committed", _TIMEOUT_S)
    return _record(table, segment)


def _record(table: TopicTable, segment: str) -> SegmentRecord:
    record = read_record(table.store, table.full_name, segment)
    assert record is not None
    return record


def _registered(table: TopicTable, record: SegmentRecord) -> str:
    """Wait for a segment's download URL: on a busy machine the commit may not wait for its upload."""
    return wait_for(lambda: _record(table, record.segment).url, "the upload to be registered", _TIMEOUT_S)


def _size(store: FaultyS3, url: str) -> int:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    client = store.access.client()
    try:
        return int(client.head_object(Bucket=bucket, Key=key)["ContentLength"])
    finally:
        client.close()


def _keys(store: FaultyS3, prefix: str) -> list[str]:
    client = store.access.client()
    try:
        found = client.list_objects_v2(Bucket=DEEP_STORE_BUCKET, Prefix=prefix)
        return [str(each["Key"]) for each in found.get("Contents", [])]
    finally:
        client.close()


def test_the_store_takes_it_hangs_refuses_and_takes_it_late(
    table: TopicTable, hosted_store: FaultyS3
) -> None:
    store = hosted_store
    objects = f"{DEEP_STORE_BUCKET}/{COMMITS_FOLDER}/{table.name}/*"

    assert _size(store, _registered(table, _commit(table))) > 0

    hang = store.hold("PUT", objects, times=None)
    hanging = _commit(table)
    assert hanging.url == ""
    hang.wait_hit()  # on a busy machine a commit continues before its upload starts

    hang.lift()
    _registered(table, hanging)
    late = _record(table, hanging.segment)
    assert late.crc == hanging.crc
    # Under the name that Pinot deletes with the segment, and no other.
    home = f"{COMMITS_FOLDER}/{table.name}/{late.segment}"
    assert late.url == f"s3://{DEEP_STORE_BUCKET}/{home}"
    assert _keys(store, home) == [home]
    # Since 1.3 the record has the size of the folder, from the commit on.
    assert late.size_bytes == (hanging.size_bytes or _size(store, late.url))

    refuse = store.answer(403, "PUT", objects)
    refused = _commit(table)
    assert refused.url == ""
    refuse.wait_hit()
    refuse.lift()
    assert _registered(table, _commit(table))
    home = f"{COMMITS_FOLDER}/{table.name}/{refused.segment}"
    assert _registered(table, refused) == f"s3://{DEEP_STORE_BUCKET}/{home}"
    assert _keys(store, home) == [home]


def test_what_waits_for_the_store_outlives_the_server(table: TopicTable, hosted_store: FaultyS3) -> None:
    store, pinot = hosted_store, table.pinot
    refuse = store.answer(403, "PUT", f"{DEEP_STORE_BUCKET}/{COMMITS_FOLDER}/{table.name}/*")
    refused = [_commit(table) for _ in range(2)]
    refuse.wait_hit()
    table.wait_served(replicas=2)
    # One at a time: without the store, a server that lost a segment downloads it from the other server.
    for role in ("hosted_1", "hosted_2"):
        pinot.kill(role)
        pinot.start(role)
        table.wait_served(replicas=2)
    refuse.lift()
    for each in refused:
        home = f"{COMMITS_FOLDER}/{table.name}/{each.segment}"
        assert _registered(table, each) == f"s3://{DEEP_STORE_BUCKET}/{home}"
        assert _keys(store, home) == [home]
    table.wait_seen(table.produced)
