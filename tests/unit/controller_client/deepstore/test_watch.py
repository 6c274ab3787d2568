from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller_client.common.names import TableName
from controller_client.deepstore.audit import Auditor, TableAudit
from controller_client.deepstore.audit_tables import TableFailure, audit_tables
from controller_client.deepstore.judge import Judgement, Replica
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.repair import Repaired, Repairer, RepairOutcome
from controller_client.deepstore.repair_many import repair_all
from controller_client.deepstore.report import AuditReport
from controller_client.deepstore.watch import Watch
from controller_client.errors import NotAppliedError, NotFoundError
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import WATCH
from tests.unit.controller_client.deepstore.samples import TABLE
from tests.unit.controller_client.deepstore.world import World
from tests.unit.fake_clock import FakeClock


def report(*audits: TableAudit, failed: tuple[TableFailure, ...] = ()) -> AuditReport:
    return AuditReport("s3://b/x", 2, 0, 1.5, audits, failed)


class Turn:
    """Held for some of the times that it is checked."""

    def __init__(self, *held: bool) -> None:
        self._held = iter(held)
        self.was_released = False

    @property
    def is_holder(self) -> bool:
        return next(self._held)

    def release(self) -> None:
        self.was_released = True


class Scene:
    """A watch that does not pause between its rounds, and the event that stops it."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.monitoring = Monitoring(WATCH, FakeClock())

    def watch(
        self,
        audit: Callable[[], AuditReport],
        repairer: Repairer | None = None,
        turn: Turn | None = None,
        interval_s: float = 1e-6,
    ) -> Watch:
        metrics = WatchMetrics(self.monitoring, interval_s)
        clock = FakeClock()
        return Watch(audit, repairer, metrics, clock, interval_s=interval_s, parallel=2, turn=turn)

    def samples(self) -> dict[str, float]:
        lines = [line for line in self.monitoring.text().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr("controller_client.deepstore.watch._POLL_S", 1e-6)
    return Scene()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """With one segment that only a server has."""
    world = World(tmp_path)
    world.add()
    world.give("a", content=7)
    yield world
    world.client.close()


def test_rounds_continue_after_an_aborted_one(world: World, scene: Scene) -> None:
    rounds = 0

    def audit() -> AuditReport:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            raise NotAppliedError("the controller does not answer")
        if rounds == 3:
            scene.stop.set()
        faulty = (world.judged(Replica("a", "ONLINE")),) if rounds == 2 else ()
        return report(TableAudit(TABLE, 1, 0, faulty, (("b", "it is down"),)))

    scene.watch(audit, world.repairer).serve(scene.stop)
    found = scene.samples()
    assert found['pinot_plugins_process_rounds_total{loop="watch"}'] == 3
    assert found['pinot_plugins_process_failed_rounds_total{loop="watch"}'] == 1
    assert found[f'pinot_plugins_deepstore_silent_servers{{table="{TABLE}"}}'] == 1
    assert found['pinot_plugins_deepstore_repairs_total{outcome="repaired"}'] == 1
    assert found[f'pinot_plugins_deepstore_faulty_segments{{fault="no_url",table="{TABLE}"}}'] == 0
    assert world.record().url


def test_a_watch_runs_rounds_and_repairs_only_in_its_turn(world: World, scene: Scene) -> None:
    rounds = 0

    def audit() -> AuditReport:
        nonlocal rounds
        rounds += 1
        if rounds == 2:
            scene.stop.set()
        return report(TableAudit(TABLE, 1, 0, (world.judged(Replica("a", "ONLINE")),), ()))

    # It stands by twice, loses its lease during a round, stands by, and is stopped during another round.
    turn = Turn(False, False, True, False, False, False, True, True)
    scene.watch(audit, world.repairer, turn).serve(scene.stop)
    assert rounds == 2
    assert scene.samples()['pinot_plugins_deepstore_repairs_total{outcome="repaired"}'] == 0
    assert not world.record().url
    assert turn.was_released


def test_a_standby_is_ready_and_after_a_takeover_only_once_its_audit_has_finished(scene: Scene) -> None:
    seen: list[list[str]] = []

    def audit() -> AuditReport:
        seen.append(scene.monitoring.health.missing())
        if len(seen) == 1:
            raise NotAppliedError("the controller does not answer")
        if len(seen) == 3:
            scene.stop.set()
        return report()

    scene.watch(audit, turn=Turn(False, *[True] * 6)).serve(scene.stop)
    missing = ["no audit has finished since this watch took over"]
    assert seen == [missing, missing, []]
    assert scene.monitoring.health.missing() == []


def test_a_lease_lost_between_two_rounds_ends_the_metrics_of_tables(scene: Scene) -> None:
    seen: list[bool] = []

    class Lost(Turn):
        @property
        def is_holder(self) -> bool:
            seen.append("deepstore_segments{" in scene.monitoring.text())
            if len(seen) == 5:
                scene.stop.set()
            return super().is_holder

    turn = Lost(True, True, False, False, False)
    scene.watch(lambda: report(TableAudit(TABLE, 1, 0, (), ())), turn=turn, interval_s=3600).serve(scene.stop)
    # It runs a round, keeps its lease for a moment of its pause, loses it, and stands by.
    assert seen == [False, True, True, True, False]


def test_a_report_escapes_what_it_shows(world: World) -> None:
    world.add("<b>")
    judged = world.judged(Replica("a", "ONLINE", 8), name="<b>")
    shown = report(TableAudit(TABLE, 1, 2, (judged,), (("a", "<i>"),)))
    page = shown.page()
    assert "&lt;b&gt;" in page
    assert "<b>&lt;" not in page
    assert "<i>" not in page
    assert "incomplete" not in page
    document = shown.to_json()
    assert document["faults"] == {"few_copies": 1, "no_url": 1, "replica_crc": 1}
    assert any("table reload" in " ".join(step["commands"]) for step in document["next_steps"])
    assert document["faulty_segments"] == 1
    assert len(shown.rows()) == 3
    assert shown.summary() == (
        "1 segment of 1 table: 1 with faults (1 few copies, 1 no url, 1 replica crc)."
        " Incomplete: no checksums from a."
    )


def test_an_audit_with_a_silent_server_is_not_clean() -> None:
    silent = report(TableAudit(TABLE, 3, 0, (), (("a", "it is down"),)))
    assert not silent.faulty
    assert not silent.is_clean
    assert "incomplete" in silent.page()
    assert silent.summary() == (
        "3 segments of 1 table: every segment has enough good copies. Incomplete: no checksums from a."
    )
    assert report(TableAudit(TABLE, 3, 0, (), ())).is_clean


class Tables(Auditor):
    """Tables some of which cannot be audited."""

    def __init__(self, errors: dict[str, Exception]) -> None:
        self.errors = errors

    def tables(self) -> list[TableName]:
        return [TableName("a_REALTIME"), TableName("b_OFFLINE"), TableName("c_REALTIME")]

    def audit(self, table: TableName, on_segments: Callable[[int], None] = lambda _count: None) -> TableAudit:
        if table in self.errors:
            raise self.errors[table]
        on_segments(1)
        return TableAudit(table, 1, 0, (), ())


@pytest.mark.parametrize("error", [NotAppliedError("its config cannot be read"), ValueError("no number")])
def test_a_table_that_fails_does_not_break_the_round(error: Exception, scene: Scene) -> None:
    auditor = Tables({"b_OFFLINE": error})
    reports: list[AuditReport] = []

    def audit() -> AuditReport:
        if reports:
            auditor.errors = {}
            scene.stop.set()
        found = audit_tables(auditor)
        reports.append(report(*found.audits, failed=tuple(found.failed)))
        return reports[-1]

    watch = scene.watch(audit)
    assert not watch.round(scene.stop)
    found = scene.samples()
    seen = [found[f'pinot_plugins_deepstore_failed_tables{{table="{name}"}}'] for name in auditor.tables()]
    assert seen == [0, 1, 0]
    assert [each.table for each in reports[0].tables] == ["a_REALTIME", "c_REALTIME"]
    assert not reports[0].is_clean
    (failure,) = reports[0].failed
    assert str(error) in failure.message
    assert reports[0].to_json()["failed_tables"] == {"b_OFFLINE": failure.message}
    assert "Not audited: b_OFFLINE." in reports[0].summary()
    assert watch.round(scene.stop)
    assert scene.samples()['pinot_plugins_deepstore_failed_tables{table="b_OFFLINE"}'] == 0


def test_a_round_that_skips_a_table_counts_as_failed(scene: Scene) -> None:
    def audit() -> AuditReport:
        scene.stop.set()
        found = audit_tables(Tables({"c_REALTIME": NotAppliedError("away")}))
        return report(*found.audits, failed=tuple(found.failed))

    scene.watch(audit).serve(scene.stop)
    found = scene.samples()
    assert found['pinot_plugins_process_rounds_total{loop="watch"}'] == 1
    assert found['pinot_plugins_process_failed_rounds_total{loop="watch"}'] == 1
    assert 'pinot_plugins_process_last_good_round_timestamp_seconds{loop="watch"}' not in found


def test_the_first_error_is_raised_if_no_table_can_be_audited_or_a_named_one_is_unknown() -> None:
    away = NotAppliedError("away")
    with pytest.raises(NotAppliedError, match="away"):
        audit_tables(Tables(dict.fromkeys(("a_REALTIME", "b_OFFLINE", "c_REALTIME"), away)))
    dropped = Tables({"a_REALTIME": NotFoundError("no such table")})
    assert [each.table for each in audit_tables(dropped).audits] == ["b_OFFLINE", "c_REALTIME"]
    with pytest.raises(NotFoundError):
        audit_tables(dropped, [TableName("a_REALTIME")])


def test_a_named_table_that_is_dropped_does_not_stop_the_others() -> None:
    dropped = Tables({"a_REALTIME": NotFoundError("no such table")})
    found = audit_tables(dropped, [TableName("a_REALTIME"), TableName("c_REALTIME")])
    assert [each.table for each in found.audits] == ["c_REALTIME"]
    assert [(each.table, each.message) for each in found.failed] == [("a_REALTIME", "no such table")]


def test_an_unexpected_error_makes_a_repair_failed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.add("other")
    world.give("a", name="other")
    judged = [world.judged(Replica("a", "ONLINE"), name=name) for name in ("s", "other")]
    repair = world.repairer.repair

    def breaking(each: Judgement, *, dry_run: bool = False) -> Repaired:
        if each.record.segment == "s":
            raise ValueError("no url")
        return repair(each, dry_run=dry_run)

    monkeypatch.setattr(world.repairer, "repair", breaking)
    found = {each.segment: each for each in repair_all(world.repairer, judged, parallel=1)}
    assert found["s"].outcome is RepairOutcome.FAILED
    assert found["s"].message == "ValueError: no url"
    assert found["other"].outcome is RepairOutcome.REPAIRED
