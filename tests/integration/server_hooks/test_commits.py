"""Commits on hosted servers with a faulty deep store: consumption does not wait for it."""

from __future__ import annotations

import pytest

from controller_client.deepstore.segment_record import SegmentRecord
from tests.integration.deepstore.conftest import Audit, Run, audit, run
from tests.integration.server_hooks.commits import (
    commit,
    fill,
    in_commits,
    make_committing,
    record_of,
    wait_uploaded,
    wait_url,
    without_url,
)
from tests.integration.server_hooks.conftest import MakeTopicTable, TopicTable
from tests.support.faulty_s3 import FaultyS3
from tests.support.pinot_services import COMMITS_FOLDER, DEEP_STORE_BUCKET
from tests.support.tiers import FULL
from tests.support.wait import wait_for

__all__ = ["audit", "make_committing", "run"]

pytestmark = [pytest.mark.cluster, pytest.mark.kafka, pytest.mark.s3]

_TIMEOUT_S = 300.0


def _key(table: TopicTable, record: SegmentRecord) -> str:
    """The key that Pinot deletes with the segment."""
    return f"{COMMITS_FOLDER}/{table.name}/{record.segment}"


def _wait_at_home(table: TopicTable, store: FaultyS3, record: SegmentRecord) -> int:
    """Wait until a segment is in the store under its own key and no other; return its size."""
    key = _key(table, record)
    assert wait_url(table, record) == f"s3://{DEEP_STORE_BUCKET}/{key}"
    client = store.access.client()
    try:

        def sizes() -> dict[str, int]:
            found = client.list_objects_v2(Bucket=DEEP_STORE_BUCKET, Prefix=key)
            return {each["Key"]: each["Size"] for each in found.get("Contents", [])}

        # Of an attempt that the store answered late, the object is deleted a moment later.
        wait_for(lambda: sizes().keys() == {key}, f"{key} to be the segment's only object", _TIMEOUT_S)
        return sizes()[key]
    finally:
        client.close()


def test_the_store_takes_it_hangs_refuses_and_takes_it_late(
    make_committing: MakeTopicTable, hosted_store: FaultyS3
) -> None:
    table, store = make_committing(1), hosted_store
    assert wait_url(table, commit(table))

    hang = store.hold("PUT", in_commits(table), times=None)
    hanging = commit(table)
    assert hanging.url == ""
    hang.wait_hit()  # on a busy machine a commit continues before its upload starts
    hang.lift()
    size = _wait_at_home(table, store, hanging)
    late = record_of(table, hanging.segment)
    assert late.crc == hanging.crc
    # Since 1.3 the record has the size of the folder, from the commit on.
    assert late.size_bytes == (hanging.size_bytes or size)

    refuse = store.answer(403, "PUT", in_commits(table))
    refused = commit(table)
    assert refused.url == ""
    refuse.wait_hit()
    refuse.lift()
    assert wait_url(table, commit(table))
    _wait_at_home(table, store, refused)


@FULL
def test_what_waits_for_the_store_outlives_the_server(
    make_committing: MakeTopicTable, hosted_store: FaultyS3
) -> None:
    table, store = make_committing(1), hosted_store
    refuse = store.answer(403, "PUT", in_commits(table))
    refused = [commit(table) for _ in range(2)]
    refuse.wait_hit()
    table.wait_served(replicas=2)
    # One at a time: without the store, a server that lost a segment downloads it from the other server.
    for role in ("hosted_1", "hosted_2"):
        table.pinot.kill(role)
        table.pinot.start(role)
        table.wait_served(replicas=2)
    refuse.lift()
    for each in refused:
        _wait_at_home(table, store, each)
    table.wait_seen(table.produced)


def test_consumption_continues_without_the_store_and_repair_fills_it(
    make_committing: MakeTopicTable, hosted_store: FaultyS3, run: Run, audit: Audit, full: bool
) -> None:
    count = 5 if full else 1
    table = make_committing(2)
    fill(table)
    wait_uploaded(table)

    away = hosted_store.answer(403, "PUT", in_commits(table))
    fill(table, count)
    # Then it is down completely: no connection and no response, also for earlier attempts.
    with hosted_store.dead():
        fill(table, count)
    without = without_url(table)
    assert len(without) == 4 * count
    away.wait_hit()
    assert audit(table.full_name, "--min-copies", "1").get("no_url") == without

    # A server that lost its disk downloads from the other server: the store has none of the segments.
    table.wait_served(replicas=2)
    table.pinot.kill("hosted_1")
    table.wait_seen(table.produced)
    table.pinot.lose_disk("hosted_1")
    table.pinot.start("hosted_1")
    table.wait_served(replicas=2)

    away.lift()
    fill(table)
    # The other server uploads its own backlog; the repair replaces the tars on the lost disk. Both may
    # work on the same segment.
    run("deepstore", "repair", table.name, "--yes")
    wait_uploaded(table)
    assert audit(table.full_name, "--read-tars") == {}
    if not full:
        return

    table.pinot.kill("hosted_2")
    table.pinot.lose_disk("hosted_2")
    table.pinot.start("hosted_2")
    table.wait_served(replicas=2)
    table.pinot.kill("hosted_1")
    table.wait_seen(table.produced)
    table.pinot.start("hosted_1")
