"""Metrics and health of processes, and their documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import requests
import yaml

from controller_client.errors import SetupError
from controller_client.monitoring import (
    Monitoring,
    MonitoringServer,
    catalogue,
    forget_tables,
    replace_values,
)
from controller_client.monitoring.catalogue import Metric, all_metrics
from controller_client.monitoring.rules import rules_text
from tests.unit.fake_clock import FakeClock


def make(clock: FakeClock | None = None) -> Monitoring:
    return Monitoring(catalogue.SCHEDULER, clock or FakeClock())


def test_all_pages_are_served_over_http() -> None:
    clock = FakeClock()
    monitoring = make(clock)
    loop, need = monitoring.loop("a", 10), monitoring.need("the role is starting")
    monitoring.gauge(catalogue.PAUSED_PARTITIONS).labels('a "quoted"\nname').set(7)
    with MonitoringServer("127.0.0.1", 0, monitoring) as server:

        def get(page: str) -> requests.Response:
            return requests.get(f"http://127.0.0.1:{server.port}{page}", timeout=10)

        metrics = get("/metrics")
        assert 'pinot_plugins_paused_partitions{table="a \\"quoted\\"\\nname"} 7.0\n' in metrics.text
        assert metrics.headers["Content-Type"].startswith("text/plain; version=")
        assert "\nprocess_resident_memory_bytes " in metrics.text
        assert "_created" not in metrics.text
        assert get("/health").json() == {"healthy": True, "reasons": []}
        assert get("/ready").status_code == 503
        assert get("/ready").json() == {"ready": False, "reasons": ["the role is starting"]}
        assert "\npinot_plugins_process_ready_ratio 0.0\n" in get("/metrics").text
        need.met()
        assert get("/ready").status_code == 200
        assert "\npinot_plugins_process_ready_ratio 1.0\n" in get("/metrics").text
        loop.round_ended()
        clock.advance(11)
        assert get("/health").status_code == 503
        assert get("/health").json()["reasons"] == [
            "the loop a sent its last heartbeat 11 s ago; one is expected every 10 s"
        ]
        assert get("/other").status_code == 404
        with pytest.raises(SetupError, match="--metrics-port"):
            MonitoringServer("127.0.0.1", server.port, monitoring)


def test_a_loop_is_watched_from_its_first_round_to_its_end() -> None:
    clock = FakeClock()
    monitoring = make(clock)
    loop = monitoring.loop("a", 10)
    clock.advance(1000)
    assert not monitoring.health.troubles()
    loop.round_ended(well=False)
    clock.advance(10)
    assert not monitoring.health.troubles()
    clock.advance(1)
    assert monitoring.health.troubles()
    loop.alive()
    assert not monitoring.health.troubles()
    clock.advance(1000)
    loop.ended()
    assert not monitoring.health.troubles()
    assert 'last_round_timestamp_seconds{loop="a"}' not in monitoring.text()
    assert 'pinot_plugins_process_failed_rounds_total{loop="a"} 1.0\n' in monitoring.text()


def test_consecutive_failed_rounds_are_counted_until_one_succeeds_or_another_process_works() -> None:
    monitoring = make()
    loop = monitoring.loop("a", 10)

    def in_a_row() -> float | None:
        return monitoring.registry.get_sample_value(
            "pinot_plugins_process_consecutive_failed_rounds", {"loop": "a"}
        )

    assert in_a_row() == 0
    for _ in range(3):
        loop.round_ended(well=False)
    assert in_a_row() == 3
    loop.round_ended()
    assert in_a_row() == 0
    loop.round_ended(well=False)
    loop.stands_by()
    assert in_a_row() == 0


def test_readiness_and_sampled_metrics_are_read_at_each_scrape() -> None:
    monitoring, errors = make(), dict[tuple[str, ...], float]()
    monitoring.sample(catalogue.HOOK_ERRORS, lambda: errors)
    for count in (0.0, 2.0):
        errors["pause",] = count
        assert f'pinot_plugins_hook_errors_total{{hook="pause"}} {count}\n' in monitoring.text()
    need = monitoring.need("the role is starting")
    monitoring.health.needs.clear()  # nothing notifies the metric of a change
    assert "\npinot_plugins_process_ready_ratio 1.0\n" in monitoring.text()
    monitoring.health.add_need(need)
    assert "\npinot_plugins_process_ready_ratio 0.0\n" in monitoring.text()


def test_values_are_dropped_along_with_their_tables() -> None:
    monitoring = make()
    paused, runs = monitoring.gauge(catalogue.PAUSED_PARTITIONS), monitoring.counter(catalogue.RUNS)
    replace_values(paused, {("a",): 1, ("b",): 2})
    replace_values(paused, {("b",): 3, ("c",): 4})
    assert 'paused_partitions{table="a"}' not in monitoring.text()
    assert 'paused_partitions{table="b"} 3.0\n' in monitoring.text()
    for table in "bcd":
        runs.labels(table, "failed").inc()
    forget_tables((paused, runs), {"b", "d"})
    assert 'table="c"' not in monitoring.text()
    assert 'pinot_plugins_ingestion_runs_total{outcome="failed",table="d"} 1.0\n' in monitoring.text()


def test_a_metric_has_the_type_given_in_the_catalogue() -> None:
    monitoring = make()
    assert monitoring.gauge(catalogue.LEASE_HELD) is monitoring.gauge(catalogue.LEASE_HELD)
    with pytest.raises(TypeError):
        monitoring.counter(catalogue.LEASE_HELD)


ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
PACKAGES = ("controller_client", "jvm_bridge", "key_coordinator", "minion_tasks", "pinotctl", "server_hooks")


def test_the_page_lists_all_metrics_with_their_meanings() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `pinot_plugins_")]
    assert rows == [
        f"| `{each.name}` | {each.kind} | {', '.join(each.labels)} | {each.unit} |"
        f" {', '.join(each.processes)} | {each.meaning} |"
        for each in all_metrics()
    ]


def test_the_page_lists_all_alerts() -> None:
    named = {
        name for line in PAGE.splitlines() if line.startswith("| `PinotPlugins") for name in _alerts(line)
    }
    groups = yaml.safe_load(rules_text())["groups"]
    assert named == {rule["alert"] for group in groups for rule in group["rules"]}


def _alerts(row: str) -> list[str]:
    return re.findall(r"`(PinotPlugins\w+)`", row.split("|")[1])


def test_every_metric_is_exported_by_some_process() -> None:
    code = "".join(
        path.read_text(encoding="utf-8") for package in PACKAGES for path in (ROOT / package).rglob("*.py")
    )
    names = {name for name, value in vars(catalogue).items() if isinstance(value, Metric)}
    assert names
    assert not {name for name in names if not re.search(rf"\bcatalogue\.{name}\b", code)}
