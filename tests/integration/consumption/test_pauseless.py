"""Tables whose next segment consumes while the previous one is still built (Pinot 1.4 and later)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from controller_client.consumption import PartitionState, TableState, force_commit, pause, resume
from controller_client.consumption.recipes.recovering import recover
from controller_client.errors import WaitTimeoutError
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import StreamTable
from tests.integration.pinotctl.conftest import Run
from tests.support.cluster import PinotCluster
from tests.support.needs import Need, inside
from tests.support.pinot_services import SERVER_ADDRESSES
from tests.support.scheduling import DISTURBS
from tests.support.wait import wait_for, watch_unchanged

pytestmark = [pytest.mark.cluster, pytest.mark.kafka, inside(Need.PAUSELESS_TABLES)]

_ROWS = 400_000
"""Building a segment with this number of rows takes long enough to kill its server meanwhile."""


def _audit(run: Run, table: StreamTable, **options: int) -> Any:
    found = run.read("deepstore", "audit", table.name, "--min-copies", "1", "--read-tars", **options)
    return found["tables"][0]


def test_a_pause_waits_until_all_segments_are_built(make_stream_table: MakeTable, run: Run) -> None:
    table = make_stream_table(partitions=2, replicas=2, rows_per_segment=80, pauseless=True)
    control = table.control()
    for _ in range(3):
        table.produce(200)
        pause(control)
        assert control.committing() == []
        assert control.servers_consume() == {}
        assert control.status().state is TableState.PAUSED
        committed = table.committed_rows()
        table.produce(5)
        wait_for(lambda rows=committed: table.counts()[0] == rows, "exactly the committed rows")  # type: ignore[misc]  # a default that binds
        watch_unchanged(table.counts, table.counts())
        found = _audit(run, table)
        assert (found["faulty"], found["consuming"], found["committing"]) == ([], 0, 0)
        assert resume(control).jumps == ()
    table.wait_rows()
    open_before = set(control.ideal().consuming)
    assert set(force_commit(control, timeout_s=300)) == open_before
    assert control.committing() == []
    table.produce(50)
    table.wait_rows()


@DISTURBS
def test_a_segment_whose_server_dies_before_it_is_built(
    make_stream_table: MakeTable, pinot: PinotCluster, run: Run
) -> None:
    # How long the server then waits for others to build the segment: ten minutes by default.
    stream = {"realtime.segment.pauseless.download.timeoutSeconds": "5"}
    table = make_stream_table(
        partitions=1, rows_per_segment=10 * _ROWS, pauseless=True, rows=_ROWS, stream=stream
    )
    control = table.control()
    (segment,), (server,) = control.ideal().consuming, next(iter(control.ideal().consuming.values()))
    role = next(name for name, (address, _port) in SERVER_ADDRESSES.items() if address in server)
    pause(control, wait=False)
    wait_for(lambda: control.committing(), "the commit to begin", interval_s=0)
    pinot.kill(role)
    try:
        (building,) = control.committing()
        assert (building.segment.name, building.end_offset) == (segment, str(_ROWS))
        # Pinot itself reports that all is paused, since no segment consumes by the ideal state.
        assert not control.client.consumption.pause_status(table.table).consuming_segments
        wait_for(lambda: segment not in control.servers_consume(), "the server to be gone")
        with pytest.raises(WaitTimeoutError, match=f"consumed, but not yet built: partition 0 .{segment}"):
            pause(control, timeout_s=3)
        status = control.status()
        assert status.state is TableState.PAUSING
        (partition,) = status.partitions
        assert (partition.state, partition.building) == (PartitionState.COMMITTING, (segment,))
        assert (partition.offset, partition.committed_offset) == (str(_ROWS), None)
        found = _audit(run, table, code=1)
        assert found["committing"] == 1
        (lost,) = found["faulty"]
        assert [each["fault"] for each in lost["findings"]] == ["not_built"]
    finally:
        pinot.start(role)
    view = partial(table.client.tables.external_view, table.table)
    wait_for(lambda: view().get(segment) == {server: "ERROR"}, "the segment to be in ERROR")
    reported: list[str] = []
    recover(control, timeout_s=300, report=reported.append)
    assert reported[0] == f"have Pinot consume {segment} again"
    assert control.committing() == []
    table.produce(50)
    table.wait_rows()
    table.settled()
