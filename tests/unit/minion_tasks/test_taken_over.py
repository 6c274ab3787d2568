"""A run that lost its lock unnoticed, and another that took over its table; see ``session_world``."""

from __future__ import annotations

from unittest import mock

from controller_client.errors import ConflictError
from minion_tasks.file_ingestion.session.model import abandon
from tests.unit.minion_tasks.life import APPEND, Life
from tests.unit.minion_tasks.session_world import World


def test_subtasks_cancelled_by_the_other_run_are_not_failures_of_files(world: World) -> None:
    life = Life(world, APPEND)
    life.write("F1", "F2")

    def taken_over(task_name: str, *_: object) -> None:
        world.cancel(task_name)
        latest = world.sessions.latest()
        assert latest is not None
        world.sessions.save(abandon(latest, "a new run began", int(world.clock.now() * 1000)))

    with mock.patch.object(world, "wait", taken_over):
        failed = life.fails()
    assert isinstance(failed, ConflictError)
    assert "another run took over t_OFFLINE while subtasks were running" in str(failed)
    assert "unchanged" not in str(failed)
    life.trigger()
    assert life.seen == world.source
