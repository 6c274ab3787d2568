"""A pause and a resume while the controller is killed during the call, and a pause while a server is down."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from controller_client.consumption import TableState, pause, resume
from controller_client.errors import WaitTimeoutError
from controller_client.helix.ideal_state import read_flags
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import StreamTable
from tests.support.cluster import PinotCluster
from tests.support.scheduling import DISTURBS
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_TIMEOUT_S = 300.0


def _while_controller_dies(
    pinot: PinotCluster, table: StreamTable, call: Callable[[], object], *, paused: bool
) -> None:
    """Kill the controller as soon as the flag has changed, and restart it, all during the call."""
    faults: list[BaseException] = []

    def calling() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001  # asserted below
            faults.append(error)

    thread = threading.Thread(target=calling)
    thread.start()
    try:
        wait_for(
            lambda: read_flags(table.store, table.table).table_paused is paused, "the flag", interval_s=0.002
        )
        pinot.kill("controller")
    finally:
        pinot.start("controller")
        thread.join()
    assert not faults, faults


@DISTURBS
def test_the_controller_is_killed_between_the_flag_and_the_message(
    make_stream_table: MakeTable, pinot: PinotCluster
) -> None:
    table = make_stream_table(partitions=3)
    table.produce(20)
    table.wait_rows()
    control = table.control()
    _while_controller_dies(pinot, table, lambda: pause(control, timeout_s=_TIMEOUT_S), paused=True)
    status = control.status()
    assert status.state is TableState.PAUSED
    assert [each.committed_offset for each in status.partitions] == ["20"] * 3
    table.produce(20)
    _while_controller_dies(pinot, table, lambda: resume(control, timeout_s=_TIMEOUT_S), paused=False)
    table.produce(20)
    table.wait_rows()


@FULL  # waits for the end of a server's session and for its start
@DISTURBS
def test_a_pause_names_the_missing_server(make_stream_table: MakeTable, pinot: PinotCluster) -> None:
    table = make_stream_table(partitions=2)
    table.produce(20)
    table.wait_rows()
    control = table.control()
    server = {name for names in control.ideal().consuming.values() for name in names}
    assert len(server) == 2, "a partition on each server"
    pinot.kill("server_2")
    try:
        away = next(name for name in server if ".22_" in name)
        wait_for(lambda: away not in table.store.live_instances(), "the server's session to end")
        with pytest.raises(WaitTimeoutError) as caught:
            pause(control, timeout_s=10)
        assert f"on {away} (not connected)" in caught.value.message
        assert control.status().state is TableState.PAUSING
    finally:
        pinot.start("server_2")
    pause(control, timeout_s=_TIMEOUT_S)
    assert control.status().state is TableState.PAUSED
    resume(control, timeout_s=_TIMEOUT_S)
    table.produce(20)
    table.wait_rows()
