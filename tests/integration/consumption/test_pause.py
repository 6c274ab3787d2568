"""A pause on a real cluster: nothing arrives while it lasts, and after it every row is there once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from controller_client.clock import SystemClock
from controller_client.consumption import PartitionState, TableState, force_commit, pause, resume
from controller_client.consumption.pause_record import read_record
from controller_client.errors import ConflictError
from controller_client.helix.ideal_state import read_flags, set_paused_partitions
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import StreamTable
from tests.support.cluster import PinotCluster
from tests.support.wait import wait_for, watch_unchanged

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_CALLERS = 5


def _committed(table: StreamTable) -> int:
    """Rows that the segments have by the offsets they end at."""
    return sum(int(each.committed_offset or 0) for each in table.control().status().partitions)


def test_rows_that_come_during_a_pause_are_read_after_it(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=3, replicas=2)
    control = table.control(by="me")
    table.produce(100)
    table.wait_rows()
    before = table.expected()
    assert control.status().state is TableState.CONSUMING

    assert pause(control, reason="test", comment="a comment")
    table.produce(50)
    status = control.status()
    assert status.state is TableState.PAUSED
    assert [(each.committed_offset, each.lag) for each in status.partitions] == [("100", 50)] * 3
    assert [(each.by, each.reason, each.comment) for each in status.holders] == [("me", "test", "a comment")]
    # Rows that came would be seen within the seconds that a consumer needs for them.
    watch_unchanged(table.counts, before)
    assert not pause(control), "paused already"

    assert resume(control).jumps == ()
    table.wait_rows()
    status = control.status()
    assert (status.state, status.holders) == (TableState.CONSUMING, ())
    assert read_record(table.store, table.table) is None

    # Partitions that are to be held for themselves are shown, and stay so over Pinot's own changes of the
    # ideal state.
    set_paused_partitions(table.store, table.table, lambda held: held | {1})
    assert len(force_commit(control, timeout_s=300)) == 3
    assert read_flags(table.store, table.table).paused_partitions == {1}
    table.wait_consuming()
    states = [each.state for each in control.status().partitions]
    assert states == [PartitionState.CONSUMING, PartitionState.HOLDING, PartitionState.CONSUMING]
    set_paused_partitions(table.store, table.table, lambda held: held - {1})
    table.produce(50)
    table.wait_rows()


def test_a_pause_among_commits_is_finished_all_the_same(make_stream_table: MakeTable, full: bool) -> None:
    rounds = 12 if full else 4
    # Pinot gives each partition its part of the rows: a segment is full with 40.
    table = make_stream_table(partitions=4, rows_per_segment=160)
    control = table.control()
    for _ in range(rounds):
        for _ in range(4):
            table.produce(40)
        at_pause = _committed(table)
        pause(control, timeout_s=300)
        first = _committed(table)
        # A segment that was forgotten would go on, and rows would come that no offset accounts for.
        assert first >= at_pause
        table.produce(5)
        wait_for(lambda rows=first: table.counts()[0] == rows, "all committed rows, and no other")  # type: ignore[misc]  # a default that binds
        assert control.status().state is TableState.PAUSED
        assert _committed(table) == first
        resume(control, timeout_s=300)
    table.wait_rows()


def test_five_pauses_at_once_are_one(make_stream_table: MakeTable, pinot: PinotCluster) -> None:
    table = make_stream_table(partitions=3)
    table.produce(20)
    table.wait_rows()
    start = threading.Barrier(_CALLERS)

    def call(number: int) -> bool:
        with pinot.client() as client:
            start.wait()
            return pause(table.control(client, by=f"caller {number}"), timeout_s=300)

    with ThreadPoolExecutor(_CALLERS) as pool:
        began = list(pool.map(call, range(_CALLERS)))
    assert any(began)
    status = table.control().status()
    assert status.state is TableState.PAUSED
    assert len(status.holders) == 1, "who asked first"
    table.produce(20)
    resume(table.control(), timeout_s=300)
    table.wait_rows()


class HeldClock(SystemClock):
    """A clock on which nobody who sleeps goes on before it is let."""

    def __init__(self) -> None:
        self.sleeps = threading.Event()
        self.goes_on = threading.Event()

    def sleep(self, seconds: float) -> None:
        self.sleeps.set()
        assert self.goes_on.wait(300)
        super().sleep(seconds)


def test_a_resume_while_it_pauses_wins(make_stream_table: MakeTable, pinot: PinotCluster) -> None:
    table = make_stream_table(partitions=3, replicas=2)
    table.produce(20)
    table.wait_rows()
    clock = HeldClock()
    with pinot.client(clock) as client, ThreadPoolExecutor(1) as pool:
        pausing = pool.submit(pause, table.control(client), timeout_s=300)
        try:
            # It has set the flag, and waits: two replicas take seconds to agree on what they commit.
            assert clock.sleeps.wait(300)
            assert read_flags(table.store, table.table).table_paused
            resume(table.control(), timeout_s=300)
        finally:
            clock.goes_on.set()
        with pytest.raises(ConflictError, match=r"somebody else resumed .* while it was being paused"):
            pausing.result()
    table.produce(20)
    table.wait_rows()
    assert table.control().status().state is TableState.CONSUMING
