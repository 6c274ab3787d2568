"""``pinotctl queue`` while queues come and go."""

from __future__ import annotations

import json

from click.testing import CliRunner

from controller_client.cli import cli
from tests.unit.controller_client.scripted_server import ScriptedServer, answer

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
