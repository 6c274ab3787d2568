"""Each row of the fault table: readers see old or new rows, the next write recovers, nothing is left."""

from __future__ import annotations

import uuid
from contextlib import nullcontext

import pytest

from tests.faults.spark_connectors.conftest import PlaceOf
from tests.faults.spark_connectors.injections import LateStart
from tests.faults.spark_connectors.place import assert_clean, in_progress, state_of, sweep_much_later, watched
from tests.faults.spark_connectors.table import MAKING, NEW_TABLE, STEPS, Row
from tests.faults.spark_connectors.victims import Victims
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


def test_fault(row: Row, place_of: PlaceOf, victims: Victims) -> None:
    """A failed commit is followed by an abort, which does not undo anything that was applied."""
    place = place_of(row.place)
    place.is_sound = False
    old = place.held
    first = max((ids.stop for ids in old), default=0)
    ids = range(first, first + 20)
    new = [ids] if row.mode == "overwrite" else [*old, ids]
    write_id = uuid.uuid4().hex
    with nullcontext() if row.creates else watched(place.table, state_of(*old), state_of(*new)):
        row.injection.run(place, victims, ids, row.mode, write_id)
        if not row.creates:
            place.table.wait_rows("count(*), sum(id)", state_of(*(new if row.applied else old)))
        # The same write once more: applied now, or found to be applied.
        place.write(ids, row.mode, writeId=write_id)
        place.held = new
        assert place.table.query("count(*), sum(id)") == [place.state]
    if isinstance(row.injection, LateStart):
        wait_for(lambda: len(in_progress(place.table)) == 1, "the late call to be applied")
        place.held = [*place.held, range(ids.stop, ids.stop + 20)]
        place.write(place.held[-1], row.mode)
        assert place.table.query("count(*), sum(id)") == [place.state]
    assert bool(place.table.staged()) == row.leaves_staged
    if row.leaves_staged:
        sweep_much_later(place.table)
    assert_clean(place.table)
    place.is_sound = not row.creates


@FULL
def test_the_fault_table_covers_each_change_of_a_write(place_of: PlaceOf, victims: Victims) -> None:
    place = place_of(NEW_TABLE)
    writer = victims.take()
    writer.write(range(20), place.options("undisturbed"), overwrite=False, halt=None)
    steps = [step for step in writer.steps() if not step.startswith("GET ")]
    assert steps == [*MAKING, *(step for step, _ in STEPS)]
    assert place.table.query("count(*), sum(id)") == [state_of(range(20))]
