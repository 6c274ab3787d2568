"""Each row of the fault table: readers see old or new rows, the next run recovers, and nothing is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.faults.file_ingestion.conftest import PlaceOf
from tests.faults.file_ingestion.runs import Ran, Runners
from tests.faults.file_ingestion.table import CALLS, DEAD, FINISHED, NOTHING_NEW, SWITCHED, WELL, WRITES, Row
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.s3]


def test_fault(row: Row, place_of: PlaceOf, runners: Runners) -> None:
    place = place_of(row.mode)
    place.is_sound = False
    place.register(row.retries, row.configs)
    old, before = place.state, place.sessions.ids()
    place.change()
    with place.polled(old, may_fail=row.queries_may_fail) as reader:
        ran = row.injection.run(place, runners, reader)
        assert _how(ran) in row.run, ran
        if ran.report is None or NOTHING_NEW not in row.then:
            reader.poll_until(reader.polls + 10)
        fresh = [name for name in place.sessions.ids() if name not in before]
        report = runners.lasting().run(place.name).well
    if _how(ran) == WELL:
        assert report["outcome"] == NOTHING_NEW
    else:
        _assert_next(row, report, fresh)
    last = runners.lasting().run(place.name).well
    assert last["outcome"] == NOTHING_NEW
    place.assert_nothing_left()
    assert place.served() == place.state
    place.is_sound = True


@pytest.mark.parametrize("mode", ["swap", *(pytest.param(mode, marks=FULL) for mode in ("append", "sync"))])
def test_the_fault_table_covers_each_step_of_a_run(mode: str, place_of: PlaceOf, runners: Runners) -> None:
    place = place_of(mode)
    place.is_sound = False
    place.register(0, {})
    place.change()
    steps = runners.lasting().run(place.name).steps
    calls = ("GET ", "POST ", "PUT ", "DELETE ")
    writes = [step for step in steps if not step.startswith(calls)]
    assert writes == [write for write in WRITES if mode != "append" or write != "from page 0"]
    switch = steps[steps.index("session SWITCH") : steps.index("session DONE")]
    assert {step for step in switch if step.startswith(calls)} == {*CALLS, f"GET {place.name}"}
    place.is_sound = True


def _how(ran: Ran) -> str:
    if ran.error is not None:
        return ran.error["type"]
    return WELL if ran.report is not None else DEAD


def _assert_next(row: Row, report: Mapping[str, Any], fresh: list[str]) -> None:
    assert report["outcome"] in row.then
    if row.same_session is not None and report["outcome"] in (SWITCHED, FINISHED):
        assert (report["session_id"] in fresh) == row.same_session
    if row.retry_count is not None:
        assert report["retry_count"] == row.retry_count
