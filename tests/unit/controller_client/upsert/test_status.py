from __future__ import annotations

from controller_client.common.names import TableName
from controller_client.upsert.low_water_mark import TableMark
from controller_client.upsert.record import CoordinatorRecord, PartitionProgress, ServerRecord
from controller_client.upsert.status import UpsertStatus

PROGRESS = {1: PartitionProgress(None, 5, 8), 0: PartitionProgress("t__0__3__x", 9, 7)}


def status(coordinator: CoordinatorRecord | None, **servers: ServerRecord | None) -> UpsertStatus:
    return UpsertStatus(TableMark(TableName("t_REALTIME"), servers), coordinator, now_ms=20_000)


def test_lag_and_who_holds_the_mark() -> None:
    fast, slow = ServerRecord("A", "s", 9, 19_000, PROGRESS), ServerRecord("B", "s", 7, 12_500)
    found = status(CoordinatorRecord(1, 0, 10, 19_900, 1234), A=fast, B=slow)
    assert (found.lag_versions, found.lag_s, found.is_well) == (3, 7.5, True)
    assert found.rows() == [
        ("A", 9, 0, "t__0__3__x", 9, 7, False),
        ("A", 9, 1, None, 5, 8, False),
        ("B", 7, None, None, None, None, True),
    ]
    text = "\n".join(found.lines())
    for part in ("at version 7", "3 versions and 7.5 s behind", "held by B", "1,234 keys"):
        assert part in text
    assert found.to_json()["partitions"][0]["segment"] == "t__0__3__x"


def test_nothing_is_behind() -> None:
    record = ServerRecord("A", "s", 9, 1, PROGRESS)
    found = status(CoordinatorRecord(1, 0, 9), A=record)
    assert (found.lag_versions, found.lag_s, found.mark.holders) == (0, 0.0, ())
    assert "behind" not in "\n".join(found.lines())


def test_a_server_that_told_nothing() -> None:
    found = status(None, A=ServerRecord("A", "s", 9, 1), B=None)
    assert (found.is_well, found.lag_versions, found.lag_s) == (False, None, None)
    text = "\n".join(found.lines())
    assert "no mark: B has not reported" in text
    assert "never been started" in text
    assert found.rows()[1] == ("B", None, None, None, None, None, True)
