from __future__ import annotations

import re
from pathlib import Path

import yaml

from controller_client.monitoring import catalogue
from controller_client.monitoring.catalogue import Metric, all_metrics
from controller_client.monitoring.rules import rules_text

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
PACKAGES = ("controller_client", "jvm_bridge", "minion_tasks", "server_hooks")


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
