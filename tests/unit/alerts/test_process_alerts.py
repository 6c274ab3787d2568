from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import requests

from controller_client.common.names import TableName
from controller_client.deepstore.audit import TableAudit
from controller_client.deepstore.audit_tables import TableFailure
from controller_client.deepstore.judge import Judgement, Replica
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.report import AuditReport
from controller_client.deepstore.watch import Watch
from controller_client.errors import NotAppliedError, SourceError, UnreachableError
from controller_client.monitoring import Monitoring, MonitoringServer, catalogue
from controller_client.zookeeper import Lease
from controller_client.zookeeper.lease import LeaseState
from key_coordinator.metrics import CoordinatorMetrics
from key_coordinator.report import VersionReport
from key_coordinator.retries import Retries
from pinotctl.monitoring import publish_lease
from tests.unit.alerts.promtool import Prometheus, scraped, serve
from tests.unit.controller_client.deepstore.samples import TABLE, crc_of
from tests.unit.controller_client.deepstore.world import World
from tests.unit.fake_clock import FakeClock


def test_a_process_that_does_not_answer(tmp_path: Path) -> None:
    clock = FakeClock()
    prometheus = Prometheus(clock, tmp_path)
    server = MonitoringServer("127.0.0.1", 0, Monitoring(catalogue.SCHEDULER, clock))

    def answers() -> bool:
        try:
            return requests.get(f"http://127.0.0.1:{server.port}/metrics", timeout=10).ok
        except requests.ConnectionError:
            return False

    def scrape() -> None:
        prometheus.scrape({"dies": answers()})

    with server:
        prometheus.pass_minutes(10, scrape)
    prometheus.pass_minutes(7, scrape)
    prometheus.expect("NotScraped", before={10: ()})


def test_a_process_that_no_longer_exists(tmp_path: Path) -> None:
    for kind, minutes, alerts in ((catalogue.WATCH, 15, ["ProcessGone"]), (catalogue.MINION, 60, [])):
        _, prometheus = scraped(kind, tmp_path)
        prometheus.pass_minutes(10)
        prometheus.processes.clear()
        prometheus.pass_minutes(minutes)
        prometheus.expect(*alerts, before={10: ()})  # minions may be scaled to zero


def test_a_scheduler_that_hangs(tmp_path: Path) -> None:
    monitoring, prometheus = scraped(catalogue.SCHEDULER, tmp_path)

    def schedules(minute: int) -> Mapping[TableName, str]:
        if minute == 20:
            prometheus.pass_minutes(10)  # ZooKeeper does not end its session
            assert monitoring.health.troubles()
            prometheus.expect("LoopStuck", before={19: ()})
        return {}

    serve(monitoring, prometheus, schedules, minutes=40)
    prometheus.expect()


def test_a_scheduler_without_zookeeper(tmp_path: Path) -> None:
    monitoring, prometheus = scraped(catalogue.SCHEDULER, tmp_path)

    def schedules(minute: int) -> Mapping[TableName, str]:
        if minute >= 5:
            raise UnreachableError("ZooKeeper does not answer")
        return {}

    serve(monitoring, prometheus, schedules, minutes=45)
    prometheus.expect("NotReady", before={5: ()})


def test_a_watch_whose_rounds_are_all_aborted(tmp_path: Path) -> None:
    monitoring, prometheus = scraped(catalogue.WATCH, tmp_path)
    clock, stop = prometheus.clock, threading.Event()

    def audit() -> AuditReport:
        prometheus.pass_minutes(1)
        if clock.monotonic() >= 3600:
            stop.set()
        if clock.monotonic() > 600:
            raise NotAppliedError("the controller does not answer")
        return AuditReport("file:///x", 2, 0, 0.0, ())

    Watch(audit, None, WatchMetrics(monitoring, 1e-6), clock, interval_s=1e-6, parallel=1).serve(stop)
    prometheus.scrape()
    prometheus.expect("RoundsFail", before={10: ()})


def test_rounds_hours_apart_one_of_which_fails_then_all(tmp_path: Path) -> None:
    monitoring, prometheus = scraped(catalogue.WATCH, tmp_path)
    loop = monitoring.loop("watch", 3 * 3600)
    for well in (True, False, True, False, False, False):
        loop.round_ended(well=well)
        prometheus.pass_minutes(120)
    quiet = dict.fromkeys(range(0, 600, 10), ())
    failing = dict.fromkeys(range(520, 720, 10), ("RoundsFail",))
    prometheus.expect("RoundsFail", before={**quiet, **failing})

    monitoring, prometheus = scraped(catalogue.WATCH, tmp_path)  # without any successful round
    loop = monitoring.loop("watch", 3600)
    prometheus.pass_minutes(60, lambda: loop.round_ended(well=False))
    prometheus.expect("RoundsFail", before={20: ()})


class Place:
    """The place in line of a process; ``test_lease`` proves who gets the lease, and when it is lost."""

    name = "deepstore-watch"

    def __init__(self, state: LeaseState) -> None:
        self.state = state

    @property
    def is_holder(self) -> bool:
        return self.state is LeaseState.HOLDING

    def release(self) -> None:
        self.state = LeaseState.RELEASED


def test_of_two_watches_one_stands_by_and_takes_over_and_nothing_is_wrong_until_nobody_holds(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    processes = {name: Monitoring(catalogue.WATCH, clock) for name in "ab"}
    prometheus = Prometheus(clock, tmp_path, **processes)
    first, second = Place(LeaseState.HOLDING), Place(LeaseState.WAITING)
    failed = [TableFailure(TABLE, "its config cannot be read")]

    def watch(monitoring: Monitoring, place: Place) -> Watch:
        publish_lease(monitoring, cast("Lease", place))
        metrics = WatchMetrics(monitoring, 60)
        return Watch(audit, None, metrics, clock, interval_s=0.0, parallel=1, turn=place)

    def audit() -> AuditReport:
        return AuditReport("file:///x", 2, 0, 0.0, (), tuple(failed))

    watches = [watch(*each) for each in zip(processes.values(), (first, second), strict=True)]

    def minute() -> None:
        for each in watches:
            each.serve(_Once())

    prometheus.pass_minutes(16, minute)
    assert not processes["b"].health.missing()
    # The first has found a table that it cannot inspect, and is cut off from ZooKeeper.
    first.state, second.state = LeaseState.LOST, LeaseState.HOLDING
    failed.clear()
    prometheus.pass_minutes(200, minute)
    for monitoring in processes.values():
        assert not monitoring.health.troubles()
        assert not monitoring.health.missing()
    assert "failed_tables{" not in processes["a"].text()
    prometheus.expect(before=dict.fromkeys(range(1, 216, 5), ()))
    second.state = LeaseState.LOST
    prometheus.pass_minutes(4, minute)
    prometheus.expect("LeaseNotHeld", before={216: ()})
    first.state = LeaseState.HOLDING
    prometheus.pass_minutes(2, minute)
    prometheus.expect()
    # A stopping process is not a standby.
    for place in (first, second):
        place.release()
    assert "lease_held_ratio{" not in "".join(each.text() for each in processes.values())


class _Once(threading.Event):
    """Lets a loop run once, without waiting."""

    def __init__(self) -> None:
        super().__init__()
        self._asked = 0

    def is_set(self) -> bool:
        self._asked += 1
        return self._asked > 1

    def wait(self, _timeout: float | None = None) -> bool:
        return False


UPSERT = TableName("u_REALTIME")


def test_segments_without_copies(tmp_path: Path) -> None:
    world, crc, stop = World(tmp_path), crc_of(7, "s"), threading.Event()
    world.add("s", content=7)
    monitoring, prometheus = scraped(catalogue.WATCH, tmp_path)
    clock = prometheus.clock

    def found(minute: int) -> tuple[Judgement, ...]:
        if minute < 10:
            return ()
        # From minute 10 on, it is not in the store, and from 140 on, on no server either.
        state = "ONLINE" if minute < 140 else "ERROR"
        return (world.judged(Replica("a", state, crc), Replica("b", state, crc)),)

    def audit() -> AuditReport:
        prometheus.pass_minutes(1)
        minute = round(clock.monotonic() / 60)
        if minute == 160:
            stop.set()
        return AuditReport("file:///x", 2, 0, 0.0, (TableAudit(TABLE, 1, 0, found(minute), ()),))

    Watch(audit, None, WatchMetrics(monitoring, 1e-6), clock, interval_s=1e-6, parallel=1).serve(stop)
    world.client.close()
    before = {9: (), 120: (), 135: ("SegmentsNotStored",)}
    prometheus.expect("SegmentsNotStored", "SegmentsWithoutGoodCopy", before=before)


def test_a_table_that_cannot_be_inspected(tmp_path: Path) -> None:
    monitoring, prometheus = scraped(catalogue.WATCH, tmp_path)
    clock, stop = prometheus.clock, threading.Event()

    def audit() -> AuditReport:
        prometheus.pass_minutes(10)
        minute = round(clock.monotonic() / 60)
        if minute == 120:
            stop.set()
        failed = (TableFailure(TABLE, "its config cannot be read"),) if 20 <= minute < 110 else ()
        return AuditReport("file:///x", 2, 0, 0.0, (TableAudit(UPSERT, 1, 0, (), ()),), failed)

    Watch(audit, None, WatchMetrics(monitoring, 1e-6), clock, interval_s=1e-6, parallel=1).serve(stop)
    prometheus.expect(before={19: (), 70: ("RoundsFail",), 95: ("RoundsFail", "TablesNotInspected")})


def test_what_is_not_known_is_not_called_lost(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.add("s", content=7)
    world.client.close()
    silent = world.judged(Replica("a", "ONLINE", None))
    assert not silent.without_good_copy
    assert silent.unstored


class _Stop(threading.Event):
    """Does not wait."""

    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set()


def test_a_coordinator_that_fails_and_makes_no_version(tmp_path: Path) -> None:
    monitoring, prometheus = scraped(catalogue.COORDINATOR, tmp_path)
    metrics = CoordinatorMetrics(monitoring, UPSERT, prometheus.clock)
    retries, stop, failures = Retries(lambda _line: None, metrics.failed), _Stop(), 0

    def attempt() -> bool:
        nonlocal failures
        if prometheus.clock.monotonic() < 600:
            metrics.checked(3)
            metrics.version_sent(VersionReport(1, 10, 0, 12, 7, held_back=False, lag=3))
            retries.succeeded()
            prometheus.pass_minutes(1)
            return False
        failures += 1
        if failures == 9:
            stop.set()
        prometheus.pass_minutes(2)
        raise SourceError("Kafka does not answer")

    retries.run(attempt, stop)
    prometheus.expect("CoordinatorFails", "CoordinatorBehind", before={10: ()})
    assert monitoring.health.missing() == ["Kafka does not answer"]


def test_a_coordinator_that_never_makes_a_version_of_rows_that_came_after_its_start(tmp_path: Path) -> None:
    monitoring, prometheus = scraped(catalogue.COORDINATOR, tmp_path)
    metrics = CoordinatorMetrics(monitoring, UPSERT, prometheus.clock)
    prometheus.pass_minutes(30, lambda: metrics.checked(0))
    prometheus.pass_minutes(15, lambda: metrics.checked(7))
    prometheus.expect("CoordinatorBehind", before={30: (), 34: ()})


def test_a_standby_coordinator_reports_no_waiting_rows(tmp_path: Path) -> None:
    monitoring, prometheus = scraped(catalogue.COORDINATOR, tmp_path)
    metrics = CoordinatorMetrics(monitoring, UPSERT, prometheus.clock)
    metrics.checked(7)
    prometheus.pass_minutes(30, lambda: metrics.checked(None))
    assert "lag_rows{" not in monitoring.text()
    prometheus.expect()
