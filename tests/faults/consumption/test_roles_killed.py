"""A pause and a resume while the controller is killed during the call, and a pause while a server is down."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from controller_client.consumption import TableState, pause, resume
from controller_client.errors import WaitTimeoutError
from controller_client.helix.ideal_state import ideal_state_path, read_flags
from controller_client.zookeeper import ZNRecord
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import StreamTable
from tests.support.cluster import PinotCluster
from tests.support.scheduling import DISTURBS
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]


def _while_controller_dies(
    pinot: PinotCluster, table: StreamTable, call: Callable[[], object], *, paused: bool
) -> None:
    """Kill the controller as soon as the flag has changed, and restart it, all during the call."""
    with ThreadPoolExecutor(1) as pool:
        calling = pool.submit(call)
        try:
            wait_for(
                lambda: read_flags(table.store, table.table).table_paused is paused,
                "the flag",
                interval_s=0.002,
            )
            pinot.kill("controller")
        finally:
            pinot.start("controller")
        calling.result()


@DISTURBS
def test_the_controller_is_killed_between_the_flag_and_the_message(
    make_stream_table: MakeTable, pinot: PinotCluster, full: bool
) -> None:
    table = make_stream_table(partitions=3, rows=20)
    control = table.control()
    _while_controller_dies(pinot, table, lambda: pause(control), paused=True)
    status = control.status()
    assert status.state is TableState.PAUSED
    assert [each.committed_offset for each in status.partitions] == ["20"] * 3
    table.produce(20)
    if full:
        _while_controller_dies(pinot, table, lambda: resume(control), paused=False)
    else:
        resume(control)
    table.produce(20)
    table.wait_rows()


def test_a_commit_that_a_killed_controller_left_unfinished(make_stream_table: MakeTable) -> None:
    """It has written the records of both segments, but not the ideal state, which Pinot does not repair."""
    table = make_stream_table(partitions=2, rows=20)
    control = table.control()
    pause(control)
    path = ideal_state_path(table.store, table.table)
    sealed = control.ideal().segments

    def unfinished(present: ZNRecord | None) -> ZNRecord:
        assert present is not None
        states = {name: dict.fromkeys(servers, "CONSUMING") for name, servers in sealed.items()}
        return replace(present, map_fields=states)

    table.store.change_at(path, unfinished)
    assert control.status().state is TableState.PAUSING
    pause(control)
    assert control.ideal().segments == sealed
    resume(control)
    table.produce(20)
    table.wait_rows()


@FULL  # waits for the end of a server's session and for its start
@DISTURBS
def test_a_pause_names_the_missing_server(make_stream_table: MakeTable, pinot: PinotCluster) -> None:
    table = make_stream_table(partitions=2, rows=20)
    control = table.control()
    servers = {name for names in control.ideal().consuming.values() for name in names}
    assert len(servers) == 2, "a partition on each server"
    away = next(name for name in servers if ".22_" in name)
    pinot.kill("server_2")
    try:
        wait_for(lambda: away not in table.store.live_instances(), "the server's session to end")
        with pytest.raises(WaitTimeoutError) as caught:
            pause(control, timeout_s=10)
        assert f"on {away} (not connected)" in caught.value.message
        assert control.status().state is TableState.PAUSING
    finally:
        pinot.start("server_2")
    pause(control)
    assert control.status().state is TableState.PAUSED
    resume(control)
    table.produce(20)
    table.wait_rows()
