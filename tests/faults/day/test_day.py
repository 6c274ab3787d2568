"""A day of a cluster: schedules, pauses, an hour without the store, the controller killed twice, an upgrade.

No manual steps; each row is there once; the expected alerts fire, and no others.

=====  ========================================================================================
hour   event, in addition to rows and files each hour
=====  ========================================================================================
2      a partition is paused for five hours
3      a partition of another table, and a whole table, are paused for an hour and a half
4      kill -9 of the controller
7      the partition of hour 2 is resumed
8      the store is down for an hour
11     a partition and a whole table are paused
12     kill -9 of the controller, during these pauses
13     they are resumed
14     all plugin processes are upgraded, one by one
20     evening: no further events
24     the end
=====  ========================================================================================
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from controller_client.monitoring import catalogue
from controller_client.rest.lineage import LineageState
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.faults.day.alerts import EXPECTED, Stretch, check_alerts
from tests.faults.day.clock import HOUR_S
from tests.faults.day.day import CLIENTS, IN_RULES, Day
from tests.faults.day.events import (
    controller_killed,
    paused,
    paused_partition,
    plugins_upgraded,
    resumed,
    resumed_partition,
    store_away,
)
from tests.faults.day.results import RESULT
from tests.faults.day.scrapes import day_series
from tests.faults.day.tables import FILE_TABLES, STREAM_TABLES
from tests.integration.server_hooks.commits import urls
from tests.support.full import FULL

pytestmark = [FULL, pytest.mark.cluster, pytest.mark.kafka, pytest.mark.s3]

_END_H = 24
_LAST_ROWS_S = 300.0


def test_the_cluster_recovers_unattended_and_the_expected_alerts_fire(day: Day, tmp_path: Path) -> None:
    long_paused, other, whole, _ = day.tables.streams
    day.until(2)
    paused_partition(day, long_paused, 0)
    since_h = day.clock.now_s / HOUR_S
    day.until(3)
    paused_partition(day, other, 1)
    paused(day, whole)
    day.until(4)
    controller_killed(day)
    day.until(4.5)
    resumed_partition(day, other, 1)
    resumed(day, whole)
    day.until(since_h + 4)
    day.ends(Stretch.MORNING)
    day.until(7)
    resumed_partition(day, long_paused, 0)
    day.until(7.5)
    day.ends(Stretch.LONG_PAUSE)
    day.until(8)
    store_away(day)
    day.until(11)
    day.ends(Stretch.OUTAGE)
    paused_partition(day, long_paused, 1)
    paused(day, whole)
    day.until(12)
    controller_killed(day)
    day.until(13)
    resumed_partition(day, long_paused, 1)
    resumed(day, whole)
    day.until(14)
    day.ends(Stretch.AFTERNOON)
    plugins_upgraded(day, minutes=30)
    day.until(20)
    day.ends(Stretch.UPGRADE)
    day.until(_END_H)
    day.ends(Stretch.EVENING)

    day.tables.wait_whole(_LAST_ROWS_S)
    day.settle()
    _assert_nothing_left(day)
    _assert_upgraded(day, day.processes)
    assert day.readers.errors == []
    assert day.readers.torn == []
    answer = day.clients.ask({})
    series = day_series(day.scraper.scrapes, IN_RULES, day.clock.day_of, day.windows[-1].end_s)
    check_alerts(series, day.windows, str(long_paused.full_name), tmp_path)

    RESULT.tables = FILE_TABLES + STREAM_TABLES
    RESULT.real_s = day.clock.real_s
    RESULT.clients, RESULT.requests, RESULT.asked_s = CLIENTS, answer["requests"], answer["seconds"]
    RESULT.alerts = tuple(each.alert for each in EXPECTED if each.stretch)
    RESULT.polls = day.readers.polls
    RESULT.scrapes = sum(len(each) for each in day.scraper.scrapes.values())


def _assert_nothing_left(day: Day) -> None:
    """No session or lineage entry is open, no tar waits, and the store contains each committed segment."""
    tables = day.tables
    for each in tables.files:
        name = each.table.with_type
        session = SessionStore(tables.store, name).latest()
        assert session is not None
        assert not session.is_open, session
        entries = tables.client.lineage.list(name)
        assert {entry.state for entry in entries} <= {LineageState.COMPLETED}, entries
    for stream in tables.streams:
        found = urls(stream)
        assert found
        assert all(found.values()), found
        assert stream.pauses().wanted == frozenset()


def _assert_upgraded(day: Day, instances: Collection[str]) -> None:
    for instance in instances:
        scrape = day.scraper.last(instance)
        assert scrape is not None
        assert scrape.samples is not None
        (info,) = [each for each in scrape.samples if each.startswith(catalogue.PROCESS_INFO.name)]
        assert f'version="{day.later.version}"' in info
