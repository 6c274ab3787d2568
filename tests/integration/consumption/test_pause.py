"""Pauses on a real cluster: no rows arrive meanwhile, each row is there once, and who resumes the table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests

from controller_client.consumption import (
    PartitionState,
    PauseEnd,
    TableState,
    end_pause,
    force_commit,
    pause,
    paused,
    resume,
)
from controller_client.consumption.pauses.pause_end import leave_pause
from controller_client.consumption.state.pause_record import read_record
from controller_client.errors import ConflictError
from controller_client.helix.ideal_state import read_flags, set_paused_partitions
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import StreamTable
from tests.support.cluster import PinotCluster
from tests.support.scheduling import DISTURBS
from tests.support.tiers import FULL
from tests.support.wait import wait_for, watch_unchanged

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_MAX_TABLES = 12


def test_rows_that_arrive_during_a_pause_are_read_after_it(make_stream_table: MakeTable, full: bool) -> None:
    # Pinot divides the number of rows by the number of partitions: a segment is full at 40, and the pause
    # begins while segments commit.
    table = make_stream_table(partitions=3, replicas=2, rows_per_segment=120)
    control = table.control(by="me")
    for _ in range(12 if full else 1):
        for _ in range(4 if full else 2):
            table.produce(40)
        before = table.committed_rows()
        assert pause(control, reason="test", comment="a comment")
        table.produce(50)
        status = control.status()
        assert status.state is TableState.PAUSED
        holders = [(each.by, each.reason, each.comment) for each in status.holders]
        assert holders == [("me", "test", "a comment")]
        # A forgotten segment would continue to consume, and its rows would be in no committed offset.
        committed = table.committed_rows()
        assert committed >= before
        ends = [int(each.committed_offset or 0) + (each.lag or 0) for each in status.partitions]
        assert ends == [len(table.produced) // 3] * 3
        wait_for(lambda rows=committed: table.counts()[0] == rows, "exactly the committed rows")  # type: ignore[misc]  # a default that binds
        watch_unchanged(table.counts, table.counts(), 2.0)  # a consumer would read new rows meanwhile
        assert table.committed_rows() == committed
        assert not pause(control), "paused already"
        assert resume(control).jumps == ()
    table.wait_rows()
    assert table.settled().holders == ()
    assert read_record(table.store, table.table) is None


@DISTURBS  # every table may get another lead controller
def test_another_controller_leads_the_table_and_dies_while_it_is_paused(
    pinot: PinotCluster, make_stream_table: MakeTable
) -> None:
    with pinot.second_controller() as second:
        # Pinot divides the tables among the controllers by their names.
        table = next(table for table in _tables(make_stream_table) if _lead(table) == second)
        table.produce(40)
        table.wait_rows()
        control = table.control()
        assert pause(control, reason="test")
        paused_rows = table.committed_rows()
        assert paused_rows == len(table.produced)
        table.produce(40)
        watch_unchanged(table.counts, table.counts(), 2.0)
    wait_for(lambda: _lead(table) not in (None, second), "the other controller to lead the table")
    assert control.status().state is TableState.PAUSED
    assert table.committed_rows() == paused_rows
    assert resume(control).jumps == ()
    table.wait_rows()


def _tables(make_stream_table: MakeTable) -> Iterator[StreamTable]:
    for _ in range(_MAX_TABLES):
        yield make_stream_table(partitions=2, replicas=2)


def _lead(table: StreamTable) -> str | None:
    """The name in Helix of the controller that leads a table; None while Helix has chosen none."""
    answer = requests.get(f"{table.pinot.controller_url}/leader/tables/{table.name}", timeout=60)
    entries = answer.json().get("leadControllerEntryMap", {})
    return next((str(entry["leadControllerId"]) for entry in entries.values()), None)


@FULL  # tests/integration/server_hooks/pause proves it for servers that heed the flags
def test_flags_of_paused_partitions_outlast_a_commit(make_stream_table: MakeTable) -> None:
    table = make_stream_table(rows=20)
    set_paused_partitions(table.store, table.table, lambda partitions: partitions | {1})
    assert len(force_commit(table.control(), timeout_s=300)) == 3
    assert read_flags(table.store, table.table).paused_partitions == {1}
    table.wait_consuming()
    states = [each.state for each in table.control().status().partitions]
    assert states == [PartitionState.CONSUMING, PartitionState.PARTITION_PAUSING, PartitionState.CONSUMING]
    set_paused_partitions(table.store, table.table, lambda partitions: partitions - {1})
    table.produce(50)
    table.wait_rows()


def test_a_block_resumes_only_what_it_paused(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=1, rows=20)
    # The controller returns ZooKeeper's address.
    with table.client.paused(table.table, reason="outer") as control:
        assert control.status().state is TableState.PAUSED
        with paused(control, reason="inner"):
            table.produce(20)
            assert [each.reason for each in control.status().holders] == ["outer", "inner"]
        assert control.status().state is TableState.PAUSED, "the outer block goes on"
        assert end_pause(control, "nobody") == PauseEnd(False, False, still_paused_by=(control.by,))
    table.wait_rows()
    table.settled()


@FULL  # many pauses
def test_blocks_that_end_otherwise(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=2, rows=20)
    control = table.control()
    with pytest.raises(KeyError, match="of the block"), paused(control):
        raise KeyError("of the block")
    assert control.status().state is TableState.CONSUMING

    with pytest.raises(KeyError), paused(control, resume_on_error=False):
        raise KeyError("of the block")
    assert control.status().state is TableState.PAUSED
    resume(control)

    with pytest.raises(ConflictError, match="somebody else resumed"), paused(control):
        resume(control)
    assert control.status().state is TableState.CONSUMING

    # A pause by the controller's API alone has no holder, and outlives the block.
    table.client.consumption.pause(table.table)
    with paused(control, reason="a guest"):
        status = control.status()
        assert (status.foreign, [each.reason for each in status.holders]) == (True, ["a guest"])
    status = control.status()
    assert (status.state, status.holders, status.foreign) == (TableState.PAUSED, (), False)
    resume(control)

    # The record of a pause that others ended does not apply to their next one.
    pause(control, reason="old")
    table.client.consumption.resume(table.table)
    table.wait_consuming()
    table.client.consumption.pause(table.table)
    assert control.status().holders == ()


@FULL  # many pauses
def test_end_pause_ends_only_the_pause_of_its_holder_and_only_once(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=1)
    control = table.control(by="me")
    never_there = PauseEnd(was_paused=False, resumed=False)
    assert end_pause(control, "first") == never_there
    for holder in ("first", "second"):
        pause(control, holder=holder)
    assert end_pause(control, "first") == PauseEnd(was_paused=True, resumed=False, still_paused_by=("me",))
    assert end_pause(control, "first") == PauseEnd(was_paused=False, resumed=False, still_paused_by=("me",))
    assert control.status().state is TableState.PAUSED
    # If it is killed between its two steps, the next call finishes.
    assert leave_pause(control, "second".__eq__)
    assert end_pause(control, "second") == PauseEnd(was_paused=False, resumed=True)
    assert control.status().state is TableState.CONSUMING
    assert end_pause(control, "second") == never_there

    pause(control, holder="third")
    table.client.consumption.resume(table.table)
    table.wait_consuming()
    with pytest.raises(ConflictError, match="somebody else resumed"):
        end_pause(control, "third")
    assert end_pause(control, "third") == never_there
