from __future__ import annotations

import threading
from pathlib import Path

import pytest
import requests

from controller_client.deepstore import AuditReport, Replica, TableAudit
from controller_client.errors import NotAppliedError, SetupError
from server_hooks.deepstore import MetricsServer, Watch, WatchMetrics
from tests.unit.deepstore.samples import TABLE
from tests.unit.deepstore.world import World
from tests.unit.fake_clock import FakeClock


def samples(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_rounds_go_on_after_one_that_broke_off(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.add()
    world.give("a", crc=7)
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
        return AuditReport("file:///x", 2, 0, 0.0, (TableAudit(TABLE, 1, 0, faulty, ()),))

    metrics = WatchMetrics()
    Watch(audit, world.repairer, metrics, FakeClock(), interval_s=1e-6, parallel=2).serve(stop)
    world.client.close()
    found = samples(metrics.text())
    assert found["pinot_deepstore_rounds_total"] == 3
    assert found["pinot_deepstore_failed_rounds_total"] == 1
    assert found['pinot_deepstore_repairs_total{outcome="repaired"}'] == 1
    assert found[f'pinot_deepstore_faulty_segments{{table="{TABLE}",fault="no_url"}}'] == 0
    assert world.record().url


def test_metrics_are_told_by_http() -> None:
    with MetricsServer("127.0.0.1", 0, lambda: 'x{a="b"} 1\n') as server:
        base = f"http://127.0.0.1:{server.port}"
        answers = {
            page: requests.get(f"{base}{page}", timeout=10) for page in ("/metrics", "/health", "/other")
        }
        assert answers["/metrics"].text == 'x{a="b"} 1\n'
        assert answers["/health"].text == "OK"
        assert answers["/other"].status_code == 404
        with pytest.raises(SetupError):
            MetricsServer("127.0.0.1", server.port, str)


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
    assert report.to_json()["faults"] == {"few_copies": 1, "no_url": 1, "replica_crc": 1}
    assert len(report.rows()) == 3
    assert report.summary() == "1 segments of 1 tables: 1 few copies, 1 no url, 1 replica crc."
