from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
import requests

from controller_client.cli.monitoring import publish_lease
from controller_client.common.names import TableName
from controller_client.deepstore.audit_tables import TableFailure
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.report import AuditReport
from controller_client.deepstore.watch import Watch
from controller_client.errors import NotAppliedError, PinotPluginError, UnreachableError
from controller_client.monitoring import Monitoring, MonitoringServer, catalogue
from controller_client.zookeeper import Lease
from tests.unit.alerts.promtool import Prometheus
from tests.unit.alerts.scheduler import serve
from tests.unit.controller_client.deepstore.samples import TABLE
from tests.unit.controller_client.zookeeper.memory_sessions import MemberStore, Server
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


def test_a_process_that_no_longer_exists(clock: FakeClock, tmp_path: Path) -> None:
    prometheus = Prometheus(clock, tmp_path, a=Monitoring(catalogue.WATCH, clock))
    prometheus.pass_minutes(10)
    prometheus.processes.clear()
    prometheus.pass_minutes(15)
    prometheus.expect("ProcessGone", before={10: ()})


def test_minions_that_are_scaled_to_zero(clock: FakeClock, tmp_path: Path) -> None:
    prometheus = Prometheus(clock, tmp_path, m=Monitoring(catalogue.MINION, clock))
    prometheus.pass_minutes(10)
    prometheus.processes.clear()
    prometheus.pass_minutes(60)
    prometheus.expect()


def test_a_scheduler_that_hangs(clock: FakeClock, tmp_path: Path) -> None:
    monitoring = Monitoring(catalogue.SCHEDULER, clock)
    prometheus = Prometheus(clock, tmp_path, a=monitoring)

    def schedules(minute: int) -> Mapping[TableName, str]:
        if minute == 20:
            prometheus.pass_minutes(10)  # ZooKeeper does not end its session
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


def test_a_watch_whose_rounds_are_all_aborted(clock: FakeClock, tmp_path: Path) -> None:
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


def test_rounds_hours_apart_one_of_which_fails_then_all(clock: FakeClock, tmp_path: Path) -> None:
    monitoring = Monitoring(catalogue.WATCH, clock)
    prometheus = Prometheus(clock, tmp_path, a=monitoring)
    loop = monitoring.loop("watch", 3 * 3600)
    for well in (True, False, True, False, False, False):
        loop.round_ended(well=well)
        prometheus.pass_minutes(120)
    quiet = dict.fromkeys(range(0, 600, 10), ())
    failing = dict.fromkeys(range(520, 720, 10), ("RoundsFail",))
    prometheus.expect("RoundsFail", before={**quiet, **failing})


def test_a_watch_without_a_successful_round(clock: FakeClock, tmp_path: Path) -> None:
    monitoring = Monitoring(catalogue.WATCH, clock)
    prometheus = Prometheus(clock, tmp_path, a=monitoring)
    loop = monitoring.loop("watch", 3600)
    prometheus.pass_minutes(60, lambda: loop.round_ended(well=False))
    prometheus.expect("RoundsFail", before={20: ()})


class Member:
    """A process in line for the lease; each call of ``step`` is a turn of its thread."""

    def __init__(self, server: Server, name: str) -> None:
        store = MemberStore(server)
        server.clients.append(store.client)
        self.client = store.client
        self.monitoring = Monitoring(catalogue.WATCH, server.clock)
        self.lease = Lease(
            store, "deepstore-watch", name, what="watch", note=lambda _line: None, clock=server.clock
        )
        publish_lease(self.monitoring, self.lease)


def pass_minutes(
    prometheus: Prometheus, minutes: int, server: Server, each: Callable[[], object], *members: Member
) -> None:
    """Let time pass for ZooKeeper and the threads of the leases."""
    for _ in range(minutes):
        for _ in range(120):
            server.pass_time(0.5)
            for member in members:
                with suppress(PinotPluginError):
                    member.lease.step()
        each()
        prometheus.scrape()


def test_of_two_watches_one_stands_by_and_takes_over_and_nothing_is_wrong_until_nobody_holds(
    clock: FakeClock, tmp_path: Path
) -> None:
    server = Server(clock)
    one, two = (Member(server, name) for name in "ab")
    prometheus = Prometheus(clock, tmp_path, a=one.monitoring, b=two.monitoring)
    finds = [True]

    def audit() -> AuditReport:
        failed = (TableFailure(TABLE, "its config cannot be read"),) if finds[0] else ()
        return AuditReport("file:///x", 2, 0, 0.0, (), failed)

    watches = {
        member: Watch(
            audit,
            None,
            WatchMetrics(member.monitoring, 60),
            clock,
            interval_s=0.0,
            parallel=1,
            turn=member.lease,
        )
        for member in (one, two)
    }

    def minute() -> None:
        for watch in watches.values():
            watch.serve(_Once())

    pass_minutes(prometheus, 1, server, minute, one, two)
    assert (one.lease.is_holder, two.lease.is_holder) == (True, False)
    assert not two.monitoring.health.missing()
    pass_minutes(prometheus, 15, server, minute, one, two)
    # One has found a table that it cannot inspect, and is cut off from ZooKeeper.
    one.client.cut()
    finds[0] = False
    pass_minutes(prometheus, 200, server, minute, one, two)
    assert (one.lease.is_holder, two.lease.is_holder) == (False, True)
    for member in (one, two):
        assert not member.monitoring.health.troubles()
        assert not member.monitoring.health.missing()
    assert "failed_tables{" not in one.monitoring.text()
    prometheus.expect(before=dict.fromkeys(range(1, 216, 5), ()))
    two.client.cut()
    pass_minutes(prometheus, 4, server, minute, one, two)
    prometheus.expect("LeaseNotHeld", before={216: ()})
    for member in (one, two):
        member.client.heal()
    pass_minutes(prometheus, 2, server, minute, one, two)
    prometheus.expect()
    # A stopping process is not a standby.
    for member in (one, two):
        member.lease.release()
    assert "lease_held_ratio{" not in one.monitoring.text() + two.monitoring.text()


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
