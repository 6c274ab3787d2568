"""Partitions paused by the hook of two Python-hosted servers: each row appears once, and none too early."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum, auto

import pytest

from controller_client.consumption.partitions import pause_partitions, resume_partitions
from controller_client.errors import ConfigError, UnsupportedError
from controller_client.helix.ideal_state import ConsumptionFlags, read_flags, read_ideal_state
from controller_client.helix.paused_tables import read_paused_tables
from controller_client.rest.delete_risks import DeleteRisk
from tests.integration.server_hooks.conftest import MakeTopicTable, TopicTable
from tests.support.needs import Need, inside
from tests.support.pinot_services import HOSTED_ADDRESSES
from tests.support.tiers import FULL
from tests.support.wait import wait_for

_TIMEOUT_S = 300.0


def _paused(table: TopicTable, *partitions: int) -> None:
    pause_partitions(table.control(), partitions, reason="test")
    pauses = table.pauses()
    assert pauses.consuming_on == {}
    assert pauses.wanted >= set(partitions)
    assert table.full_name in read_paused_tables(table.store).names


def _begin_pause(table: TopicTable, *partitions: int) -> None:
    pause_partitions(table.control(), partitions, wait=False)


def _resumed(table: TopicTable, *partitions: int) -> None:
    resume_partitions(table.control(), partitions)


def test_every_row_once_through_validation_restarts_and_a_rebalance(
    make_topic_table: MakeTopicTable, full: bool
) -> None:
    table = make_topic_table(partitions=2, replicas=1)
    table.produce(0, 100)
    table.produce(1, 100)
    table.wait_seen(table.produced)
    before = list(table.produced[0])

    _paused(table, 0)
    _paused(table, 0)  # a repeated pause changes nothing
    segment = table.consuming()[0]
    table.produce(0, 50)
    table.produce(1, 50)
    expected = {0: before, 1: table.produced[1]}
    table.wait_seen(expected)

    # The controller's validation finds nothing to repair.
    table.run_periodic_task("RealtimeSegmentValidationManager")
    table.produce(1, 10)
    table.wait_seen(expected)
    assert table.consuming()[0] == segment

    # A second replica adds a consuming segment on a server that had none of this partition.
    table.set_replicas(2)
    wait_for(
        lambda: (
            len(read_ideal_state(table.store, table.full_name).consuming[table.consuming()[0]]) == 2
            and table.pauses().consuming_on == {}
        ),
        "both servers to hold partition 0",
        _TIMEOUT_S,
    )
    table.produce(1, 10)
    table.wait_seen(expected)

    # Servers killed during a pause restart with the partition paused.
    for role in ("hosted_1", "hosted_2") if full else ("hosted_1",):
        table.pinot.kill(role)
        table.pinot.start(role)
    table.wait_served()
    table.produce(0, 10)
    table.produce(1, 10)
    table.wait_seen(expected)
    # A restarted server writes its report within a second.
    wait_for(
        lambda: table.pauses().consuming_on == {}, "both servers to report no consuming segment", _TIMEOUT_S
    )

    _resumed(table, 0)
    table.wait_seen(table.produced)
    assert table.pauses().wanted == frozenset()
    assert table.full_name not in read_paused_tables(table.store).names


@FULL
def test_a_pause_of_the_table_goes_with_one_of_a_partition(make_topic_table: MakeTopicTable) -> None:
    table = make_topic_table(partitions=2)
    table.produce(0, 10)
    table.produce(1, 10)
    table.wait_seen(table.produced)
    _paused(table, 1)
    # The table's pause seals the paused, empty segment; the table's resume does not resume the partition.
    table.ask_controller("POST", f"tables/{table.name}/pauseConsumption")
    wait_for(lambda: table.consuming() == {}, "no partition to consume", _TIMEOUT_S)
    assert read_flags(table.store, table.full_name) == ConsumptionFlags(True, frozenset({1}))
    before = {partition: list(numbers) for partition, numbers in table.produced.items()}
    table.produce(0, 10)
    table.produce(1, 10)
    # Paused while the whole table is paused: there is no consuming segment yet.
    _paused(table, 0)
    table.ask_controller("POST", f"tables/{table.name}/resumeConsumption")
    wait_for(lambda: len(table.consuming()) == 2, "consuming segments", _TIMEOUT_S)
    _paused(table, 0, 1)
    table.wait_seen(before)
    _resumed(table, 1)
    table.wait_seen({0: before[0], 1: table.produced[1]})
    _resumed(table, 0)
    table.wait_seen(table.produced)


@inside(Need.PAUSELESS_TABLES)
def test_a_partition_of_a_pauseless_table(make_topic_table: MakeTopicTable) -> None:
    """The next segment is created when the commit starts; the pause is complete when all are built."""
    table = make_topic_table(partitions=2, pauseless=True)
    for partition in (0, 1):
        table.produce(partition, 500)
    table.wait_seen(table.produced)
    for count in (300, 200):
        _paused(table, 0)
        assert table.control().committing() == []
        expected = {0: list(table.produced[0]), 1: table.produced[1]}
        for partition in (0, 1):
            table.produce(partition, count)
        table.wait_seen(expected)
        # A forced commit does no harm: the paused segment has nothing to commit.
        table.ask_controller("POST", f"tables/{table.name}/forceCommit")
        table.produce(1, 10)
        table.wait_seen(expected)
        _resumed(table, 0)
        table.wait_seen(table.produced)
        assert table.settled() == {part: sorted(numbers) for part, numbers in table.produced.items()}


@contextmanager
def _steady_rows(table: TopicTable, partition: int) -> Iterator[None]:
    """Produce rows into a partition until the with statement ends."""
    done = threading.Event()

    def produce() -> None:
        while not done.wait(0.3):
            table.produce(partition, 5)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@FULL
def test_pauses_race_commits_kills_and_each_other(make_topic_table: MakeTopicTable) -> None:
    table = make_topic_table(partitions=2, **{"realtime.segment.flush.threshold.rows": "75"})
    with _steady_rows(table, 0):
        wait_for(lambda: len(table.seen().get(0, [])) > 100, "rows, and a commit or two", _TIMEOUT_S)
        # Five callers at once, while segments are committed continuously.
        _all_at_once(*[lambda: _paused(table, 0)] * 5)
        stopped_at = table.settled()
        table.produce(1, 50)
        wait_for(lambda: len(table.seen().get(1, [])) == 50, "the other partition's rows", _TIMEOUT_S)
        assert table.settled()[0] == stopped_at[0]
        # A pause and a resume at the same time: one of them wins, and nothing hangs.
        _resumed(table, 0)
        _all_at_once(lambda: _begin_pause(table, 0), lambda: _resumed(table, 0))
        _resumed(table, 0)
        _begin_pause(table, 0)
        # A server is killed during a pause: the other completes it; so does this one after a restart.
        table.pinot.kill("hosted_2")
        table.pinot.start("hosted_2")
        table.wait_served()
        # The partition may not be paused yet, since a commit is in progress: only the call knows the end.
        _paused(table, 0)
        stopped_at = table.settled()
        table.produce(1, 50)
        wait_for(lambda: len(table.seen().get(1, [])) == 100, "the other partition's rows", _TIMEOUT_S)
        assert table.settled()[0] == stopped_at[0]
    _resumed(table, 0)
    table.wait_seen(table.produced)


def _all_at_once(*calls: Callable[[], None]) -> None:
    with ThreadPoolExecutor(len(calls)) as pool:
        for future in [pool.submit(call) for call in calls]:
            future.result()


def test_partitions_that_cannot_be_paused_are_refused_and_nothing_changes(
    make_topic_table: MakeTopicTable,
) -> None:
    stock = make_topic_table(partitions=1, tenant="DefaultTenant")
    with pytest.raises(
        UnsupportedError, match=r"Server_127\.0\.0\.21_\d+, Server_127\.0\.0\.22_\d+ would keep consuming"
    ):
        _paused(stock, 0)
    hosted = make_topic_table(partitions=1)
    with pytest.raises(ConfigError, match="has no partition 7"):
        _paused(hosted, 0, 7)
    for table in (stock, hosted):
        assert read_flags(table.store, table.full_name) == ConsumptionFlags(False, frozenset())


@FULL
def test_a_partition_whose_consumption_is_limited(make_topic_table: MakeTopicTable) -> None:
    table = make_topic_table(partitions=1, **{"topic.consumption.rate.limit": "100"})
    table.produce(0, 20)
    table.wait_seen(table.produced)
    _paused(table, 0)
    before = {0: list(table.produced[0])}
    table.produce(0, 20)
    table.wait_seen(before)
    _resumed(table, 0)
    table.wait_seen(table.produced)


def test_pinots_own_pause_of_a_table_also_ends_segments_that_begin_under_it(
    make_topic_table: MakeTopicTable,
) -> None:
    # Pinot's message to commit reaches the servers before they have loaded the segments of the resume.
    table = make_topic_table(partitions=2)
    for _ in range(3):
        for partition in (0, 1):
            table.produce(partition, 10)
        table.wait_seen(table.produced)
        table.ask_controller("POST", f"tables/{table.name}/pauseConsumption")
        wait_for(lambda: table.consuming() == {}, "no partition to consume", _TIMEOUT_S)
        table.ask_controller("POST", f"tables/{table.name}/resumeConsumption")
        wait_for(lambda: len(table.consuming()) == 2, "consuming segments", _TIMEOUT_S)
        table.ask_controller("POST", f"tables/{table.name}/pauseConsumption")
        wait_for(lambda: table.consuming() == {}, "no partition to consume", _TIMEOUT_S)
        table.ask_controller("POST", f"tables/{table.name}/resumeConsumption")
        table.wait_seen(table.produced)


class Moment(Enum):
    """When a table is dropped."""

    PAUSING = auto()
    SEALED = auto()
    PAUSED = auto()
    RESUMING = auto()


@pytest.mark.parametrize("count", [4, pytest.param(100, marks=FULL)])
def test_tables_are_dropped_while_they_are_paused(make_topic_table: MakeTopicTable, count: int) -> None:
    """A server whose transition hangs keeps the segment in the external view."""
    busy = make_topic_table(partitions=1, **{"realtime.segment.flush.threshold.rows": "75"})
    moments = itertools.cycle(Moment)
    with _steady_rows(busy, 0), ThreadPoolExecutor(4) as pool:
        dropped = list(
            pool.map(
                lambda moment: _dropped(make_topic_table(partitions=1), moment),
                itertools.islice(moments, count),
            )
        )
        for table in dropped:
            view = f"/{table.store.cluster_name}/EXTERNALVIEW/{table.full_name}"
            wait_for(
                lambda view=view: not busy.store.connection.exists(view),  # type: ignore[misc]
                f"the servers to drop the segments of {table.name}",
                _TIMEOUT_S,
            )
        wait_for(
            lambda: (
                not any(
                    any(busy.pinot.data_folder(role).glob(f"{table.full_name}/consumers/*"))
                    for role in HOSTED_ADDRESSES
                    for table in dropped
                )
            ),
            "the consumers of dropped tables to end",
            _TIMEOUT_S,
        )
    busy.wait_seen(busy.produced)


def _dropped(table: TopicTable, moment: Moment) -> TopicTable:
    table.produce(0, 10)
    table.wait_seen(table.produced)
    first = table.consuming()
    _begin_pause(table, 0)
    if moment is Moment.SEALED:  # the next segment's consumer may not have started
        wait_for(lambda: table.consuming() not in ({}, first), "the next segment", _TIMEOUT_S)
    elif moment is not Moment.PAUSING:
        _paused(table, 0)
    if moment is Moment.RESUMING:
        resume_partitions(table.control(), [0], wait=False)
    table.client.tables.delete(table.full_name)
    return table


def test_a_segment_is_deleted_while_its_partition_is_paused(make_topic_table: MakeTopicTable) -> None:
    table = make_topic_table(partitions=1)
    table.produce(0, 10)
    table.wait_seen(table.produced)
    _paused(table, 0)
    name = table.consuming()[0]
    table.client.segments.delete(table.full_name, [name], accept=[DeleteRisk.CONSUMING])
    view = table.client.tables.external_view
    wait_for(lambda: name not in view(table.full_name), "the servers to drop the segment", _TIMEOUT_S)
