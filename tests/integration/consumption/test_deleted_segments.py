"""A partition's newest segments are deleted: before, the command warns; after, the resume asks."""

from __future__ import annotations

import pytest

from controller_client.consumption import pause, resume
from controller_client.consumption.state.status import TableState
from controller_client.errors import LostEndError, UnsafeDeleteError
from controller_client.helix.stream_segments import newest_by_partition
from controller_client.rest.delete_risks import DeleteRisk
from tests.integration.consumption.conftest import MakeTable
from tests.integration.consumption.stream_table import StreamTable
from tests.integration.pinotctl.conftest import Run
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_GONE_S = 120.0


def _newest(table: StreamTable, partition: int = 0) -> str:
    return newest_by_partition(table.control().ideal().segments)[partition].name


@pytest.mark.parametrize("partitions", [2, pytest.param(1, marks=FULL)])
def test_the_newest_segment_of_a_paused_partition(
    make_stream_table: MakeTable, run: Run, partitions: int
) -> None:
    table = make_stream_table(partitions=partitions, rows=20)
    control = table.control()
    pause(control)
    name = _newest(table)
    with pytest.raises(UnsafeDeleteError, match=r"DeleteRisk\.START_OFFSET"):
        table.client.segments.delete(table.table, [name])
    command = ("segment", "delete", table.table, name)
    warning = f"START_OFFSET: {name} is the newest segment of partition 0, which does not consume: the next"
    assert f"{warning} one starts at the stream's first row" in run(*command, "--dry-run").stderr
    assert warning in run.error(*command, stdin="n\n")
    assert _newest(table) == name
    deleted = run.read(*command, "--yes")
    assert [each["risk"] for each in deleted["consequences"]] == ["START_OFFSET"]

    sentence = "the newest segments of partition 0 are gone: Pinot would continue at the stream's first row"
    assert sentence in run("consumption", "status", table.table).stdout
    assert sentence in run("consumption", "resume", table.table, "--dry-run").stderr
    with pytest.raises(LostEndError, match="although its rows end at offset 20"):
        resume(control)
    asked = run.error("consumption", "resume", table.table, stdin="n\n")
    assert "--consume-from 0=20" in asked
    run.error("consumption", "resume", table.table, code=2)  # nobody can be asked
    assert control.status().state is TableState.PAUSED

    # Where its rows ended: the deleted ones are not read again.
    table.produced -= set(range(0, 20 * partitions, partitions))
    run("consumption", "resume", table.table, "--consume-from", "0=20")
    table.produce(5)
    table.wait_rows()
    table.settled()


@FULL
def test_rows_are_read_again_if_the_user_agrees(make_stream_table: MakeTable, run: Run) -> None:
    table = make_stream_table(partitions=2, rows=20)
    control = table.control()
    pause(control)
    resume(control)
    table.produce(10)
    table.wait_rows()
    pause(control)
    name = _newest(table)
    table.client.segments.delete(table.table, [name], accept=[DeleteRisk.START_OFFSET])
    table.client.segments.wait_gone(table.table, [name], _GONE_S)
    assert (
        "continue at offset 20, although its rows end at offset 30"
        in run("consumption", "resume", table.table, stdin="y\n").stderr
    )
    table.wait_rows()


def test_a_consuming_segment(make_stream_table: MakeTable, run: Run) -> None:
    table = make_stream_table(partitions=2, rows=20)
    name = _newest(table)
    command = ("segment", "delete", table.table, name)
    assert f"CONSUMING: partition 0 consumes {name}: its rows are not stored yet" in run.error(
        *command, stdin="n\n"
    )
    run(*command, "--yes")
    assert (
        "Create a segment for partition 0 from the stream's first offset"
        in run("consumption", "recreate", table.table).stderr
    )
    table.wait_rows()
