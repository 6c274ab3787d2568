from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from controller_client.common.names import TableName
from controller_client.consumption.state.partition_record import note_partitions
from controller_client.consumption.state.pause_record import Holder
from controller_client.errors import SourceError, UnreachableError
from controller_client.helix.table_config import table_config_path
from controller_client.monitoring import Monitoring, catalogue
from controller_client.stream.offsets import OffsetRange
from controller_client.upsert.update_message import Events, VersionEnd
from controller_client.zookeeper import ZNRecord, segment_path
from jvm_bridge.role_host import Dependents, HostedServerView
from jvm_bridge.role_host.hook_runner import HookRunner
from jvm_bridge.role_host.hooks import HookErrors
from jvm_bridge.role_host.host import _errors_by_hook, _running_hooks
from key_coordinator.metrics import CoordinatorMetrics
from key_coordinator.report import VersionReport
from server_hooks.commit_upload.backlog import Backlog, BacklogLimits, KeptTar
from server_hooks.commit_upload.kept_tars import KeptTars
from server_hooks.commit_upload.late_uploads import LateUploads
from server_hooks.commit_upload.metrics import OutcomeCounts, publish_uploads
from server_hooks.commit_upload.upload_state import UploadState
from server_hooks.pause.metrics import PauseMetrics
from server_hooks.upsert.metrics import UpsertMetrics
from server_hooks.upsert.table_state import UpsertTableState
from tests.unit.alerts.promtool import Prometheus, samples
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryPropertyStore, memory_store
from tests.unit.server_hooks.commit_upload.fake_store import FakeStore, InlineExecutor

TABLE = TableName("t_REALTIME")
SEGMENT = "t__0__3__20231114T2213Z"
RETENTION_S = 6 * 3600


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def monitoring(clock: FakeClock) -> Monitoring:
    return Monitoring(catalogue.SERVER, clock)


@pytest.fixture
def prometheus(clock: FakeClock, tmp_path: Path, monitoring: Monitoring) -> Prometheus:
    return Prometheus(clock, tmp_path, server=monitoring)


def start(monitoring: Monitoring, fails: str, prometheus: Prometheus) -> None:
    """Run a hook that fails in the given call, and that nothing depends on, as the host of a role does."""
    nothing = Dependents((), "", "")
    hook = mock.Mock(**{f"{fails}.side_effect": ValueError(fails), "dependents.return_value": nothing})
    runner = HookRunner({"failing": lambda: hook}, HookErrors())
    view = HostedServerView("Server_a_1", "c", "localhost:2181", None, {}, runner.errors, monitoring)
    monitoring.sample(catalogue.HOOK_ERRORS, lambda: _errors_by_hook(runner))
    prometheus.pass_minutes(2)
    runner.before_start(view)
    monitoring.sample(catalogue.HOOK_RUNS, lambda: _running_hooks(runner))
    runner.started(view)


def test_a_hook_that_raises(monitoring: Monitoring, prometheus: Prometheus) -> None:
    start(monitoring, "started", prometheus)
    prometheus.pass_minutes(2)
    prometheus.expect("HookErrors", before={2: ()})
    prometheus.pass_minutes(15)
    prometheus.expect()


def test_a_role_that_runs_without_a_hook(monitoring: Monitoring, prometheus: Prometheus) -> None:
    start(monitoring, "before_start", prometheus)
    prometheus.pass_minutes(20)
    prometheus.expect("HookLeftOut", before={2: ()})


class Topic:
    """A topic with one partition; it gets a row per minute, and deletes rows after six hours."""

    def __init__(self, clock: FakeClock) -> None:
        self._begin_s, self._clock = clock.now(), clock
        self.is_away = False

    def _offset(self, now_s: float) -> int:
        return max(0, int((now_s - self._begin_s) // 60))

    def read(self) -> Mapping[int, OffsetRange]:
        if self.is_away:
            raise SourceError("Kafka does not answer")
        now_s = self._clock.now()
        return {0: OffsetRange(self._offset(now_s - RETENTION_S), self._offset(now_s))}

    def expiring_until(self, now_s: float) -> Mapping[int, int]:
        return {0: self._offset(now_s - 0.8 * RETENTION_S)}


@pytest.fixture
def held(monitoring: Monitoring, clock: FakeClock) -> tuple[PauseMetrics, Topic, MemoryPropertyStore]:
    store, topic = MemoryPropertyStore(), Topic(clock)
    store.create(segment_path(TABLE, SEGMENT), ZNRecord(SEGMENT, {"segment.realtime.startOffset": "0"}))
    streams = {"streamConfigs": {"streamType": "kafka", "stream.kafka.topic.name": "clicks"}}
    fields = {"tableName": TABLE, "tableType": "REALTIME", "segmentsConfig": "{}"}
    config = ZNRecord(TABLE, {**fields, "tableIndexConfig": json.dumps(streams)})
    store.create(table_config_path(TABLE), config)
    return PauseMetrics(monitoring, store, clock, open_ages=lambda _stream: topic), topic, store


def test_a_partition_that_is_paused_for_long_until_its_rows_are_gone(
    held: tuple[PauseMetrics, Topic, MemoryPropertyStore],
    monitoring: Monitoring,
    clock: FakeClock,
    prometheus: Prometheus,
) -> None:
    metrics, topic, store = held

    def tick() -> None:
        metrics.update({TABLE: {0: SEGMENT}})
        metrics.rows.measure()

    metrics.update({})
    prometheus.pass_minutes(3)
    note_partitions(store, TABLE, {0}, Holder("me", int(clock.now() * 1000)), [0])
    prometheus.pass_minutes(180, tick)
    reads = store.zookeeper.read_counts.total()
    prometheus.pass_minutes(100, tick)
    assert store.zookeeper.read_counts.total() == reads
    prometheus.expect("PartitionPausedLong", before={180: ()})
    assert f'pinot_plugins_pause_waiting_rows{{table="{TABLE}"}} 283.0\n' in monitoring.text()
    prometheus.pass_minutes(10, tick)
    prometheus.expect("PartitionPausedLong", "PausedRowsExpire")
    prometheus.pass_minutes(80, tick)
    prometheus.expect("PartitionPausedLong", "PausedRowsExpire", "PausedRowsLost")
    topic.is_away = True
    tick()
    assert "waiting_rows{" not in monitoring.text()
    topic.is_away = False
    metrics.update({})
    metrics.rows.measure()
    assert str(TABLE) not in monitoring.text()


def test_since_when_it_is_paused_is_read_once_zookeeper_answers_again(
    held: tuple[PauseMetrics, Topic, MemoryPropertyStore],
    monitoring: Monitoring,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    metrics, _topic, store = held
    began_ms = int((clock.now() - 3600) * 1000)
    note_partitions(store, TABLE, {0}, Holder("me", began_ms), [0])
    series = "pinot_plugins_pause_since_timestamp_seconds"
    with monkeypatch.context() as away:

        def unreachable(_path: str) -> None:
            raise UnreachableError("ZooKeeper is away")

        away.setattr(store, "get", unreachable)
        metrics.update({TABLE: {0: SEGMENT}})
        assert monitoring.registry.get_sample_value(series, {"table": TABLE}) == clock.now()
    metrics.update({TABLE: {0: SEGMENT}})
    assert monitoring.registry.get_sample_value(series, {"table": TABLE}) == began_ms / 1000


def commit(backlog: Backlog, clock: FakeClock, number: int, size_bytes: int) -> KeptTar:
    """Simulate a commit that continued without the store."""
    name = f"t__0__{number}__x"
    tar = KeptTar(Path(name), "t", name, f"s3://b/c/t/{name}", size_bytes, int(clock.now() * 1e9))
    assert backlog.add(tar, UploadState.WAITING)
    return tar


def test_a_store_that_takes_no_upload(
    monitoring: Monitoring, clock: FakeClock, prometheus: Prometheus
) -> None:
    backlog = Backlog(clock, BacklogLimits(), lambda: 1 << 40)
    publish_uploads(monitoring, OutcomeCounts(), backlog)
    prometheus.pass_minutes(3)
    tars = [commit(backlog, clock, 1, 1000)]
    prometheus.pass_minutes(15)
    tars.append(commit(backlog, clock, 2, 9 << 30))
    assert "pinot_plugins_upload_backlog_segments 2.0\n" in monitoring.text()
    assert 'pinot_plugins_upload_backlog_level_ratio{level="behind"} 1.0\n' in monitoring.text()
    prometheus.pass_minutes(10)
    prometheus.expect("UploadsOld", "UploadsLarge", before={18: ()})
    for tar in tars:
        entry = backlog.find(tar)
        assert entry is not None
        assert backlog.change(entry, UploadState.NOT_NEEDED)
    prometheus.pass_minutes(2)
    prometheus.expect()
    assert "pinot_plugins_upload_backlog_oldest_timestamp_seconds" not in samples(monitoring)
    assert 'pinot_plugins_upload_backlog_level_ratio{level="empty"} 1.0\n' in monitoring.text()


def test_a_full_backlog(
    monitoring: Monitoring, clock: FakeClock, prometheus: Prometheus, tmp_path: Path
) -> None:
    backlog = Backlog(clock, BacklogLimits(), lambda: 1 << 40)
    counts, store = OutcomeCounts(), FakeStore()
    kept = KeptTars(tmp_path / "kept", "s3://b/c")
    late = LateUploads(
        backlog,
        kept,
        store,
        memory_store()[0],
        counts,
        final_base_uri="s3://b/data",
        pool=InlineExecutor(),
    )
    publish_uploads(monitoring, counts, backlog)
    prometheus.pass_minutes(3)
    commit(backlog, clock, 1, 6 << 30)
    prometheus.pass_minutes(2)
    commit(backlog, clock, 2, 6 << 30)
    late.step()
    assert 'pinot_plugins_upload_uploads_total{outcome="discarded"} 1.0\n' in monitoring.text()
    prometheus.pass_minutes(2)
    prometheus.expect("UploadsDiscarded", before={4: ()})
    (left,) = backlog.due(UploadState.WAITING)
    assert backlog.change(left, UploadState.NOT_NEEDED)
    prometheus.pass_minutes(35)
    prometheus.expect(before={10: ("UploadsDiscarded",)})


def version(number: int, lag: int = 0) -> VersionReport:
    return VersionReport(number, 10, 1, 12, 7, held_back=False, lag=lag)


def test_a_server_that_holds_the_mark(
    monitoring: Monitoring, clock: FakeClock, prometheus: Prometheus, tmp_path: Path
) -> None:
    coordinator = Monitoring(catalogue.COORDINATOR, clock)
    prometheus.processes["coordinator"] = coordinator
    sent = CoordinatorMetrics(coordinator, TABLE, clock)
    shown = UpsertMetrics(monitoring)
    state = UpsertTableState(tmp_path / "state", clock)
    state.follow([0])
    state.count_now(0)
    made = 0

    def minute(*events: Events) -> None:
        nonlocal made
        made += 1
        sent.checked(0)
        sent.version_sent(version(made))
        end = VersionEnd(made, 0, 0, int(clock.now() * 1000))
        messages: tuple[Events | VersionEnd, ...] = (*events, end)
        state.take(0, [(2 * made + place, b"", each) for place, each in enumerate(messages)])
        shown.update({TABLE: state})

    prometheus.pass_minutes(10, minute)
    assert f'pinot_plugins_upsert_mark_version{{table="{TABLE}"}} 10.0\n' in monitoring.text()
    # A row that its server does not receive: from here on the mark does not advance.
    row = np.array([5], np.int64)
    prometheus.pass_minutes(1, lambda: minute(Events(made + 1, row, np.array([False]))))
    prometheus.pass_minutes(12, minute)
    prometheus.expect("MarkLags", before={11: ()})
    shown.update({})
    assert str(TABLE) not in monitoring.text()


def test_a_server_without_a_mark(monitoring: Monitoring, prometheus: Prometheus, tmp_path: Path) -> None:
    shown, state = UpsertMetrics(monitoring), UpsertTableState(tmp_path / "state", prometheus.clock)
    prometheus.pass_minutes(35, lambda: shown.update({TABLE: state}))
    prometheus.expect("NoMark", before={29: ()})
