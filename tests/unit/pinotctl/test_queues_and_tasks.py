"""``pinotctl queue`` and ``pinotctl task``: what can be tested without a cluster."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import requests
from click.testing import CliRunner

from controller_client.errors import UnreachableError
from controller_client.helix.unfinished_subtasks import Unfinished
from controller_client.monitoring import Monitoring, MonitoringServer
from controller_client.monitoring.catalogue import QUEUE
from pinotctl.commands import queue_waiting
from pinotctl.commands.queue_waiting import publish_subtasks
from pinotctl.context import CliContext
from pinotctl.root import cli
from tests.unit.controller_client.scripted_server import ScriptedServer, answer
from tests.unit.pinotctl.conftest import Run
from tests.unit.pinotctl.test_uniform import COMMANDS

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


_GONE = answer(500, 'Cannot invoke "x": the return value of "y.getWorkflowContext(String)" is null')


def test_a_queue_that_is_deleted_during_the_listing_is_left_out() -> None:
    answers = (
        *(answer(200, '["kept", "deleted"]'), answer(200, {}), _GONE, answer(200, '["kept"]')),
        *(answer(200, {"Task_kept_1": "COMPLETED"}), answer(200, '"IN_PROGRESS"')),
    )
    with ScriptedServer(*answers) as server:
        done = CliRunner().invoke(cli, ["--controller", server.url, "queue", "list", "--output", "json"])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert (row["task_type"], row["state"], row["tasks"]) == ("kept", "IN_PROGRESS", 1)


LOADED_BY_TASK = """
import json, sys
import pinotctl.commands.task
print(json.dumps(sorted(name.partition(".")[0] for name in sys.modules)))
"""


def test_the_commands_load_neither_the_jvm_nor_a_store() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED_BY_TASK], capture_output=True, text=True, check=True)
    assert not {"jpype", "pyarrow", "pandas", "boto3", "rich", "pyspark", "py4j"} & set(
        json.loads(done.stdout)
    )


@pytest.mark.parametrize("command", [name for name in COMMANDS if name.startswith("task ")])
def test_every_command_requires_a_table_and_deletions_can_be_tried_and_confirmed(
    run: Run, command: str
) -> None:
    text = run(*command.split(), "--help").stdout
    assert "TABLE" in text.splitlines()[0]
    refused = run(*command.split())
    assert refused.exit_code == 2
    assert "TABLE" in refused.stderr
    if command in ("task session clear", "task purge"):
        for option in ("--dry-run", "--yes", "--wait-lock"):
            assert option in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        *(
            (("run", "t", "--spark-conf", setting), "spark.…=value")
            for setting in ("spark.executor.cores", "executor.cores=1", "=1")
        ),
        *(
            (("purge", "t", f"--older-than={period}"), "30m, 4h or 1d")
            for period in ("4", "h", "-1h", "1w", "")
        ),
    ],
)
def test_an_invalid_setting_or_period_is_refused(run: Run, words: tuple[str, ...], expected: str) -> None:
    refused = run("task", *words)
    assert refused.exit_code == 2
    assert expected in refused.stderr
