"""A pause on a real cluster: no rows arrive while it lasts, and afterwards each row is there once."""

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
    """Return the number of rows in segments, by their end offsets."""
    return sum(int(each.committed_offset or 0) for each in table.control().status().partitions)


def test_rows_that_arrive_during_a_pause_are_read_after_it(make_stream_table: MakeTable) -> None:
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
    # A consumer would read new rows within seconds.
    watch_unchanged(table.counts, before)
    assert not pause(control), "paused already"

    assert resume(control).jumps == ()
    table.wait_rows()
    status = control.status()
    assert (status.state, status.holders) == (TableState.CONSUMING, ())
    assert read_record(table.store, table.table) is None

    # The status shows individually paused partitions; they stay so when Pinot changes the ideal state.
    set_paused_partitions(table.store, table.table, lambda partitions: partitions | {1})
    assert len(force_commit(control, timeout_s=300)) == 3
    assert read_flags(table.store, table.table).paused_partitions == {1}
    table.wait_consuming()
    states = [each.state for each in control.status().partitions]
    assert states == [PartitionState.CONSUMING, PartitionState.PARTITION_PAUSING, PartitionState.CONSUMING]
    set_paused_partitions(table.store, table.table, lambda partitions: partitions - {1})
    table.produce(50)
    table.wait_rows()


def test_a_pause_during_commits_finishes(make_stream_table: MakeTable, full: bool) -> None:
    rounds = 12 if full else 4
    # Pinot divides the number of rows by the number of partitions: a segment is full at 40.
    table = make_stream_table(partitions=4, rows_per_segment=160)
    control = table.control()
    for _ in range(rounds):
        for _ in range(4):
            table.produce(40)
        at_pause = _committed(table)
        pause(control, timeout_s=300)
        first = _committed(table)
        # A forgotten segment would continue to consume, and its rows would be in no committed offset.
        assert first >= at_pause
        table.produce(5)
        wait_for(lambda rows=first: table.counts()[0] == rows, "exactly the committed rows")  # type: ignore[misc]  # a default that binds
        assert control.status().state is TableState.PAUSED
        assert _committed(table) == first
        resume(control, timeout_s=300)
    table.wait_rows()


def test_five_simultaneous_pauses_are_one(make_stream_table: MakeTable, pinot: PinotCluster) -> None:
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
    assert len(status.holders) == 1, "the first caller"
    table.produce(20)
    resume(table.control(), timeout_s=300)
    table.wait_rows()


class HeldClock(SystemClock):
    """A clock whose sleepers wait until they are released."""

    def __init__(self) -> None:
        self.sleeps = threading.Event()
        self.released = threading.Event()

    def sleep(self, seconds: float) -> None:
        self.sleeps.set()
        assert self.released.wait(300)
        super().sleep(seconds)


def test_a_resume_during_a_pause_wins(make_stream_table: MakeTable, pinot: PinotCluster) -> None:
    table = make_stream_table(partitions=3, replicas=2)
    table.produce(20)
    table.wait_rows()
    clock = HeldClock()
    with pinot.client(clock) as client, ThreadPoolExecutor(1) as pool:
        pausing = pool.submit(pause, table.control(client), timeout_s=300)
        try:
            # It has set the flag and waits: two replicas need seconds to agree on what to commit.
            assert clock.sleeps.wait(300)
            assert read_flags(table.store, table.table).table_paused
            resume(table.control(), timeout_s=300)
        finally:
            clock.released.set()
        with pytest.raises(ConflictError, match=r"somebody else resumed .* while it was being paused"):
            pausing.result()
    table.produce(20)
    table.wait_rows()
    assert table.control().status().state is TableState.CONSUMING
