"""Roles are killed at random moments of a run: readers see old, then new rows, and triggers complete it."""

from __future__ import annotations

import pytest

from tests.faults.file_ingestion.runs import Ran, Runners
from tests.faults.file_ingestion.table import NOTHING_NEW
from tests.faults.file_ingestion.watched import WatchedTable
from tests.faults.random_kills.conftest import Arena, ArenaOf
from tests.faults.random_kills.plan import RUN, Kill
from tests.integration.file_ingestion.ingestion import Reader
from tests.support.tiers import FULL

pytestmark = [FULL, pytest.mark.cluster, pytest.mark.s3]

_MAX_TRIGGERS = 6


def test_the_next_triggers_recover_from_a_kill(kill: Kill, arena_of: ArenaOf) -> None:
    arena = arena_of(kill.store)
    table = arena.table_of(kill.mode)
    table.is_sound = False
    table.register(kill.retries, {})
    old = table.state
    table.change()
    unserved = set(arena.pinot.servers).issubset(kill.roles)
    with table.polled(old, may_fail=True, unserved=unserved) as reader:
        ran = _disturbed(kill, arena, table, reader)
        if ran.report is None:
            _trigger_until_well(arena.runners, table)
    assert arena.runners.lasting().run(table.name).well["outcome"] == NOTHING_NEW
    table.assert_nothing_left()
    assert table.served() == table.state
    table.is_sound = True


def _disturbed(kill: Kill, arena: Arena, table: WatchedTable, reader: Reader) -> Ran:
    pinot = arena.pinot
    runner = arena.runners.victim() if RUN in kill.roles else arena.runners.lasting()
    runner.start(table.name, kill.halt)
    runner.wait_paused()
    if kill.later_polls:
        runner.resume()
        reader.try_until(reader.tries + kill.later_polls)
    others = [role for role in pinot.roles if role in kill.roles]
    if RUN in kill.roles:
        runner.kill()
        arena.runners.prepare()
    for role in others:
        pinot.kill(role)
    try:
        if RUN not in kill.roles and not kill.later_polls:
            runner.resume()
        reader.try_until(reader.tries + kill.back_polls)
    finally:
        for role in others:
            pinot.start(role)
    return Ran() if RUN in kill.roles else runner.ended()


def _trigger_until_well(runners: Runners, table: WatchedTable) -> None:
    errors = []
    for _ in range(_MAX_TRIGGERS):
        ran = runners.lasting().run(table.name)
        if ran.report is not None:
            return
        errors.append(ran.error)
    raise AssertionError(f"{_MAX_TRIGGERS} triggers in a row failed: {errors}")
