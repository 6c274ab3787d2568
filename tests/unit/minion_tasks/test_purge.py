from __future__ import annotations

import pytest

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.config import ControllerConfig
from controller_client.errors import RejectedError
from controller_client.rest.lineage import LineageEntry, LineageState
from minion_tasks.file_ingestion.run.purge import check_purgeable, purge, purgeable
from tests.unit.controller_client.scripted_server import ScriptedServer, answer
from tests.unit.counted_name import CountedName, cost
from tests.unit.memory_zookeeper import MemoryPropertyStore

HOUR_MS = 3_600_000
COMPLETED, IN_PROGRESS, REVERTED = LineageState.COMPLETED, LineageState.IN_PROGRESS, LineageState.REVERTED


def _entry(state: LineageState, before: str, after: str, *, age_ms: int = 2 * HOUR_MS) -> LineageEntry:
    return LineageEntry(f"{before}-{after}", state, tuple(before), tuple(after), 100 * HOUR_MS - age_ms)


def _purgeable(*entries: LineageEntry, present: str = "abcdef") -> list[str]:
    return purgeable(entries, set(present), now_ms=100 * HOUR_MS, older_than_s=3600)


@pytest.mark.parametrize(
    ("age_ms", "expected"), [(HOUR_MS - 1, []), (HOUR_MS, ["a", "b"]), (HOUR_MS + 1, ["a", "b"])]
)
def test_replaced_segments_are_purged_after_their_retention_period(age_ms: int, expected: list[str]) -> None:
    assert _purgeable(_entry(COMPLETED, "ab", "c", age_ms=age_ms)) == expected


@pytest.mark.parametrize("state", [IN_PROGRESS, REVERTED])
def test_segments_of_an_entry_that_is_not_completed_are_kept(state: LineageState) -> None:
    assert _purgeable(_entry(state, "ab", "c")) == []


def test_missing_segments_are_not_deleted_again() -> None:
    assert _purgeable(_entry(COMPLETED, "ab", "c"), present="bc") == ["b"]


@pytest.mark.parametrize(("before", "after"), [("a", "d"), ("d", "a")])
def test_segments_of_an_open_entry_are_kept(before: str, after: str) -> None:
    assert _purgeable(_entry(COMPLETED, "ab", "c"), _entry(IN_PROGRESS, before, after)) == ["b"]


def test_segments_of_a_reverted_entry_may_be_purged() -> None:
    assert _purgeable(_entry(COMPLETED, "ab", "c"), _entry(REVERTED, "a", "d")) == ["a", "b"]


def test_segments_replaced_one_after_the_other_are_purged_together() -> None:
    first = _entry(COMPLETED, "a", "b", age_ms=3 * HOUR_MS)
    assert _purgeable(first, _entry(COMPLETED, "b", "c")) == ["a", "b"]
    assert _purgeable(first, _entry(COMPLETED, "b", "c", age_ms=1)) == ["a"]


def test_where_pinot_protects_them_nothing_is_asked_for() -> None:
    store = MemoryPropertyStore()
    with ScriptedServer() as server, ControllerClient(ControllerConfig(server.url)) as client:
        server.answers = lambda _seen: answer(200, {"pinot-controller": "1.6.0"})
        table = TableName("t_OFFLINE")
        assert purge(client, store, table, now_ms=0, older_than_s=0) == []
        with pytest.raises(RejectedError, match=r"Pinot 1\.6\.0 deletes replaced segments itself"):
            check_purgeable(client, table)
        assert [seen.path for seen in server.requests] == ["/version"]


def _cost(entries: int) -> int:
    names = [CountedName(f"s_{number}") for number in range(entries + 1)]
    lineage = [
        LineageEntry(str(at), COMPLETED if at % 2 else IN_PROGRESS, (names[at],), (names[at + 1],), 0)
        for at in range(entries)
    ]
    return cost(lambda: purgeable(lineage, names, now_ms=100 * HOUR_MS, older_than_s=3600))


def test_the_cost_grows_linearly_with_the_entries() -> None:
    assert 0 < _cost(1600) <= 4.5 * _cost(400)
