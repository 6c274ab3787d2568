from __future__ import annotations

import pytest

from controller_client.deepstore.checks import Check, Verdict, check_controller, check_server, check_table
from controller_client.deepstore.judge import Replica, Stored, StoredState, judge
from controller_client.deepstore.policy import StorePolicy
from controller_client.deepstore.safe_to_stop import Safety, SegmentState, judge_server
from controller_client.models import TableConfig
from controller_client.rest.capabilities import PinotVersion
from tests.unit.controller_client.deepstore.samples import record

URL = "s3://b/t/s"
ROOT = "s3://b/segments"
STORE = StorePolicy.STORE


@pytest.mark.parametrize(
    ("replicas", "stored", "at_risk"),
    [
        ([Replica("a", "ONLINE", 7), Replica("b", "ONLINE", 7)], None, False),
        ([Replica("a", "ONLINE"), Replica("b", "ONLINE", 7)], None, False),
        ([Replica("a", "ONLINE", 7), Replica("b", "ONLINE")], None, True),
        ([Replica("a", "ONLINE")], None, True),
        ([Replica("a", "ERROR")], None, True),
        ([Replica("a", "ONLINE"), Replica("b", "ERROR")], None, True),
        ([Replica("a", "ONLINE", 7), Replica("b", "ONLINE", 8)], None, True),
        ([Replica("a", "ONLINE")], Stored(StoredState.PRESENT, 5), False),
        ([Replica("a", "ONLINE")], Stored(StoredState.ABSENT), True),
        ([Replica("a", "ONLINE")], Stored(StoredState.UNKNOWN, why="no rights"), True),
    ],
)
def test_a_committed_segment(replicas: list[Replica], stored: Stored | None, at_risk: bool) -> None:
    judged = judge(record(crc=7, url=URL if stored else ""), tuple(replicas), stored, 2)
    found = judge_server(judged, "a")
    assert (found is not None) == at_risk
    assert found is None or (found.state is SegmentState.COMMITTED and found.reason)


def test_a_silent_server_is_named_as_the_reason() -> None:
    replicas = (Replica("a", "ONLINE", 7), Replica("b", "ONLINE"))
    found = judge_server(judge(record(crc=7), replicas, None, 1), "a")
    assert found is not None
    assert "no checksum from b" in found.reason


def test_a_consuming_segment() -> None:
    consuming = record(status="IN_PROGRESS")
    both = (Replica("a", "CONSUMING"), Replica("b", "CONSUMING"))
    assert judge_server(judge(consuming, both, None, 2), "a") is None
    alone = judge_server(judge(consuming, both[:1], None, 2), "a")
    assert alone is not None
    assert alone.state is SegmentState.CONSUMING
    assert Safety("a", 0, (alone,)).safe


@pytest.mark.parametrize(
    ("other", "at_risk"), [("CONSUMING", False), ("ONLINE", False), ("ERROR", True), (None, True)]
)
def test_a_segment_that_is_being_built(other: str | None, at_risk: bool) -> None:
    replicas = (Replica("a", "CONSUMING"), *((Replica("b", other),) if other else ()))
    found = judge_server(judge(record(status="COMMITTING"), replicas, None, 2), "a")
    assert (found is not None) == at_risk
    # The table already consumes later rows: without the server, these are missing until consumed again.
    if found is not None:
        assert found.state is SegmentState.COMMITTING
        assert not Safety("a", 0, (found,)).safe


def texts(checks: list[Check], verdict: Verdict) -> str:
    return "; ".join(check.text for check in checks if check.verdict is verdict)


GOOD = {
    "pinot.server.instance.segment.store.uri": ROOT + "/",
    "pinot.server.storage.factory.class.s3": "S3PinotFS",
}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({}, ""),
        ({"pinot.server.instance.segment.store.uri": ""}, "never upload"),
        ({"pinot.server.instance.segment.store.uri": "hdfs://n/segments"}, "cannot be moved"),
        ({"pinot.server.storage.factory.class.s3": None}, "cannot reach"),
        ({"pinot.server.instance.enable.split.commit": "false"}, "split.commit"),
    ],
)
def test_a_server(change: dict[str, str | None], word: str) -> None:
    config = {key: value for key, value in {**GOOD, **change}.items() if value is not None}
    wrong = texts(check_server("a", config, ROOT, "http", STORE), Verdict.WRONG)
    assert bool(wrong) == bool(word)
    assert word in wrong


def test_https_needs_a_fetcher() -> None:
    assert "lacks https" in texts(check_server("a", GOOD, ROOT, "https", STORE), Verdict.WRONG)
    config = {**GOOD, "pinot.server.segment.fetcher.protocols": "file,https"}
    assert not texts(check_server("a", config, ROOT, "https", STORE), Verdict.WRONG)


def test_a_controller() -> None:
    old, new = PinotVersion(0, 11), PinotVersion(1, 3)
    checks = check_controller({"controller.data.dir": ROOT}, old, STORE)
    assert not texts(checks, Verdict.WRONG)
    assert "up to 10 s" in texts(checks, Verdict.NOTE)
    assert "up to 300 s" in texts(check_controller({"controller.data.dir": ROOT}, new, STORE), Verdict.NOTE)
    assert "folder on the controller" in texts(
        check_controller({"controller.data.dir": "/d"}, old, STORE), Verdict.WRONG
    )
    config = {"controller.data.dir": ROOT, "controller.enable.split.commit": "false"}
    assert "split.commit" in texts(check_controller(config, old, STORE), Verdict.WRONG)


def test_a_table() -> None:
    def config(kind: str, replicas: str) -> TableConfig:
        segments = {"replicasPerPartition": replicas}
        return TableConfig.from_json({"tableName": "t", "tableType": kind, "segmentsConfig": segments})

    assert "REALTIME" in texts(check_table(config("OFFLINE", "2"), STORE, 2), Verdict.WRONG)
    assert "only copy" in texts(check_table(config("REALTIME", "1"), STORE, 2), Verdict.NOTE)
    assert texts(check_table(config("REALTIME", "2"), STORE, 2), Verdict.OK) == "2 replicas"
