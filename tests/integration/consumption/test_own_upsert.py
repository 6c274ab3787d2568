"""A table with Pinot's own partial upsert, for which Pinot 1.5 does not force commits."""

from __future__ import annotations

import pytest

from controller_client.consumption import TableState, force_commit, pause
from controller_client.consumption.pause_record import read_record
from controller_client.consumption.recovering import recover
from controller_client.errors import RejectedError
from tests.integration.consumption.conftest import MakeTable
from tests.support.needs import Need, inside

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]


@inside(Need.COMMITS_REFUSED)
def test_a_partial_upsert(make_stream_table: MakeTable) -> None:
    table = make_stream_table(partitions=1, own={"upsertConfig": {"mode": "PARTIAL"}})
    control = table.control()
    table.produce(20)
    table.wait_rows()
    for call in (
        lambda: pause(control, timeout_s=30),
        lambda: force_commit(control, timeout_s=30),
        lambda: recover(control, timeout_s=30, report=lambda _line: None),
    ):
        with pytest.raises(RejectedError, match=f"Pinot refuses forced commits of {table.table}") as refused:
            call()
        assert "pinot.server.consuming.segment.consistency.mode to PROTECTED" in str(refused.value)
    assert control.status().state is TableState.CONSUMING
    assert read_record(table.store, table.table) is None
    assert [text.partition(":")[0] for text in control.upsert_warnings()] == ["partial upsert"] * 2
