"""The rules file and the dashboards: complete, and with existing metrics only."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import all_metrics
from controller_client.monitoring.dashboards import DASHBOARDS, dashboard_json, expressions
from controller_client.monitoring.rules import rules_text
from pinotctl.root import cli
from tests.support.promtool import promtool

ALERTS = [rule for group in yaml.safe_load(rules_text())["groups"] for rule in group["rules"]]
TESTS = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*_alerts.py"))


def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    path = tmp_path / "rules.yml"
    path.write_text(rules_text(), encoding="utf-8")
    promtool("check", "rules", path)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_an_alert_fires_in_a_test_uses_existing_metrics_and_says_what_where_and_how_bad(
    alert: dict[str, Any],
) -> None:
    assert f'"{alert["alert"].removeprefix("PinotPlugins")}"' in TESTS
    named = set(re.findall(r"\bpinot_plugins_\w+", alert["expr"]))
    assert named <= {metric.name for metric in all_metrics()}
    assert named or "up{" in alert["expr"]
    assert alert["labels"]["severity"] in ("critical", "warning")
    assert {"summary", "description"} <= alert["annotations"].keys()
    assert "{{ $labels." in alert["annotations"]["summary"] + alert["annotations"]["description"]


def test_names_follow_the_convention() -> None:
    for metric in all_metrics():
        assert re.fullmatch(r"pinot_plugins(_[a-z]+){2,}", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert len({metric.name for metric in all_metrics()}) == len(list(all_metrics()))
    assert Monitoring("scheduler").text()


# One of the metrics that prometheus_client provides for every process.
_OF_EVERY_PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total"}


def test_promtool_takes_every_expression(tmp_path: Path) -> None:
    found = list(expressions())
    assert len(found) > 30
    rules = [{"record": f"panel_{number}", "expr": each} for number, each in enumerate(found)]
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}), encoding="utf-8")
    promtool("check", "rules", path)


def test_every_expression_uses_existing_metrics() -> None:
    known = {metric.name for metric in all_metrics()} | _OF_EVERY_PROCESS
    for each in expressions():
        named = set(re.findall(r"\b(?:pinot_plugins|process)_\w+", each))
        assert named
        assert named <= known, each


def test_legends_name_labels_that_their_metrics_have() -> None:
    labels = {metric.name: {*metric.labels, "instance", "job"} for metric in all_metrics()}
    for dashboard in DASHBOARDS:
        for panel in dashboard.panels:
            for expression, legend in panel.queries:
                names = re.findall(r"\bpinot_plugins_\w+", expression)
                for label in re.findall(r"{{(\w+)}}", legend):
                    assert all(label in labels[name] for name in names), (panel.title, label)


def test_panels_do_not_overlap() -> None:
    for dashboard in DASHBOARDS:
        places = [panel["gridPos"] for panel in dashboard_json(dashboard)["panels"]]
        assert len({(place["x"], place["y"]) for place in places}) == len(places)
        assert all(place["x"] + place["w"] <= 24 for place in places)


def test_the_commands_write_them_out(tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert run(cli, ["monitoring", "rules"]).stdout == rules_text()
    done = run(cli, ["monitoring", "dashboards", str(tmp_path), "--output", "json"])
    assert done.exit_code == 0, done.output
    written = [json.loads(Path(each["file"]).read_text(encoding="utf-8")) for each in json.loads(done.stdout)]
    assert [each["title"] for each in written] == [each.title for each in DASHBOARDS]
    listed = json.loads(run(cli, ["monitoring", "metrics", "--output", "json"]).stdout)
    assert [each["name"] for each in listed] == [metric.name for metric in all_metrics()]
