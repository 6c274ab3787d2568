from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
import requests

from controller_client.common.names import TableName
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.report import AuditReport
from controller_client.deepstore.watch import Watch
from controller_client.errors import NotAppliedError, UnreachableError
from controller_client.monitoring import Monitoring, MonitoringServer, catalogue
from tests.unit.alerts.promtool import Prometheus
from tests.unit.alerts.scheduler import serve
from tests.unit.fake_clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_a_process_that_does_not_answer(clock: FakeClock, tmp_path: Path) -> None:
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


def test_a_process_that_is_there_no_more(clock: FakeClock, tmp_path: Path) -> None:
    prometheus = Prometheus(clock, tmp_path, a=Monitoring(catalogue.WATCH, clock))
    prometheus.pass_minutes(10)
    prometheus.processes.clear()
    prometheus.pass_minutes(15)
    prometheus.expect("ProcessGone", before={10: ()})


def test_a_scheduler_that_hangs(clock: FakeClock, tmp_path: Path) -> None:
    monitoring = Monitoring(catalogue.SCHEDULER, clock)
    prometheus = Prometheus(clock, tmp_path, a=monitoring)

    def schedules(minute: int) -> Mapping[TableName, str]:
        if minute == 20:
            prometheus.pass_minutes(10)  # ZooKeeper does not let it go
            assert monitoring.health.troubles()
            prometheus.expect("LoopStuck", before={19: ()})
        return {}

    serve(monitoring, prometheus, schedules, minutes=40)
    prometheus.expect()


def test_a_scheduler_without_zookeeper(clock: FakeClock, tmp_path: Path) -> None:
    monitoring = Monitoring(catalogue.SCHEDULER, clock)
    prometheus = Prometheus(clock, tmp_path, a=monitoring)

    def schedules(minute: int) -> Mapping[TableName, str]:
        if minute >= 5:
            raise UnreachableError("ZooKeeper does not answer")
        return {}

    serve(monitoring, prometheus, schedules, minutes=45)
    prometheus.expect("NotReady", before={5: ()})


def test_a_watch_whose_rounds_all_break_off(clock: FakeClock, tmp_path: Path) -> None:
    monitoring = Monitoring(catalogue.WATCH, clock)
    prometheus = Prometheus(clock, tmp_path, a=monitoring)
    stop = threading.Event()

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


def test_a_lease_that_nobody_holds(clock: FakeClock, tmp_path: Path) -> None:
    one, two = (Monitoring(catalogue.SCHEDULER, clock) for _ in "ab")

    def held(process: Monitoring, is_held: bool) -> None:
        process.gauge(catalogue.LEASE_HELD).labels("scheduler").set(is_held)

    prometheus = Prometheus(clock, tmp_path, a=one, b=two)
    held(one, True)
    held(two, False)
    prometheus.pass_minutes(5)
    held(one, False)
    prometheus.pass_minutes(4)
    prometheus.expect("LeaseNotHeld", before={5: ()})
