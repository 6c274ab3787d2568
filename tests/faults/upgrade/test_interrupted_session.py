"""An upgrade and a rollback in the middle of a session: kill -9 of a run of one release, then the other."""

from __future__ import annotations

import json
import signal
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.params.registration import register_task
from minion_tasks.file_ingestion.session.records import SESSION_FORMAT
from tests.faults.file_ingestion.leftovers import wait_nothing_left
from tests.faults.takeover.place import Several
from tests.faults.upgrade.place import Sessions, assert_refused, pinotctl, refusal, znodes
from tests.integration.file_ingestion.ingestion import IngestionTable, Ran, write_numbers
from tests.integration.file_ingestion.scenes.source import Source, whole
from tests.support.cluster import PinotCluster
from tests.support.faulty_http import FaultyHttp
from tests.support.releases import THIS, Release
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.s3]

FILES = ("F1", "F2", "F3")
EACH_SECOND = "* * * * * ?"
NOW, FOLLOWING = str(SESSION_FORMAT.version), str(SESSION_FORMAT.version + 1)


@dataclass(frozen=True)
class Point:
    """Where a run is killed, and what the next one does.

    Attributes:
        state: State of the session at that point.
        outcome: Outcome of the next run.
        retries: Number of retries at its end.
    """

    state: str
    outcome: str
    retries: int


READING = Point("IN_PROGRESS", "switched", 1)
SWITCHING = Point("SWITCH", "switch_finished", 0)


@pytest.fixture
def table(ingestion_table: IngestionTable, source: Source, later_minions: str) -> IngestionTable:
    """A table with files to ingest, each a subtask; minions are upgraded before runs are."""
    source.put(*FILES)
    return ingestion_table.create().register(
        source.uri,
        "csv",
        **source.proxy.access.task_parameters,
        minionInstanceTag=later_minions,
        minionWait="10m",
        taskMaxNumFilesPerTask="1",
        consistentPushMaxRetries="2",
    )


@pytest.fixture
def sessions(
    table: IngestionTable,
    pinot: PinotCluster,
    store: PropertyStore,
    controller_proxy: FaultyHttp,
    source: Source,
) -> Sessions:
    return Sessions(table, pinot, store, controller_proxy, source.proxy)


def killed(sessions: Sessions, release: Release, point: Point) -> AbstractContextManager[None]:
    return (sessions.killed_reading if point == READING else sessions.killed_switching)(release)


def state_of(sessions: Sessions) -> tuple[str, str, str]:
    last = sessions.last()
    return last["format"], last["state"], last["retryCount"]


def assert_ended(table: IngestionTable, sessions: Sessions, ran: Ran, point: Point) -> None:
    """A run of the later release has completed the only session, and each row is there once."""
    (session,) = sessions.ids()
    report = ran.report
    assert (report["outcome"], report["session"]) == (point.outcome, session)
    assert (report["retry_count"], report["files"]) == (point.retries, len(FILES))
    assert state_of(sessions) == (FOLLOWING, "DONE", str(point.retries))
    assert sessions.statuses() == ["staged"] * len(FILES)
    sql = f"select count(*), sum(id), distinctcount(id) from {table.name}"
    rows, ids = whole(FILES)
    assert tuple(table.broker.query(sql).rows[0]) == (rows, ids, rows)


@pytest.mark.parametrize(
    "point", [READING, pytest.param(SWITCHING, marks=FULL)], ids=["reading", "switching"]
)
def test_the_later_release_ends_a_session_of_this_one(
    pinot: PinotCluster,
    store: PropertyStore,
    later: Release,
    table: IngestionTable,
    sessions: Sessions,
    point: Point,
) -> None:
    with table.polled() as reader:
        with killed(sessions, THIS, point):
            assert state_of(sessions) == (NOW, point.state, "0")
            assert table.segments() == []
        ran = pinotctl(later, pinot, "task", "run", table.name, "--output", "json")
        reader.poll_until(reader.polls + 5)
    assert_ended(table, sessions, ran, point)
    assert {answer for answer in reader.seen if answer and answer[0]} == {whole(FILES)}
    assert reader.errors == []
    # Its minion has still written what the run of this release could have read.
    assert {fields["format"] for fields in sessions.files()} == {NOW}
    wait_nothing_left(table, pinot, store)


@FULL
@pytest.mark.parametrize("point", [READING, SWITCHING], ids=["reading", "switching"])
def test_this_release_does_not_touch_a_session_of_the_later_one(
    pinot: PinotCluster,
    store: PropertyStore,
    later: Release,
    table: IngestionTable,
    sessions: Sessions,
    other_table: IngestionTable,
    shared_folder: Path,
    schedulers: Several,
    point: Point,
) -> None:
    other = other_table.create()
    with killed(sessions, later, point):
        assert state_of(sessions) == (FOLLOWING, point.state, "0")
        before = znodes(store, sessions.path)
        where = f"{sessions.path}/{sessions.ids()[-1]}"
        for words in (("run", table.name), ("session", "clear", table.name, "--yes")):
            assert_refused(pinotctl(THIS, pinot, "task", *words), SESSION_FORMAT, where)
        as_json = pinotctl(THIS, pinot, "task", "run", table.name, "--output", "json")
        error = json.loads(as_json.err.splitlines()[-1])["error"]
        assert (error["type"], error["message"]) == ("FormatVersionError", refusal(SESSION_FORMAT, where))

        scheduled = {**table.configs, "schedule": EACH_SECOND}
        register_task(table.client.tables, table.with_type, scheduled)
        write_numbers(shared_folder, "a.csv", 0, 10)
        other.register(shared_folder, "csv", schedule=EACH_SECOND)
        scheduler = schedulers.start()
        other.wait_count(10)

        def triggers() -> int:
            return schedulers.log(scheduler).count(f"{table.with_type}: triggered by its schedule")

        wait_for(lambda: triggers() >= 3, "more triggers of the table")
        scheduler.send_signal(signal.SIGTERM)
        assert scheduler.wait(300) == 0
        assert schedulers.log(scheduler).count(refusal(SESSION_FORMAT, where)) == 1
        assert znodes(store, sessions.path) == before
        assert table.segments() == []
    ran = pinotctl(later, pinot, "task", "run", table.name, "--output", "json")
    assert_ended(table, sessions, ran, point)
    wait_nothing_left(table, pinot, store)
