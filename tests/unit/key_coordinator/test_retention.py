"""How long the updates topic must keep its messages."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller_client.errors import NotFoundError
from controller_client.zookeeper import ZNRecord
from key_coordinator.topic_settings import FOREVER_MS, longer_retention_ms, needed_ms
from tests.unit.controller_client.consumption.worlds import NOW_S, TABLE, World, segment

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_CONFIG = f"/CONFIGS/TABLE/{TABLE}"


def _keep_days(world: World, days: str) -> None:
    segments = {"replication": "1", "retentionTimeUnit": "DAYS", "retentionTimeValue": days}
    fields = {"tableName": TABLE, "tableType": "REALTIME", "segmentsConfig": json.dumps(segments)}
    world.store.delete(_CONFIG)
    world.store.create(_CONFIG, ZNRecord(TABLE, fields))


def test_messages_are_needed_for_the_tables_present_retention() -> None:
    world = World()
    _keep_days(world, "14")
    assert needed_ms(world.store, TABLE, NOW_S) == 14 * _DAY_MS
    _keep_days(world, "90")
    assert needed_ms(world.store, TABLE, NOW_S) == 90 * _DAY_MS
    _keep_days(world, "-1")
    assert needed_ms(world.store, TABLE, NOW_S) == FOREVER_MS


def test_and_for_as_long_as_its_oldest_segment_is_there() -> None:
    world = World()
    _keep_days(world, "14")
    for partition, sequence, days in ((0, 4, 20), (0, 5, 3), (1, 7, 16)):
        world.record(segment(partition, sequence), age_s=days * 86_400)
    world.ideal({segment(0, 5): "ONLINE", segment(1, 7): "CONSUMING"})
    assert needed_ms(world.store, TABLE, NOW_S) == 16 * _DAY_MS
    # Times of its rows are in the future, so Pinot keeps it.
    world.ideal({segment(0, 4): "ONLINE", segment(0, 5): "ONLINE", segment(1, 7): "CONSUMING"})
    assert needed_ms(world.store, TABLE, NOW_S) == 20 * _DAY_MS


def test_a_dropped_table_needs_none() -> None:
    world = World()
    world.store.delete(_CONFIG)
    with pytest.raises(NotFoundError):
        needed_ms(world.store, TABLE, NOW_S)


@pytest.mark.parametrize(
    ("present", "kept", "expected"),
    [
        (0, _HOUR_MS, _HOUR_MS + _DAY_MS),
        (14 * _DAY_MS, 14 * _DAY_MS, 14 * _DAY_MS * 6 // 5),
        (14 * _DAY_MS, 10 * _DAY_MS, None),
        (14 * _DAY_MS, 30 * _DAY_MS, 36 * _DAY_MS),
        (14 * _DAY_MS, FOREVER_MS, FOREVER_MS),
        (FOREVER_MS, 30 * _DAY_MS, None),
        (FOREVER_MS, FOREVER_MS, None),
    ],
)
def test_a_retention_is_lengthened_with_a_margin(present: int, kept: int, expected: int | None) -> None:
    assert longer_retention_ms(present, kept) == expected


_TIMES_MS = st.integers(0, 4000 * _DAY_MS)


@example(present=0, kept=5 * _DAY_MS - _HOUR_MS)
@given(present=_TIMES_MS | st.just(FOREVER_MS), kept=_TIMES_MS | st.just(FOREVER_MS))
def test_it_is_never_shortened_and_seldom_changed(present: int, kept: int) -> None:
    longer = longer_retention_ms(present, kept)
    after = present if longer is None else longer
    if FOREVER_MS in (present, kept):
        assert after == FOREVER_MS
        return
    assert after >= present
    # A segment is filled in a day at most by default, and Pinot deletes it at most 6 hours late.
    assert after >= kept + 12 * _HOUR_MS
    if longer is not None:
        assert longer_retention_ms(longer, kept + 10 * _HOUR_MS) is None, "at most every ten hours"
