"""An outage of the deep store for some segments of each partition; servers are added and lose their disks."""

from __future__ import annotations

from tests.integration.deepstore.conftest import Audit, Run, audit, run
from tests.integration.server_hooks.commits import FLUSH_OF_TWO, fill, objects_of, urls
from tests.integration.server_hooks.conftest import MakeTopicTable, TopicTable
from tests.support.faulty_s3 import FaultyS3
from tests.support.pinot_services import COMMITS_FOLDER
from tests.support.wait import wait_for

__all__ = ["audit", "run"]


def test_consumption_continues_without_the_store_and_repair_fills_it(
    make_topic_table: MakeTopicTable, hosted_store: FaultyS3, run: Run, audit: Audit, full: bool
) -> None:
    count = 5 if full else 2
    table = make_topic_table(partitions=2, **FLUSH_OF_TWO)
    fill(table, 1, partitions=2)
    _wait_uploaded(table, expected_without=set())

    away = hosted_store.answer(403, "PUT", objects_of(table, COMMITS_FOLDER))
    fill(table, count, partitions=2)
    # Then it is down completely: no connection and no response, also for earlier attempts.
    with hosted_store.dead():
        fill(table, count, partitions=2)
    without = {segment for segment, url in urls(table).items() if not url}
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
    fill(table, 1, partitions=2)
    # The other server uploads its own backlog; the repair replaces the tars on the lost disk. Both may
    # work on the same segment.

    run("deepstore", "repair", table.name, "--yes")
    _wait_uploaded(table, expected_without=set())
    assert audit(table.full_name, "--read-tars") == {}
    assert all(urls(table).values())

    table.pinot.kill("hosted_2")
    table.pinot.lose_disk("hosted_2")
    table.pinot.start("hosted_2")
    table.wait_served(replicas=2)
    table.pinot.kill("hosted_1")
    table.wait_seen(table.produced)
    table.pinot.start("hosted_1")


def _wait_uploaded(table: TopicTable, expected_without: set[str]) -> None:
    """Wait until all committed segments but some are in the store.

    If an upload takes longer than the commit waits, its URL is registered later.
    """
    wait_for(
        lambda: {segment for segment, url in urls(table).items() if not url} == expected_without,
        f"all segments but {len(expected_without)} to be in the store",
    )
