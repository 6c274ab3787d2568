"""The history of a watch is bounded, reaches back to its start, and loses no peak."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName
from controller_client.consumption.lag_history import LagHistory
from controller_client.consumption.pause_record import Holder
from controller_client.consumption.status import PartitionState, PartitionStatus, TableState, TableStatus
from controller_client.helix.ideal_state import PinotPause

TABLE = TableName("t_REALTIME")


def status(*lags: int | None, state: TableState = TableState.CONSUMING) -> TableStatus:
    partitions = tuple(
        PartitionStatus(number, PartitionState.CONSUMING, lag=lag) for number, lag in enumerate(lags)
    )
    return TableStatus(TABLE, state, partitions)


@given(st.lists(st.one_of(st.none(), st.integers(0, 10**12)), min_size=1, max_size=200), st.integers(4, 40))
def test_readings_are_bounded_and_keep_begin_end_and_peak(lags: list[int | None], limit: int) -> None:
    history = LagHistory(limit)
    for at, lag in enumerate(lags):
        history.add([status(lag)], at)
    readings = history.readings(TABLE)
    assert len(readings) <= limit
    times = [each.time_ms for each in readings]
    assert times == sorted(set(times))
    assert (times[0], times[-1]) == (0, len(lags) - 1)
    kept = [each.lags[0] for each in readings if 0 in each.lags]
    assert max(kept, default=None) == max((lag for lag in lags if lag is not None), default=None)
    assert readings[-1].lags.get(0) == lags[-1]


def test_a_pause_is_known_from_its_begin_to_its_end() -> None:
    history = LagHistory()
    holder = Holder("me@here:1", 5, "migration", "at noon")
    paused = replace(status(1, state=TableState.PAUSED), holders=(holder,))
    history.add([status(1)], 10)
    history.add([paused], 20)
    history.add([paused], 30)
    (pause,) = history.pauses()
    assert (pause.table, pause.what, pause.by, pause.since_ms, pause.reason, pause.ended_ms) == (
        *(TABLE, "table", "me@here:1", 5, "migration: at noon", None),
    )
    history.add([status(1)], 40)
    assert [each.ended_ms for each in history.pauses()] == [40]
    again = replace(paused, holders=(replace(holder, since_ms=45),))
    history.add([again], 50)
    assert [(each.since_ms, each.ended_ms) for each in history.pauses()] == [(45, None), (5, 40)]
    assert [reading.is_paused for reading in history.readings(TABLE)] == [False, True, True, False, True]


def test_pauses_without_a_recorded_name() -> None:
    history = LagHistory()
    history.add([status(1, state=TableState.PAUSED)], 1)
    (nameless,) = history.pauses()
    assert (nameless.what, nameless.by, nameless.since_ms, nameless.reason) == ("table", None, None, "")
    by_quota = PinotPause("STORAGE_QUOTA_EXCEEDED", "full", "2026-11-23 15:01:02")
    of_pinot = replace(status(1, state=TableState.PAUSED), pinot_pause=by_quota, paused_topics={1: "clicks"})
    history.add([of_pinot], 2)
    assert [(each.what, each.by, each.since_text, each.reason) for each in history.pauses()] == [
        ("table", "Pinot itself", "2026-11-23 15:01:02", "STORAGE_QUOTA_EXCEEDED: full"),
        ("topic clicks", None, None, ""),
        ("table", None, None, ""),
    ]


def test_a_paused_partition_has_its_own_row() -> None:
    held = PartitionStatus(3, PartitionState.PARTITION_PAUSED, paused_by=Holder("me", 5, "disk"))
    history = LagHistory()
    history.add([replace(status(), partitions=(held,))], 1)
    assert [(each.what, each.by) for each in history.pauses()] == [("partition 3", "me")]


def test_pauses_that_ended_are_bounded() -> None:
    history = LagHistory()
    for at in range(500):
        holder = Holder("me", at)
        history.add([replace(status(state=TableState.PAUSED), holders=(holder,))], at)
    pauses = history.pauses()
    assert (len(pauses), pauses[0].since_ms, pauses[1].since_ms, pauses[-1].since_ms) == (201, 499, 498, 299)
