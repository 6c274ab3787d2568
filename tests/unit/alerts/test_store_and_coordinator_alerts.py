from __future__ import annotations

import threading
from pathlib import Path

from controller_client.common.names import TableName
from controller_client.coordinator.metrics import CoordinatorMetrics
from controller_client.coordinator.report import VersionReport
from controller_client.coordinator.retries import Retries
from controller_client.deepstore.audit import TableAudit
from controller_client.deepstore.audit_tables import TableFailure
from controller_client.deepstore.judge import Judgement, Replica
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.report import AuditReport
from controller_client.deepstore.watch import Watch
from controller_client.errors import SourceError
from controller_client.monitoring import Monitoring, catalogue
from tests.unit.alerts.promtool import Prometheus
from tests.unit.controller_client.deepstore.samples import TABLE, crc_of
from tests.unit.controller_client.deepstore.world import World
from tests.unit.fake_clock import FakeClock

UPSERT = TableName("u_REALTIME")


def test_segments_without_copies(tmp_path: Path) -> None:
    world, clock = World(tmp_path), FakeClock()
    world.add("s", content=7)
    crc = crc_of(7, "s")
    monitoring = Monitoring(catalogue.WATCH, clock)
    (tmp_path / "prometheus").mkdir()
    prometheus = Prometheus(clock, tmp_path / "prometheus", watch=monitoring)
    stop = threading.Event()

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
    prometheus.expect(
        "SegmentsNotStored",
        "SegmentsWithoutGoodCopy",
        before={9: (), 120: (), 135: ("SegmentsNotStored",)},
    )


def test_a_table_that_cannot_be_inspected(tmp_path: Path) -> None:
    clock = FakeClock()
    monitoring = Monitoring(catalogue.WATCH, clock)
    prometheus = Prometheus(clock, tmp_path, watch=monitoring)
    stop = threading.Event()

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
    clock = FakeClock()
    monitoring = Monitoring(catalogue.COORDINATOR, clock)
    prometheus = Prometheus(clock, tmp_path, coordinator=monitoring)
    metrics = CoordinatorMetrics(monitoring, UPSERT, clock)
    retries, stop, failures = Retries(lambda _line: None, metrics.failed), _Stop(), 0

    def attempt() -> bool:
        nonlocal failures
        if clock.monotonic() < 600:
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
    clock = FakeClock()
    monitoring = Monitoring(catalogue.COORDINATOR, clock)
    prometheus = Prometheus(clock, tmp_path, coordinator=monitoring)
    metrics = CoordinatorMetrics(monitoring, UPSERT, clock)
    prometheus.pass_minutes(30, lambda: metrics.checked(0))
    prometheus.pass_minutes(15, lambda: metrics.checked(7))
    prometheus.expect("CoordinatorBehind", before={30: (), 34: ()})


def test_a_standby_coordinator_reports_no_waiting_rows(tmp_path: Path) -> None:
    clock = FakeClock()
    monitoring = Monitoring(catalogue.COORDINATOR, clock)
    prometheus = Prometheus(clock, tmp_path, coordinator=monitoring)
    metrics = CoordinatorMetrics(monitoring, UPSERT, clock)
    metrics.checked(7)
    prometheus.pass_minutes(30, lambda: metrics.checked(None))
    assert "lag_rows{" not in monitoring.text()
    prometheus.expect()
