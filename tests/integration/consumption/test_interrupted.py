"""Kill each recipe before and after each of its steps and run it again: it finishes, with each row once.

Without ``--full``, only a few of the cases run.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from controller_client.consumption import TableState, pause, resume
from controller_client.consumption.plan import read_plan
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import SECRET_KEY, StreamTable, secret_value
from tests.support.kafka_topics import Topic
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_TIMEOUT_S = 400

STEPS = {
    "change-stream": (
        "create plan",
        "set plan",
        "create pause",
        "POST pauseConsumption",
        "set pause",
        "set plan 2",
        "PUT tables",
        "set plan 3",
        "POST resumeConsumption",
        "delete pause",
        "PUT tables 2",
        "delete plan",
    ),
    "drain": ("create plan", "set plan", "create pause", "POST pauseConsumption", "set pause", "delete plan"),
    "recover": (
        "create pause",
        "POST pauseConsumption",
        "set pause",
        "POST resumeConsumption",
        "delete pause",
    ),
    "recreate": ("POST resumeConsumption",),
    "reset": ("POST forceCommit",),
}

_ALWAYS = {
    ("change-stream", "after", "POST pauseConsumption"),
    ("change-stream", "after", "PUT tables"),
    ("change-stream", "after", "POST resumeConsumption"),
    ("drain", "before", "POST pauseConsumption"),
    ("recover", "after", "POST pauseConsumption"),
}
ROWS = [
    pytest.param(*row, marks=() if row in _ALWAYS else FULL)
    for row in (
        (recipe, when, step) for recipe in STEPS for step in STEPS[recipe] for when in ("before", "after")
    )
]


@dataclass
class Scene:
    """A table in the state for which a recipe is meant."""

    table: StreamTable
    new: Topic | None = None

    @property
    def change(self) -> dict[str, str]:
        if self.new is None:
            return {}
        return {"stream.kafka.topic.name": self.new.name, SECRET_KEY: secret_value("new-secret")}

    def run(
        self, recipe: str, kill: tuple[str, str] | None = None, more: Mapping[str, object] | None = None
    ) -> subprocess.CompletedProcess[str]:
        order = {
            "timeout_s": 120.0,
            "watch_stream": True,
            "controller": self.table.pinot.controller_url,
            "zookeeper": self.table.pinot.zookeeper_address,
            "cluster": self.table.pinot.cluster_name,
            "table": self.table.table,
            "recipe": recipe,
            "change": self.change,
            "kill": kill,
            **(more or {}),
        }
        return subprocess.run(
            [sys.executable, "-m", "tests.integration.consumption.recipe_program", json.dumps(order)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )


def _scene(make: MakeTable, recipe: str) -> Scene:
    table = make(partitions=2)
    table.produce(20)
    table.wait_rows()
    scene = Scene(table)
    if recipe == "change-stream":
        scene.new = table.new_topic(2)
        table.produce(20, topic=scene.new)
    elif recipe == "recreate":
        pause(table.control(), timeout_s=300)
        resume(table.control(), timeout_s=300)
        gone = min(table.control().ideal().consuming)
        table.client.segments.delete(table.table, [gone])
        table.client.segments.wait_gone(table.table, [gone], 60)
    return scene


def _check_end(scene: Scene, recipe: str) -> None:
    table, control = scene.table, scene.table.control()
    assert read_plan(table.store, table.table) is None
    config = json.dumps(table.client.tables.get(table.table).to_json())
    assert ("new-secret" in config, "old-secret" in config) == (scene.new is not None, scene.new is None)
    if recipe == "drain":
        assert control.status().state is TableState.PAUSED
        resume(control, timeout_s=300)
    assert control.status().state is TableState.CONSUMING
    assert control.status().holders == ()
    table.produce(20, topic=scene.new)
    table.wait_rows()


@pytest.mark.parametrize(("recipe", "when", "step"), ROWS)
def test_killed_and_run_again(make_stream_table: MakeTable, recipe: str, when: str, step: str) -> None:
    scene = _scene(make_stream_table, recipe)
    killed = scene.run(recipe, (when, step))
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    assert scene.table.shown_secrets() == []
    finished = scene.run(recipe)
    assert finished.returncode == 0, finished.stderr
    _check_end(scene, recipe)


@FULL  # each takes a minute of waiting for Pinot
@pytest.mark.parametrize(
    "kill",
    [
        ("before", "set plan 5"),
        ("after", "set plan 5"),
        ("before", "delete pause 2"),
        ("after", "delete pause 2"),
    ],
)
def test_killed_while_the_old_stream_is_restored(make_stream_table: MakeTable, kill: tuple[str, str]) -> None:
    scene = _scene(make_stream_table, "recover")
    broken = {"change": {"stream.kafka.broker.list": "127.0.0.1:1"}, "watch_stream": False, "timeout_s": 15.0}
    killed = scene.run("change-stream", kill, broken)
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    finished = scene.run("change-stream", None, {**broken, "timeout_s": 120.0})
    assert "so the old one was restored" in finished.stderr
    _check_end(scene, "change-stream")


@pytest.mark.parametrize(
    "recipe", [pytest.param(each, marks=() if each == "change-stream" else FULL) for each in STEPS]
)
def test_all_steps_are_listed(make_stream_table: MakeTable, recipe: str) -> None:
    scene = _scene(make_stream_table, recipe)
    done = scene.run(recipe)
    assert done.returncode == 0, done.stderr
    # How often a commit must be forced depends on the servers.
    steps = [step for step in json.loads(done.stdout) if recipe == "reset" or "forceCommit" not in step]
    assert (
        tuple(dict.fromkeys(step for step in steps if step in STEPS[recipe] or "forceCommit" not in step))
        == STEPS[recipe]
    )
    _check_end(scene, recipe)
