from __future__ import annotations

import threading
from pathlib import Path

import pytest
import requests
from prometheus_client import CollectorRegistry, generate_latest

from controller_client.deepstore.audit import TableAudit
from controller_client.deepstore.judge import Replica
from controller_client.deepstore.metrics import MetricsServer, WatchMetrics
from controller_client.deepstore.report import AuditReport
from controller_client.deepstore.watch import Watch
from controller_client.errors import NotAppliedError, SetupError
from tests.unit.controller_client.deepstore.samples import TABLE
from tests.unit.controller_client.deepstore.world import World
from tests.unit.fake_clock import FakeClock


def samples(metrics: WatchMetrics) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(metrics)
    lines = [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_rounds_go_on_after_one_that_broke_off(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.add()
    world.give("a", content=7)
    stop = threading.Event()
    rounds = 0

    def audit() -> AuditReport:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            raise NotAppliedError("the controller does not answer")
        if rounds == 3:
            stop.set()
        judged = world.judged(Replica("a", "ONLINE"))
        faulty = (judged,) if rounds == 2 else ()
        silent = (("b", "it is down"),)
        return AuditReport("file:///x", 2, 0, 0.0, (TableAudit(TABLE, 1, 0, faulty, silent),))

    metrics = WatchMetrics()
    Watch(audit, world.repairer, metrics, FakeClock(), interval_s=1e-6, parallel=2).serve(stop)
    world.client.close()
    found = samples(metrics)
    assert found["pinot_deepstore_rounds_total"] == 3
    assert found["pinot_deepstore_failed_rounds_total"] == 1
    assert found[f'pinot_deepstore_silent_servers{{table="{TABLE}"}}'] == 1
    assert found['pinot_deepstore_repairs_total{outcome="repaired"}'] == 1
    assert found[f'pinot_deepstore_faulty_segments{{fault="no_url",table="{TABLE}"}}'] == 0
    assert world.record().url


class Turn:
    """Held for some of the times that it is asked."""

    def __init__(self, *held: bool) -> None:
        self._held = iter(held)
        self.was_released = False

    @property
    def held(self) -> bool:
        return next(self._held)

    def release(self) -> None:
        self.was_released = True


def test_a_watch_has_rounds_and_repairs_in_its_turn_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller_client.deepstore.watch._STANDBY_POLL_S", 1e-6)
    world = World(tmp_path)
    world.add()
    world.give("a", content=7)
    stop = threading.Event()
    rounds = 0

    def audit() -> AuditReport:
        nonlocal rounds
        rounds += 1
        judged = world.judged(Replica("a", "ONLINE"))
        if rounds == 2:
            stop.set()
        return AuditReport("file:///x", 2, 0, 0.0, (TableAudit(TABLE, 1, 0, (judged,), ()),))

    metrics = WatchMetrics()
    # It stands by, stands by, has a round and loses its lease in it, stands by, has a round and is stopped.
    turn = Turn(False, False, True, False, False, True)
    Watch(audit, world.repairer, metrics, FakeClock(), interval_s=1e-6, parallel=2, turn=turn).serve(stop)
    world.client.close()
    assert rounds == 2
    assert samples(metrics)['pinot_deepstore_repairs_total{outcome="repaired"}'] == 0
    assert not world.record().url
    assert turn.was_released


def test_metrics_are_served_by_http() -> None:
    metrics = WatchMetrics(segments={'a "quoted"\nname': 7}, rounds=3)
    with MetricsServer("127.0.0.1", 0, metrics) as server:
        base = f"http://127.0.0.1:{server.port}"
        answers = {
            page: requests.get(f"{base}{page}", timeout=10) for page in ("/metrics", "/health", "/other")
        }
        assert 'pinot_deepstore_segments{table="a \\"quoted\\"\\nname"} 7.0\n' in answers["/metrics"].text
        assert "\npinot_deepstore_rounds_total 3.0\n" in answers["/metrics"].text
        assert answers["/metrics"].headers["Content-Type"].startswith("text/plain; version=")
        assert answers["/health"].text == "OK"
        assert answers["/other"].status_code == 404
        with pytest.raises(SetupError):
            MetricsServer("127.0.0.1", server.port, metrics)


def test_a_report_escapes_what_it_shows(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.add("<b>")
    world.client.close()
    judged = world.judged(Replica("a", "ONLINE", 8), name="<b>")
    report = AuditReport("s3://b/x", 2, 0, 1.5, (TableAudit(TABLE, 1, 2, (judged,), (("a", "<i>"),)),))
    page = report.page()
    assert "&lt;b&gt;" in page
    assert "<b>&lt;" not in page
    assert "<i>" not in page
    assert "not complete" not in page
    document = report.to_json()
    assert document["faults"] == {"few_copies": 1, "no_url": 1, "replica_crc": 1}
    assert any("table reload" in " ".join(step["commands"]) for step in document["next_steps"])
    assert document["faulty_segments"] == 1
    assert len(report.rows()) == 3
    assert report.summary() == (
        "1 segment of 1 table: 1 with faults (1 few copies, 1 no url, 1 replica crc)."
        " Not complete: a did not report the check sums of its copies."
    )


def test_an_audit_with_a_silent_server_is_not_clean() -> None:
    report = AuditReport("s3://b/x", 2, 0, 1.5, (TableAudit(TABLE, 3, 0, (), (("a", "it is down"),)),))
    assert not report.faulty
    assert not report.is_clean
    assert "not complete" in report.page()
    assert report.summary().startswith(
        "3 segments of 1 table: every segment has its copies. Not complete: a did"
    )
    assert AuditReport("s3://b/x", 2, 0, 1.5, (TableAudit(TABLE, 3, 0, (), ()),)).is_clean
