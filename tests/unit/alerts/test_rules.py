"""The rules file: complete, with existing metrics only, and silent on a day without faults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import all_metrics
from controller_client.monitoring.rules import rules_text
from tests.support.promtool import promtool

ALERTS = [rule for group in yaml.safe_load(rules_text())["groups"] for rule in group["rules"]]
TESTS = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*_alerts.py"))


def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    path = tmp_path / "rules.yml"
    path.write_text(rules_text(), encoding="utf-8")
    promtool("check", "rules", path)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_an_alert_says_what_where_and_how_bad(alert: dict[str, dict[str, str]]) -> None:
    assert alert["labels"]["severity"] in ("critical", "warning")
    assert {"summary", "description"} <= alert["annotations"].keys()
    assert "{{ $labels." in alert["annotations"]["summary"] + alert["annotations"]["description"]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_an_alert_uses_existing_metrics(alert: dict[str, str]) -> None:
    known = {metric.name for metric in all_metrics()}
    named = set(re.findall(r"\bpinot_plugins_\w+", alert["expr"]))
    assert named <= known
    assert named or "up{" in alert["expr"]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_each_alert_fires(alert: dict[str, str]) -> None:
    assert f'"{alert["alert"].removeprefix("PinotPlugins")}"' in TESTS


def test_names_follow_the_convention() -> None:
    for metric in all_metrics():
        assert re.fullmatch(r"pinot_plugins(_[a-z]+){2,}", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert len({metric.name for metric in all_metrics()}) == len(list(all_metrics()))
    assert Monitoring("scheduler").text()
