"""Runs that follow a lakehouse table: whenever they are killed, the table has one version or another."""

from __future__ import annotations

from contextlib import suppress

import pytest

from minion_tasks.file_ingestion.run.types import RunOutcome
from minion_tasks.file_ingestion.session.model import Session
from tests.unit.minion_tasks.happenings import Happenings, ProcessDiedError
from tests.unit.minion_tasks.life import SWAP, SYNC, Life
from tests.unit.minion_tasks.session_world import World
from tests.unit.minion_tasks.test_stepped import Steps


@pytest.fixture
def lakehouse(world: World) -> World:
    world.is_lakehouse = True
    return world


@pytest.mark.parametrize("mode", [SYNC, SWAP], ids=["sync", "swap"])
def test_a_run_is_ended_with_the_version_that_it_began_with(lakehouse: World, mode: dict[str, str]) -> None:
    life = Life(lakehouse, mode)
    life.write("F0")
    life.trigger()
    life.write("F1", "F2")
    planned = dict(lakehouse.source)
    steps = Steps(life, "r1")
    begun = steps.begin()
    # The owner compacts the table while minions work.
    life.delete("F0")
    life.delete("F1")
    life.write("F3")
    lakehouse.run_leftovers()
    ended = steps.end(begun)
    assert (ended.outcome, life.seen) == (RunOutcome.SWITCHED, planned)
    assert ended.source_version == begun.source_version
    life.trigger()
    assert life.seen == lakehouse.source


@pytest.mark.parametrize("step", range(1, 31))
@pytest.mark.parametrize("mode", [SYNC, SWAP], ids=["sync", "swap"])
def test_a_run_killed_at_any_step_leaves_a_whole_version(
    lakehouse: World, mode: dict[str, str], step: int
) -> None:
    life = Life(lakehouse, mode)
    life.write("F0", "F1")
    life.trigger()
    versions = [dict(lakehouse.source)]
    life.delete("F0")
    life.write("F2")
    versions.append(dict(lakehouse.source))
    with suppress(ProcessDiedError):
        life.trigger(Happenings(run_dies_at=step))
    assert life.seen in versions
    life.delete("F1")
    life.write("F3")
    versions.append(dict(lakehouse.source))
    sessions: list[Session] = []
    lakehouse.on_session = sessions.append
    life.trigger()
    assert life.seen in versions[1:]
    life.trigger()
    assert life.seen == lakehouse.source
    assert all(session.source_version is not None for session in sessions)
