"""The requests sent to each version, and the responses of newer versions."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from controller_client.consumption import ConsumeFrom
from controller_client.errors import OutcomeUnknownError, UnsupportedError
from controller_client.rest.consumption import ReplicaProgress
from tests.unit.controller_client.rest.conftest import V11, Make
from tests.unit.controller_client.scripted_server import answer

TABLE = "t_REALTIME"


@pytest.mark.parametrize(
    ("version", "paused", "resumed", "committed"),
    [("0.11.0-x", "", "", ""), ("1.3.0", "?comment=why", "&comment=why", "?segments=a%2Cb")],
)
def test_parameters_unknown_to_the_version_are_omitted(
    make: Make, version: str, paused: str, resumed: str, committed: str
) -> None:
    client, server = make(answer(200, {"pinot-controller": version}))
    server.answers = lambda _seen: answer(200, {})
    client.consumption.pause(TABLE, comment="why")
    client.consumption.resume(TABLE)
    client.consumption.resume(TABLE, ConsumeFrom.SMALLEST, comment="why")
    client.consumption.force_commit(TABLE, segments=["b", "a"])
    base = f"/tables/{TABLE}"
    assert [(seen.method, seen.target) for seen in server.requests[1:]] == [
        ("POST", f"{base}/pauseConsumption{paused}"),
        ("POST", f"{base}/resumeConsumption"),
        ("POST", f"{base}/resumeConsumption?consumeFrom=smallest{resumed}"),
        ("POST", f"{base}/forceCommit{committed}"),
    ]


@pytest.mark.parametrize(
    ("version", "pause", "commit"), [("0.11.0", False, False), ("1.4.0", False, True), ("1.5.0", True, True)]
)
def test_batches_are_refused_by_older_versions(make: Make, version: str, pause: bool, commit: bool) -> None:
    client, server = make()
    server.answers = lambda seen: answer(
        200, {"pinot-controller": version} if seen.path == "/version" else {"forceCommitJobId": "j"}
    )
    for is_there, call, words in (
        (pause, client.consumption.pause, "pausing in batches"),
        (commit, client.consumption.force_commit, "forcing commits in batches"),
    ):
        with nullcontext() if is_there else pytest.raises(UnsupportedError, match=words):
            call(TABLE, batch_size=2)
            assert server.requests[-1].target.endswith("?batchSize=2")
    if commit:
        assert client.consumption.force_commit(TABLE, batch_size=2) == "j"


def test_an_error_of_the_controller_leaves_the_flag_unknown(make: Make) -> None:
    fault = {"code": 500, "error": "Caught exception while updating ideal state for resource: t_REALTIME"}
    client, _ = make(V11, answer(500, fault), answer(500, fault))
    for call in (client.consumption.pause, client.consumption.resume):
        with pytest.raises(OutcomeUnknownError, match="updating ideal state"):
            call(TABLE)


def test_progress_is_read_from_old_and_new_versions(make: Make) -> None:
    def reported(server: str, offset: str, state: str = "CONSUMING", **fields: object) -> dict[str, object]:
        offsets = {"partitionToOffsetMap": {"1": offset}}
        return {"serverName": server, "consumerState": state, **offsets, **fields}

    stopped = {"latestUpstreamOffsetMap": {"1": "9"}, "recordsLagMap": {"1": "2"}}
    behind = reported("s2", "7", "NOT_CONSUMING", lastConsumedTimestamp=1700, partitionOffsetInfo=stopped)
    unknown = reported("s3", "8", partitionOffsetInfo={"recordsLagMap": {"1": "NOT_CALCULATED"}})
    segments = {"a": [reported("s1", "150", lastConsumedTimestamp=0)], "b": [behind, unknown], "c": []}
    client, _ = make(answer(200, {"_segmentToConsumingInfoMap": segments}))
    assert client.consumption.progress(TABLE) == {
        "a": (ReplicaProgress("s1", True, "150"),),
        "b": (ReplicaProgress("s2", False, "7", "9", 2, 1700), ReplicaProgress("s3", True, "8")),
        "c": (),
    }


@pytest.mark.parametrize(
    ("lag", "expected"),
    [("-3", -3), ("²", None), ("--3", None), ("9" * 5000, None), ("NOT_CALCULATED", None)],
)
def test_a_lag_that_is_no_number_is_unknown(make: Make, lag: str, expected: int | None) -> None:
    replica = {"serverName": "s", "partitionOffsetInfo": {"recordsLagMap": {"1": lag}}}
    client, _ = make(answer(200, {"_segmentToConsumingInfoMap": {"a": [replica]}}))
    ((found,),) = client.consumption.progress(TABLE).values()
    assert found.lag == expected
