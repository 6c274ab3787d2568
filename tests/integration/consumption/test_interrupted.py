"""Kill each recipe before and after each of its steps and run it again: it finishes, with each row once.

Without ``--full``, only one of the cases runs: each kill of a change of the stream is also in
tests/unit/controller_client/consumption/test_undo.py, and other recipes keep no state but the table's own.
"""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from dataclasses import dataclass

import pytest

from controller_client.consumption import TableState, pause, resume
from controller_client.consumption.recipes.plan import read_plan
from controller_client.rest.delete_risks import DeleteRisk
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import SECRET_KEY, StreamTable, secret_value
from tests.support.kafka_topics import Topic
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_TIMEOUT_S = 400

_PAUSE = ("create pause", "POST pauseConsumption", "set pause", "set pause 2")

STEPS = {
    "change-stream": (
        "create plan",
        "set plan",
        *_PAUSE,
        "set plan 2",
        "PUT tables",
        "set plan 3",
        "POST resumeConsumption",
        "delete pause",
        "PUT tables 2",
        "delete plan",
    ),
    "drain": ("create plan", "set plan", *_PAUSE, "delete plan"),
    "recover": (*_PAUSE, "POST resumeConsumption", "delete pause"),
    "recreate": ("POST resumeConsumption",),
    "reset": ("POST forceCommit",),
}


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

    def run(self, recipe: str, kill: tuple[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        order = {
            "controller": self.table.pinot.controller_url,
            "zookeeper": self.table.pinot.zookeeper_address,
            "cluster": self.table.pinot.cluster_name,
            "table": self.table.table,
            "recipe": recipe,
            "change": self.change,
            "kill": kill,
        }
        return subprocess.run(
            [sys.executable, "-m", "tests.integration.consumption.recipe_program", json.dumps(order)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )


def _scene(make: MakeTable, recipe: str) -> Scene:
    table = make(partitions=2, rows=20)
    scene = Scene(table)
    if recipe == "change-stream":
        scene.new = table.new_topic(2)
        table.produce(20, topic=scene.new)
    elif recipe == "recreate":
        pause(table.control())
        resume(table.control())
        gone = min(table.control().ideal().consuming)
        table.client.segments.delete(table.table, [gone], accept=[DeleteRisk.CONSUMING])
        table.client.segments.wait_gone(table.table, [gone], 60)
    return scene


def _check_end(scene: Scene, recipe: str) -> None:
    table, control = scene.table, scene.table.control()
    assert read_plan(table.store, table.table) is None
    config = json.dumps(table.client.tables.get(table.table).to_json())
    assert ("new-secret" in config, "old-secret" in config) == (scene.new is not None, scene.new is None)
    if recipe == "drain":
        assert control.status().state is TableState.PAUSED
        resume(control)
    assert control.status().state is TableState.CONSUMING
    assert control.status().holders == ()
    table.produce(20, topic=scene.new)
    table.wait_rows()


def _kill_and_run_again(scene: Scene, recipe: str, when: str, step: str) -> None:
    killed = scene.run(recipe, (when, step))
    assert killed.returncode == -signal.SIGKILL, (when, step, killed.stdout + killed.stderr)
    assert scene.table.shown_secrets() == []
    finished = scene.run(recipe)
    assert finished.returncode == 0, (when, step, finished.stderr)
    _check_end(scene, recipe)
    scene.table.drop()


def test_killed_once_the_stream_has_changed(make_stream_table: MakeTable) -> None:
    recipe = "change-stream"
    _kill_and_run_again(_scene(make_stream_table, recipe), recipe, "after", "PUT tables")


@FULL
@pytest.mark.parametrize("recipe", STEPS)
def test_killed_at_each_step(make_stream_table: MakeTable, recipe: str) -> None:
    scene = _scene(make_stream_table, recipe)
    done = scene.run(recipe)
    assert done.returncode == 0, done.stderr
    _check_end(scene, recipe)
    # How often a commit must be forced depends on the servers.
    steps = [step for step in json.loads(done.stdout) if step in STEPS[recipe] or "forceCommit" not in step]
    assert tuple(dict.fromkeys(steps)) == STEPS[recipe]
    for step, when in itertools.product(STEPS[recipe], ("before", "after")):
        _kill_and_run_again(_scene(make_stream_table, recipe), recipe, when, step)
