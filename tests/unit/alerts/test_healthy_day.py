from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from controller_client.common.names import TableName
from controller_client.deepstore.audit import TableAudit
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.report import AuditReport
from controller_client.errors import UnreachableError
from controller_client.monitoring import Monitoring, catalogue
from controller_client.upsert.update_message import VersionEnd
from jvm_bridge.minion.subtask_metrics import SubtaskMetrics
from key_coordinator.metrics import CoordinatorMetrics
from key_coordinator.report import VersionReport
from minion_tasks.file_ingestion.run.types import RunReport
from server_hooks.commit_upload.backlog import Backlog, BacklogLimits, KeptTar
from server_hooks.commit_upload.metrics import OutcomeCounts, publish_uploads
from server_hooks.commit_upload.upload_state import UploadState
from server_hooks.pause.metrics import PauseMetrics
from server_hooks.upsert.metrics import UpsertMetrics
from server_hooks.upsert.table_state import UpsertTableState
from tests.unit.alerts.promtool import Prometheus, serve
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryPropertyStore

A, UPSERT = TableName("a_OFFLINE"), TableName("u_REALTIME")


def test_on_a_day_without_faults_no_alert_fires(tmp_path: Path) -> None:
    """All processes work; ZooKeeper is briefly unavailable, one run fails, and one upload takes a minute."""
    clock = FakeClock(now=1_700_000_400.0)
    kinds = (catalogue.SCHEDULER, catalogue.MINION, catalogue.SERVER, catalogue.COORDINATOR, catalogue.WATCH)
    processes = {kind: Monitoring(kind, clock) for kind in kinds}
    scheduler, minion, server, coordinator, watch = processes.values()
    prometheus = Prometheus(clock, tmp_path, **processes)
    subtasks = SubtaskMetrics(minion, ["FileIngestionTask"], 2, clock)
    audits = WatchMetrics(watch, 600)
    sent = CoordinatorMetrics(coordinator, UPSERT, clock)
    marks, state = UpsertMetrics(server), UpsertTableState(tmp_path / "state", clock)
    state.follow([0])
    pauses = PauseMetrics(server, MemoryPropertyStore(), clock)
    backlog = Backlog(clock, BacklogLimits(), lambda: 1 << 40)
    publish_uploads(server, OutcomeCounts(), backlog)

    def schedules(minute: int) -> Mapping[TableName, str]:
        if minute % 10 == 0:
            audits.audited(AuditReport("s3://b/c", 2, 0, 1.0, (TableAudit(UPSERT, 9, 1, (), ()),)))
            audits.round_ended(1.0, well=True)
        sent.checked(minute % 3)
        sent.version_sent(VersionReport(minute + 1, 10, 0, 12, 7, held_back=False, lag=minute % 3))
        at_ms = int(clock.now() * 1000)
        state.take(0, [(minute, b"", VersionEnd(minute + 1, 0, 0, at_ms))])
        marks.update({UPSERT: state})
        pauses.update({})
        if minute == 200:
            assert backlog.add(tar(), UploadState.UPLOADING)
        for after in (UploadState.UPLOADED, UploadState.REGISTERED) if minute == 201 else ():
            entry = backlog.find(tar())
            assert entry is not None
            assert backlog.change(entry, after)
        if minute == 100:
            raise UnreachableError("ZooKeeper does not answer")
        return {A: "60"}

    built_ns = int((clock.now() + 200 * 60) * 1e9)

    def tar() -> KeptTar:
        return KeptTar(tmp_path / "tar", "u", "u__0__1__x", "s3://b/c/u/1", 1 << 30, built_ns)

    runs = 0

    def run(_table: TableName) -> RunReport | None:
        nonlocal runs
        runs += 1
        with subtasks.subtask("FileIngestionTask", lambda: False):
            if runs == 3:
                raise UnreachableError("the controller does not answer")
        return None

    serve(scheduler, prometheus, schedules, run, minutes=24 * 60)
    assert runs == 24
    prometheus.expect(before=dict.fromkeys(range(0, 24 * 60, 10), ()))
