"""Pauses of single partitions: what is waited for."""

from __future__ import annotations

import pytest

from controller_client.consumption.partitions import pause_partitions
from controller_client.consumption.state.partition_record import PartitionReport, write_report
from controller_client.errors import WaitTimeoutError
from controller_client.zookeeper import ZNRecord
from tests.unit.controller_client.consumption.worlds import World, segment


@pytest.mark.parametrize("is_connected", [True, False])
def test_a_server_that_has_not_confirmed_a_pause_is_named(is_connected: bool) -> None:
    world = World()
    world.ideal({segment(0, 0): "CONSUMING"})
    world.open(0, 0, 0)
    write_report(world.store, PartitionReport("s1", "its session"))
    if is_connected:
        live = ZNRecord("s1", {"SESSION_ID": "its session"})
        world.zookeeper.znodes["/c/LIVEINSTANCES/s1"] = (live.to_bytes(), 0)
    with pytest.raises(WaitTimeoutError, match="partition 0 still consumes on s1") as caught:
        pause_partitions(world.control, [0], timeout_s=1)
    assert ("s1, which is not connected to the cluster" in caught.value.message) != is_connected
