from __future__ import annotations

import pytest

from controller_client.deepstore.checks import Check, CheckResult, check_controller, check_server, check_table
from controller_client.deepstore.judge import Replica, Stored, StoredState, judge
from controller_client.deepstore.policy import StorePolicy
from controller_client.deepstore.safe_to_stop import Safety, SegmentState, judge_servers
from controller_client.models import TableConfig
from controller_client.rest.capabilities import PinotVersion
from tests.unit.controller_client.deepstore.samples import record

URL = "s3://b/t/s"
ROOT = "s3://b/segments"
SERVERS, STORE = StorePolicy.SERVERS, StorePolicy.STORE


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
        ([Replica("a", "ONLINE")], Stored(StoredState.PRESENT, 5, proven=True), False),
        ([Replica("a", "ONLINE")], Stored(StoredState.PRESENT, 1), True),
        ([Replica("a", "ONLINE")], Stored(StoredState.ABSENT), True),
        ([Replica("a", "ONLINE")], Stored(StoredState.UNKNOWN, why="no rights"), True),
    ],
)
def test_a_committed_segment(replicas: list[Replica], stored: Stored | None, at_risk: bool) -> None:
    judged = judge(record(crc=7, url=URL if stored else ""), tuple(replicas), stored, 2)
    found = judge_servers(judged, ["a"])
    assert (found is not None) == at_risk
    assert found is None or (found.state is SegmentState.COMMITTED and found.reason)


def test_servers_that_stop_together_are_no_copies_for_each_other() -> None:
    replicas = tuple(Replica(server, "ONLINE", 7) for server in "abc")
    judged = judge(record(crc=7), replicas[:2], None, 2)
    assert judge_servers(judged, ["a"]) is None
    assert judge_servers(judged, ["b"]) is None
    assert judge_servers(judged, ["a", "b"]) is not None
    assert judge_servers(judge(record(crc=7), replicas, None, 2), ["a", "b"]) is None
    both = (Replica("a", "CONSUMING"), Replica("b", "CONSUMING"))
    assert judge_servers(judge(record(status="IN_PROGRESS"), both, None, 2), ["a", "b"]) is not None


def test_a_silent_server_is_named_as_the_reason() -> None:
    replicas = (Replica("a", "ONLINE", 7), Replica("b", "ONLINE"))
    found = judge_servers(judge(record(crc=7), replicas, None, 1), ["a"])
    assert found is not None
    assert "no checksum from b" in found.reason


def test_a_consuming_segment() -> None:
    consuming = record(status="IN_PROGRESS")
    both = (Replica("a", "CONSUMING"), Replica("b", "CONSUMING"))
    assert judge_servers(judge(consuming, both, None, 2), ["a"]) is None
    alone = judge_servers(judge(consuming, both[:1], None, 2), ["a"])
    assert alone is not None
    assert alone.state is SegmentState.CONSUMING
    assert Safety(("a",), 0, (alone,)).safe


@pytest.mark.parametrize(
    ("other", "at_risk"), [("CONSUMING", False), ("ONLINE", False), ("ERROR", True), (None, True)]
)
def test_a_segment_that_is_being_built(other: str | None, at_risk: bool) -> None:
    replicas = (Replica("a", "CONSUMING"), *((Replica("b", other),) if other else ()))
    found = judge_servers(judge(record(status="COMMITTING"), replicas, None, 2), ["a"])
    assert (found is not None) == at_risk
    # The table already consumes later rows: without the server, these are missing until consumed again.
    if found is not None:
        assert found.state is SegmentState.COMMITTING
        assert not Safety(("a",), 0, (found,)).safe


def texts(checks: list[Check], verdict: CheckResult) -> str:
    return "; ".join(check.text for check in checks if check.verdict is verdict)


FILE_SYSTEM, URI = "pinot.server.storage.factory.class.s3", "pinot.server.instance.segment.store.uri"
GOOD = {URI: ROOT + "/", FILE_SYSTEM: "S3PinotFS"}
FETCHERS = {"pinot.server.segment.fetcher.protocols": "file,https"}


@pytest.mark.parametrize(
    ("policy", "config", "scheme", "word"),
    [
        (STORE, GOOD, "http", ""),
        (STORE, {**GOOD, URI: ""}, "http", "never upload"),
        (STORE, {**GOOD, URI: "hdfs://n/segments"}, "http", "cannot be moved"),
        (STORE, {URI: ROOT}, "http", "cannot reach"),
        (STORE, {**GOOD, "pinot.server.instance.enable.split.commit": "false"}, "http", "split.commit"),
        (STORE, {**GOOD, "pinot.server.instance.enable.commitend.metadata": "false"}, "http", "commitend"),
        (STORE, GOOD, "https", "lacks https"),
        (STORE, {**GOOD, **FETCHERS}, "https", ""),
        (SERVERS, {}, "http", ""),
        (SERVERS, {}, "https", "lacks https"),
    ],
)
def test_a_server(policy: StorePolicy, config: dict[str, str], scheme: str, word: str) -> None:
    wrong = texts(check_server("a", config, ROOT, scheme, policy), CheckResult.WRONG)
    assert bool(wrong) == bool(word)
    assert word in wrong


def test_a_note_about_a_server_that_uploads_elsewhere() -> None:
    server = {URI: "s3://b/commits", FILE_SYSTEM: "S3PinotFS"}
    found = check_server("a", server, ROOT, "http", STORE)
    assert [check.verdict for check in found] == [CheckResult.OK, CheckResult.NOTE]
    server["pinotPlugins.commitUpload.dataDir"] = ROOT + "/"
    assert [check.verdict for check in check_server("a", server, ROOT, "http", STORE)] == [CheckResult.OK]
    (check,) = check_server("a", {URI: "s3://b"}, "/data", "http", SERVERS)
    assert check.verdict is CheckResult.NOTE


def test_a_controller() -> None:
    old, new = PinotVersion(0, 11), PinotVersion(1, 3)
    checks = check_controller({"controller.data.dir": ROOT}, old, STORE)
    assert not texts(checks, CheckResult.WRONG)
    assert "up to 10 s" in texts(checks, CheckResult.NOTE)
    assert "up to 300 s" in texts(
        check_controller({"controller.data.dir": ROOT}, new, STORE), CheckResult.NOTE
    )
    folder = {"controller.data.dir": "/d"}
    wrong = texts(check_controller(folder, old, STORE), CheckResult.WRONG)
    assert "folder on the controller" in wrong
    assert "--policy servers" in wrong
    assert not texts(check_controller(folder, new, SERVERS), CheckResult.WRONG)
    for policy in StorePolicy:
        config = {"controller.data.dir": ROOT, "controller.enable.split.commit": "false"}
        assert "split.commit" in texts(check_controller(config, old, policy), CheckResult.WRONG)


@pytest.mark.parametrize(
    ("policy", "kind", "replicas", "servers", "verdict", "text"),
    [
        (STORE, "OFFLINE", 2, 2, CheckResult.WRONG, "REALTIME"),
        (STORE, "REALTIME", 1, 2, CheckResult.NOTE, "only copy"),
        (STORE, "REALTIME", 2, 2, CheckResult.OK, "2 replicas"),
        (SERVERS, "REALTIME", 2, 2, CheckResult.OK, "2 replicas"),
        (SERVERS, "REALTIME", 3, 4, CheckResult.OK, "3 replicas"),
        (SERVERS, "REALTIME", 1, 4, CheckResult.WRONG, "the only copy"),
        (SERVERS, "REALTIME", 3, 2, CheckResult.WRONG, "3 replicas, but only 2 servers"),
    ],
)
def test_a_table(
    policy: StorePolicy, kind: str, replicas: int, servers: int, verdict: CheckResult, text: str
) -> None:
    segments = {"replicasPerPartition": str(replicas)}
    config = TableConfig.from_json({"tableName": "t", "tableType": kind, "segmentsConfig": segments})
    checks = check_table(config, policy, servers)
    assert text in texts(checks, verdict)
    assert bool(texts(checks, CheckResult.WRONG)) == (verdict is CheckResult.WRONG)
