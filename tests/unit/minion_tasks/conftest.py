"""A world without Pinot, and the life of a table in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minion_tasks.file_ingestion.run.types import FilesFailedError
from minion_tasks.file_ingestion.session.model import SessionState
from tests.unit.minion_tasks.life import APPEND, FIT_1, SWAP, SYNC, Life
from tests.unit.minion_tasks.session_world import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


@pytest.fixture(params=[APPEND, SYNC, SWAP], ids=["append", "sync", "swap"])
def life(world: World, request: pytest.FixtureRequest) -> Life:
    return Life(world, request.param)


@pytest.fixture
def after_scene_1(life: Life) -> Life:
    """Scene 1: F1 and F2 are ingested, F3, F4 and F5 fail; queries see nothing."""
    life.write(*FIT_1)
    life.corrupt("F3", "F4", "F5")
    error = life.fails()
    assert isinstance(error, FilesFailedError)
    assert "3 of 5 files" in str(error)
    assert "(retries left: 3)" in str(error)
    assert life.read == FIT_1
    assert life.seen == {}
    assert (life.session.state, life.session.retry_count) == (SessionState.IN_PROGRESS, 0)
    life.corrupt()
    return life
