from __future__ import annotations

import json

import pytest
import requests

from controller_client.cli.commands import queue_waiting
from controller_client.cli.commands.queue_waiting import publish_subtasks
from controller_client.cli.context import CliContext
from controller_client.errors import UnreachableError
from controller_client.helix.unfinished_subtasks import Unfinished
from controller_client.monitoring import Monitoring, MonitoringServer
from controller_client.monitoring.catalogue import QUEUE
from tests.unit.controller_client.cli.conftest import Run

FOUND = {"a": Unfinished(3, 2), "b": Unfinished(0, 1)}


@pytest.fixture(autouse=True)
def subtasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CliContext, "property_store", lambda _self: None)
    monkeypatch.setattr(queue_waiting, "unfinished_subtasks", lambda _store, _task_type: FOUND)


def test_all_tags(run: Run) -> None:
    assert json.loads(run("queue", "waiting", "--output", "json").stdout) == [
        {"tag": "a", "waiting": 3, "running": 2, "unfinished": 5},
        {"tag": "b", "waiting": 0, "running": 1, "unfinished": 1},
    ]


def test_a_named_tag_without_subtasks_is_listed(run: Run) -> None:
    found = json.loads(run("queue", "waiting", "--tag", "idle", "--tag", "b", "--output", "json").stdout)
    assert [(row["tag"], row["unfinished"]) for row in found] == [("b", 1), ("idle", 0)]


def test_as_gauges() -> None:
    monitoring = Monitoring(QUEUE)
    publish_subtasks(monitoring, lambda: FOUND)
    lines = monitoring.text().splitlines()
    assert 'pinot_plugins_queue_subtasks{state="waiting",tag="a"} 3.0' in lines
    assert 'pinot_plugins_queue_subtasks{state="running",tag="a"} 2.0' in lines
    assert 'pinot_plugins_queue_subtasks{state="running",tag="b"} 1.0' in lines


def test_no_number_if_zookeeper_does_not_answer() -> None:
    def count() -> dict[str, Unfinished]:
        raise UnreachableError("ZooKeeper does not answer")

    monitoring = Monitoring(QUEUE)
    publish_subtasks(monitoring, count)
    with MonitoringServer("127.0.0.1", 0, monitoring) as server:
        answer = requests.get(f"http://127.0.0.1:{server.port}/metrics", timeout=10)
    assert answer.status_code == 500
    assert "pinot_plugins_queue_subtasks" not in answer.text
