from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_client.common.names import TableName
from controller_client.errors import PinotPluginError, SourceError
from controller_client.helix.unfinished_subtasks import Unfinished
from controller_client.monitoring import Monitoring, catalogue
from controller_client.publishing.checks.judgement import ChecksFailedError
from jvm_bridge.minion.adapters import RunningTasks
from jvm_bridge.minion.subtask_metrics import SubtaskMetrics
from minion_tasks.file_ingestion.engine.executor import FileMetrics
from minion_tasks.file_ingestion.engine.staging_builder import BuildResult
from minion_tasks.file_ingestion.run.types import HeldError, RunReport
from minion_tasks.scheduler_metrics import SchedulerMetrics
from pinotctl.commands.queue_waiting import publish_subtasks
from tests.unit.alerts.promtool import Prometheus, samples, scraped, serve
from tests.unit.fake_clock import FakeClock
from tests.unit.minion_tasks.life import APPEND, Life
from tests.unit.minion_tasks.samples import TABLE
from tests.unit.minion_tasks.session_world import World

A = TableName("a_OFFLINE")
OPEN = f'pinot_plugins_ingestion_open_session_started_timestamp_seconds{{table="{TABLE}"}}'


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now=1_700_000_400.0)  # a multiple of ten minutes


@pytest.fixture
def monitoring(clock: FakeClock) -> Monitoring:
    return Monitoring(catalogue.SCHEDULER, clock)


@pytest.fixture
def prometheus(clock: FakeClock, tmp_path: Path, monitoring: Monitoring) -> Prometheus:
    return Prometheus(clock, tmp_path, scheduler=monitoring)


def test_runs_that_fail_one_after_the_other(monitoring: Monitoring, prometheus: Prometheus) -> None:
    def run(_table: TableName) -> RunReport | None:
        raise SourceError("no file matches")

    serve(monitoring, prometheus, lambda _: {A: "10"}, run, minutes=31)
    assert f'ingestion_runs_total{{outcome="failed",table="{A}"}} 3.0\n' in monitoring.text()
    prometheus.expect("RunsFail", before={25: ()})


def test_a_run_that_is_rejected_by_the_checks(monitoring: Monitoring, prometheus: Prometheus) -> None:
    def run(_table: TableName) -> RunReport | None:
        raise ChecksFailedError("too few rows")

    serve(monitoring, prometheus, lambda _: {A: "10"}, run, minutes=15)
    assert f'ingestion_runs_total{{outcome="rejected",table="{A}"}} 1.0\n' in monitoring.text()
    prometheus.expect("PushRejected", before={5: ()})


def test_a_table_that_was_rolled_back_is_no_failure(monitoring: Monitoring, prometheus: Prometheus) -> None:
    def run(_table: TableName) -> RunReport | None:
        raise HeldError("it was rolled back")

    serve(monitoring, prometheus, lambda _: {A: "10"}, run, minutes=31)
    assert f'ingestion_runs_total{{outcome="held",table="{A}"}} 3.0\n' in monitoring.text()
    assert f'failed_runs{{table="{A}"}} 0.0\n' in monitoring.text()


def test_a_run_that_does_not_end(monitoring: Monitoring, prometheus: Prometheus) -> None:
    def run(_table: TableName) -> RunReport | None:
        # The loop continues meanwhile, in its own thread.
        prometheus.pass_minutes(370, lambda: metrics.round_ended())
        prometheus.expect("RunNotFinished", before={360: ()})
        return None

    metrics = SchedulerMetrics(monitoring, prometheus.clock)
    serve(monitoring, prometheus, lambda _: {A: "10"}, run, minutes=400, metrics=metrics)
    assert not any("run_started" in series for series in samples(monitoring))


def test_an_invalid_cron_expression(monitoring: Monitoring, prometheus: Prometheus) -> None:
    serve(monitoring, prometheus, lambda minute: {A: "10" if minute < 5 else "x"}, minutes=20)
    prometheus.expect("ScheduleWrong", before={5: ()})


@pytest.fixture
def life() -> Iterator[Life]:
    world = World()
    yield Life(world, APPEND)
    world.close()


def test_a_session_that_stays_open(life: Life, tmp_path: Path) -> None:
    monitoring, prometheus = scraped(catalogue.SCHEDULER, tmp_path, life.world.clock)
    metrics = SchedulerMetrics(monitoring, prometheus.clock)
    metrics.refreshed({TABLE}, set())
    life.world.on_session = metrics.session_goes_on

    def trigger() -> None:
        metrics.run_began(TABLE)
        try:
            metrics.run_ended(TABLE, life.trigger())
        except PinotPluginError:
            metrics.run_failed(TABLE)

    life.write("F1", "F2")
    life.corrupt("F2")
    trigger()
    assert life.session.is_open
    prometheus.pass_minutes(11 * 60)
    trigger()
    assert f'ingestion_retries_total{{table="{TABLE}"}} 1.0\n' in monitoring.text()
    prometheus.pass_minutes(70)
    prometheus.expect("SessionOpen", before={10 * 60: ()})
    life.world.faults = {}
    trigger()
    prometheus.pass_minutes(2)
    prometheus.expect()
    assert f'ingestion_files_total{{table="{TABLE}"}} 2.0\n' in monitoring.text()
    assert OPEN not in samples(monitoring)


class Until:
    """A turn that is lost at a given time."""

    def __init__(self, clock: FakeClock, end_s: float) -> None:
        self._clock, self._end_s = clock, end_s

    @property
    def is_holder(self) -> bool:
        return self._clock.now() < self._end_s

    def release(self) -> None:
        self._end_s = 0.0


def test_a_standby_scheduler_stops_firing_alerts_about_runs_and_sessions(life: Life, tmp_path: Path) -> None:
    clock = life.world.clock
    monitoring = Monitoring(catalogue.SCHEDULER, clock)
    metrics = SchedulerMetrics(monitoring, clock)
    life.world.on_session = metrics.session_goes_on
    life.write("F1", "F2")
    life.corrupt("F2")
    with pytest.raises(PinotPluginError):
        life.trigger()
    assert OPEN in samples(monitoring)
    prometheus = Prometheus(clock, tmp_path, scheduler=monitoring)

    def run(_table: TableName) -> RunReport | None:
        raise SourceError("no file matches")

    good = f'pinot_plugins_ingestion_last_good_run_timestamp_seconds{{table="{TABLE}"}}'
    monitoring.gauge(catalogue.LAST_GOOD_RUN).labels(TABLE).set(clock.now())
    assert good in samples(monitoring)
    turn, every = Until(clock, clock.now() + 45 * 60), {TABLE: "10"}
    serve(monitoring, prometheus, lambda _: every, run, minutes=13 * 60, metrics=metrics, turn=turn)
    assert life.session.is_open
    assert OPEN not in samples(monitoring)
    assert good not in samples(monitoring)
    assert samples(monitoring)[f'pinot_plugins_ingestion_consecutive_failed_runs{{table="{TABLE}"}}'] == 0
    prometheus.expect(before={10: (), 44: ("RunsFail",), 60: ()})


def test_a_discarded_session_is_not_open(life: Life) -> None:
    clock = life.world.clock
    monitoring = Monitoring(catalogue.SCHEDULER, clock)
    life.world.on_session = SchedulerMetrics(monitoring, clock).session_goes_on
    life.write("F1")
    life.corrupt("F1")
    life.fails()
    assert OPEN in samples(monitoring)
    life.fails(consistentPushMaxRetries="1")
    assert life.session.abandoned
    assert OPEN not in samples(monitoring)


def test_subtasks_that_fail(clock: FakeClock, tmp_path: Path) -> None:
    monitoring, prometheus = scraped(catalogue.MINION, tmp_path, clock)
    running = RunningTasks(SubtaskMetrics(monitoring, ["FileIngestionTask"], 2, clock))

    def work(error: Exception | None) -> None:
        try:
            with running.subtask("FileIngestionTask", lambda: False):
                clock.advance(0)
                if error:
                    raise error
        except SourceError:
            pass

    prometheus.pass_minutes(40, lambda: work(None))
    prometheus.pass_minutes(30, lambda: work(SourceError("the staging folder is full")))
    prometheus.expect("SubtasksFail", before={40: ()})
    assert running.wait_until_none(0)


def test_a_cancelled_subtask_has_not_failed(clock: FakeClock) -> None:
    monitoring = Monitoring(catalogue.MINION, clock)
    metrics = SubtaskMetrics(monitoring, ["T"], 2, clock)

    def work() -> None:
        with metrics.subtask("T", lambda: True):
            clock.advance(3)
            raise SourceError("in the middle")

    with pytest.raises(SourceError):
        work()
    text = monitoring.text()
    assert 'pinot_plugins_minion_subtasks_total{outcome="cancelled",task_type="T"} 1.0\n' in text
    assert 'pinot_plugins_minion_subtasks_total{outcome="failed",task_type="T"} 0.0\n' in text
    assert 'pinot_plugins_minion_subtask_seconds_total{task_type="T"} 3.0\n' in text
    assert 'pinot_plugins_minion_running_subtasks{task_type="T"} 0.0\n' in text


def test_files_that_failed_are_counted() -> None:
    monitoring = Monitoring(catalogue.MINION)
    FileMetrics(monitoring).built((), BuildResult(None, {1: ValueError("bad"), 2: ValueError("bad")}))
    assert 'pinot_plugins_minion_files_total{outcome="failed"} 2.0\n' in monitoring.text()


def test_subtasks_wait_and_no_minion_runs_one(clock: FakeClock, tmp_path: Path) -> None:
    queue, prometheus = scraped(catalogue.QUEUE, tmp_path, clock)
    found = {"busy": Unfinished(5, 1), "alone": Unfinished(0, 0)}
    publish_subtasks(queue, lambda: found)
    prometheus.pass_minutes(60)
    found["alone"] = Unfinished(2, 0)
    prometheus.pass_minutes(35)
    prometheus.expect("SubtasksWait", before={60: (), 85: ()})
    found["alone"] = Unfinished(1, 1)
    prometheus.pass_minutes(1)
    prometheus.expect()
