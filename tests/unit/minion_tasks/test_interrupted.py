"""A run interrupted by Ctrl-C, or by another run that took over its table; see ``session_world``."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest

from controller_client.errors import ConflictError
from minion_tasks.file_ingestion.session.model import Session, SessionState, abandon
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.unit.minion_tasks.life import APPEND, Life
from tests.unit.minion_tasks.session_world import World

_ONCE = {**APPEND, "consistentPushMaxRetries": "0"}


def _interrupt(life: Life, when: Callable[[Session], bool], *, is_written: bool) -> None:
    """Interrupt a trigger by Ctrl-C at the first matching write, before or after ZooKeeper has it."""
    own, is_sent = SessionStore.save, False

    def save(store: SessionStore, session: Session) -> Session:
        nonlocal is_sent
        if not when(session) or is_sent:
            return own(store, session)
        is_sent = True
        if is_written:
            own(store, session)
        raise KeyboardInterrupt

    with mock.patch.object(SessionStore, "save", save), pytest.raises(KeyboardInterrupt):
        life.trigger()


@pytest.mark.parametrize("is_written", [True, False])
@pytest.mark.parametrize("configs", [_ONCE, APPEND])
def test_an_interrupt_while_the_submission_is_recorded(
    world: World, configs: dict[str, str], is_written: bool
) -> None:
    life = Life(world, configs)
    life.write("F1", "F2")
    _interrupt(life, lambda session: session.task_name is not None, is_written=is_written)
    assert life.session.abandoned == (configs is _ONCE)
    assert life.session.message == "KeyboardInterrupt"
    assert life.seen == {}
    life.trigger()
    assert life.seen == world.source


@pytest.mark.parametrize("is_written", [True, False])
@pytest.mark.parametrize("configs", [_ONCE, APPEND])
def test_an_interrupt_at_the_start_of_the_switch(
    world: World, configs: dict[str, str], is_written: bool
) -> None:
    life = Life(world, configs)
    life.write("F1", "F2")
    _interrupt(life, lambda session: session.state is SessionState.SWITCH, is_written=is_written)
    assert life.session.abandoned == (configs is _ONCE and not is_written)
    assert life.session.state is (SessionState.SWITCH if is_written else SessionState.IN_PROGRESS)
    life.trigger()
    assert life.seen == world.source


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
