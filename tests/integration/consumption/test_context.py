"""``with client.paused(table)``: when the table resumes, and when it stays paused."""

from __future__ import annotations

import pytest

from controller_client.consumption import PauseEnd, TableState, end_pause, pause, paused, resume
from controller_client.consumption.pause_end import leave_pause
from controller_client.errors import ConflictError
from tests.integration.consumption.conftest import MakeTable

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]


def test_a_block_resumes_only_what_it_paused(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=2)
    table.produce(20)
    table.wait_rows()
    # The controller returns ZooKeeper's address.
    with table.client.paused(table.table, reason="outer", timeout_s=300) as control:
        assert control.status().state is TableState.PAUSED
        with paused(control, reason="inner", timeout_s=300):
            table.produce(20)
            assert [each.reason for each in control.status().holders] == ["outer", "inner"]
        assert control.status().state is TableState.PAUSED, "the outer block goes on"
    table.wait_rows()

    with pytest.raises(KeyError, match="of the block"), paused(control, timeout_s=300):
        raise KeyError("of the block")
    assert control.status().state is TableState.CONSUMING

    with pytest.raises(KeyError), paused(control, timeout_s=300, resume_on_error=False):
        raise KeyError("of the block")
    assert control.status().state is TableState.PAUSED
    resume(control, timeout_s=300)

    with pytest.raises(ConflictError, match="somebody else resumed"), paused(control, timeout_s=300):
        resume(control, timeout_s=300)
    assert control.status().state is TableState.CONSUMING

    # A pause by the controller's API alone has no holder, and outlives the block.
    table.client.consumption.pause(table.table)
    with paused(control, reason="a guest", timeout_s=300):
        status = control.status()
        assert (status.foreign, [each.reason for each in status.holders]) == (True, ["a guest"])
    status = control.status()
    assert (status.state, status.holders, status.foreign) == (TableState.PAUSED, (), False)
    resume(control, timeout_s=300)

    # The record of a pause that others ended does not apply to their next one.
    pause(control, reason="old", timeout_s=300)
    table.client.consumption.resume(table.table)
    table.wait_consuming()
    table.client.consumption.pause(table.table)
    assert control.status().holders == ()


def test_end_pause_ends_only_the_pause_of_its_holder_and_only_once(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=1)
    control = table.control(by="me")
    never_there = PauseEnd(was_paused=False, resumed=False)
    assert end_pause(control, "first") == never_there
    for holder in ("first", "second"):
        pause(control, holder=holder, timeout_s=300)
    assert end_pause(control, "first") == PauseEnd(was_paused=True, resumed=False, still_paused_by=("me",))
    assert end_pause(control, "first") == PauseEnd(was_paused=False, resumed=False, still_paused_by=("me",))
    assert control.status().state is TableState.PAUSED
    # If it is killed between its two steps, the next call finishes.
    assert leave_pause(control, "second".__eq__)
    assert end_pause(control, "second") == PauseEnd(was_paused=False, resumed=True)
    assert control.status().state is TableState.CONSUMING
    assert end_pause(control, "second") == never_there

    pause(control, holder="third", timeout_s=300)
    table.client.consumption.resume(table.table)
    table.wait_consuming()
    with pytest.raises(ConflictError, match="somebody else resumed"):
        end_pause(control, "third")
    assert end_pause(control, "third") == never_there
