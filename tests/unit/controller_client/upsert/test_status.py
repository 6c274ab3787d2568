from __future__ import annotations

import json

from controller_client.common.names import TableName
from controller_client.upsert.coordinator_state import (
    CoordinatorPhase,
    CoordinatorState,
    read_coordinator_state,
)
from controller_client.upsert.low_water_mark import TableMark
from controller_client.upsert.record import (
    LOCK,
    CoordinatorRecord,
    PartitionProgress,
    ServerRecord,
    write_coordinator,
)
from controller_client.upsert.status import UpsertStatus
from tests.unit.memory_zookeeper import memory_store

CREATED = 3
PROGRESS = {1: PartitionProgress(None, 5, 8), 0: PartitionProgress("t__0__3__x", 9, 7)}


def status(coordinator: CoordinatorRecord | None, **servers: ServerRecord | None) -> UpsertStatus:
    state = CoordinatorState(coordinator, None, has_begun=False)
    return UpsertStatus(TableMark(TableName("t_REALTIME"), CREATED, servers), state, now_ms=20_000)


def test_lag_and_which_server_holds_the_mark_back() -> None:
    fast = ServerRecord("A", "s", 9, 19_000, PROGRESS, created=CREATED)
    slow = ServerRecord("B", "s", 7, 12_500, created=CREATED)
    found = status(CoordinatorRecord(1, 0, 10, 19_900, 1234), A=fast, B=slow)
    assert (found.lag_versions, found.lag_s, found.is_well) == (3, 7.5, True)
    assert found.rows() == [
        ("A", 9, 0, "t__0__3__x", 9, 7, False),
        ("A", 9, 1, None, 5, 8, False),
        ("B", 7, None, None, None, None, True),
    ]
    text = "\n".join(found.lines())
    for part in ("at version 7", "3 versions and 7.5 s behind", "held back by B", "1,234 keys"):
        assert part in text
    assert found.to_json()["partitions"][0]["segment"] == "t__0__3__x"


def test_nothing_is_behind() -> None:
    record = ServerRecord("A", "s", 9, 1, PROGRESS, created=CREATED)
    found = status(CoordinatorRecord(1, 0, 9), A=record)
    assert (found.lag_versions, found.lag_s, found.mark.holders) == (0, 0.0, ())
    assert "behind" not in "\n".join(found.lines())


def test_a_server_without_a_report() -> None:
    found = status(None, A=ServerRecord("A", "s", 9, 1, created=CREATED), B=None)
    assert (found.is_well, found.lag_versions, found.lag_s) == (False, None, None)
    text = "\n".join(found.lines())
    assert "no mark: B has not reported" in text
    assert "never been started" in text
    assert found.rows()[1] == ("B", None, None, None, None, None, True)


def test_a_starting_key_coordinator_differs_from_one_never_started() -> None:
    store, zookeeper = memory_store()
    table = TableName("t_REALTIME")

    def state() -> tuple[CoordinatorPhase, str]:
        found = read_coordinator_state(store, table)
        return found.phase, found.line()

    assert state()[0] is CoordinatorPhase.NEVER_STARTED
    lock = f"/c/PINOT_PLUGINS/locks/{table}/{LOCK}"
    holder = {"owner": "me@here:7", "host": "here", "pid": 7, "since_epoch_s": 0.0}
    zookeeper.znodes[f"{lock}/a__lock__0000000001"] = (json.dumps(holder).encode(), 0)
    phase, line = state()
    assert (phase, "is starting" in line, "me@here:7" in line) == (CoordinatorPhase.STARTING, True, True)
    zookeeper.znodes[f"/c/PINOT_PLUGINS/upsert/{table}/generation"] = (b"{}", 0)
    assert state()[0] is CoordinatorPhase.STARTING
    write_coordinator(store, table, CoordinatorRecord(1, 0, 10, 19_900, 1234))
    assert state() == (CoordinatorPhase.RUNNING, "key coordinator: generation 1, version 10, 1,234 keys")
    # Its process is gone.
    del zookeeper.znodes[f"{lock}/a__lock__0000000001"]
    phase, line = state()
    assert (phase, "it is not running" in line) == (CoordinatorPhase.STOPPED, True)
    del zookeeper.znodes[f"/c/PINOT_PLUGINS/upsert/{table}/coordinator"]
    phase, line = state()
    assert (phase, "has not sent a version" in line) == (CoordinatorPhase.STOPPED, True)
