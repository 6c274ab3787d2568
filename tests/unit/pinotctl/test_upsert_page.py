"""The page of ``pinotctl upsert status``, and its next steps."""

from __future__ import annotations

import pytest

from controller_client.common.console import Console
from controller_client.common.names import TableName
from controller_client.upsert.coordinator_state import CoordinatorState
from controller_client.upsert.low_water_mark import TableMark
from controller_client.upsert.next_steps import next_steps
from controller_client.upsert.record import CoordinatorRecord, PartitionProgress, ServerRecord
from controller_client.upsert.status import UpsertStatus
from controller_client.zookeeper import LockHolder
from pinotctl.pages.upsert import upsert_page

TABLE = TableName("t_REALTIME")
NAME = "<b>\"'\x1b"
SENT = CoordinatorRecord(1, 0, 10, 19_900, 1234, {"rows a second": "61"})
HOLDER = LockHolder("me@here:7", "here", 7, 0.0)
PROGRESS = {0: PartitionProgress("t__0__3__x", 9, 7), 1: PartitionProgress(None, 5, 8)}
FAST = ServerRecord("A", "s", 10, 19_000, PROGRESS, created=3)
NOTHING = ServerRecord("A", "s", -1, 0, created=3)
SLOW = ServerRecord("B", "s", 7, 12_500, created=3)


def status(
    servers: dict[str, ServerRecord | None],
    sent: CoordinatorRecord | None = SENT,
    *,
    runs: bool = True,
    now_ms: int = 20_000,
) -> UpsertStatus:
    state = CoordinatorState(sent, HOLDER if runs else None, has_begun=sent is not None)
    return UpsertStatus(TableMark(TABLE, 3, servers), state, now_ms)


BEHIND = status({"A": FAST, "B": SLOW})


def test_marks_and_what_holds_them() -> None:
    page = upsert_page(BEHIND, Console("http://me:secret@host:9000"))
    assert '<a href="http://host:9000/#/tenants/table/t_REALTIME/t__0__3__x">t__0__3__x</a>' in page
    assert '<a href="http://host:9000/#/instance/B">B</a>' in page
    assert "secret" not in page
    for line in BEHIND.lines():
        assert f"<p>{line}</p>" in page
    assert '<td class="number" data-head="versions behind">3<span class="meter">' in page
    assert page.count('<td data-head="holds the mark back">yes</td>') == 1
    assert "<dt>rows a second</dt><dd>61</dd>" in page
    assert "<dt>run by</dt><dd>" in page


def test_names_do_nothing() -> None:
    sent = CoordinatorRecord(1, 0, 10, 19_900, 1, {NAME: NAME})
    record = ServerRecord(NAME, "s", 9, 1, {0: PartitionProgress(NAME, 1, 1)}, created=3)
    page = upsert_page(status({NAME: record, f"{NAME}2": None}, sent, runs=False), Console("http://host"))
    assert "<b>" not in page.replace("<div><b>", "")
    assert "\x1b" not in page
    assert r"&lt;b&gt;&#34;&#39;\x1b" in page


def test_without_servers_that_is_reported() -> None:
    page = upsert_page(status({}, None, runs=False), Console())
    assert "No live server has a segment of the table." in page
    assert "No server has reported a partition." in page
    assert "<a " not in page


AGAIN = "pinotctl upsert status t_REALTIME"
COORDINATE = "pinotctl upsert coordinate t_REALTIME --checkpoint FOLDER"


@pytest.mark.parametrize(
    ("found", "commands"),
    [
        (BEHIND, ["pinotctl upsert watermark t_REALTIME --wait-produced"]),
        (status({"A": FAST}), ["pinotctl upsert watermark t_REALTIME --wait-produced"]),
        (status({}, runs=False), ["pinotctl instance list --live", COORDINATE, AGAIN]),
        (status({"A": FAST, "B": None}), ["pinotctl serve server", AGAIN]),
        (status({"A": FAST}, runs=False), [COORDINATE, AGAIN]),
        (status({"A": FAST}, None), [AGAIN]),
        (status({"A": FAST, "B": SLOW}, now_ms=90_000), ["pinotctl consumption status t_REALTIME", AGAIN]),
        (status({"A": NOTHING}), ["pinotctl consumption status t_REALTIME", AGAIN]),
    ],
)
def test_what_to_do_next(found: UpsertStatus, commands: list[str]) -> None:
    assert [command for step in next_steps(found) for command in step.commands] == commands
