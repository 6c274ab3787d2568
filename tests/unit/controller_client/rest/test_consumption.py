"""The requests sent to each version, and the responses of newer versions."""

from __future__ import annotations

import pytest

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.consumption import ConsumeFrom
from controller_client.errors import OutcomeUnknownError, UnsupportedError
from controller_client.rest.consumption import ReplicaProgress
from tests.unit.controller_client.scripted_server import ScriptedServer, answer

TABLE = "t_REALTIME"


def asked(version: str, **answers: object) -> list[str]:
    """Return the requests sent to a version for each of the calls."""
    with ScriptedServer() as server, ControllerClient(ControllerConfig(server.url)) as client:
        server.script.append(answer(200, {"pinot-controller": version}))
        server.answers = lambda _seen: answer(200, answers or {})
        api = client.consumption
        api.pause(TABLE, comment="why")
        api.resume(TABLE)
        api.resume(TABLE, ConsumeFrom.SMALLEST, comment="why")
        api.force_commit(TABLE, segments=["b", "a"])
        return [f"{seen.method} {seen.target}" for seen in server.requests[1:]]


def test_parameters_unknown_to_the_version_are_omitted() -> None:
    base = f"POST /tables/{TABLE}"
    assert asked("0.11.0-x") == [
        f"{base}/pauseConsumption",
        f"{base}/resumeConsumption",
        f"{base}/resumeConsumption?consumeFrom=smallest",
        f"{base}/forceCommit",
    ]
    assert asked("1.3.0") == [
        f"{base}/pauseConsumption?comment=why",
        f"{base}/resumeConsumption",
        f"{base}/resumeConsumption?consumeFrom=smallest&comment=why",
        f"{base}/forceCommit?segments=a%2Cb",
    ]


@pytest.mark.parametrize(
    ("version", "pause", "commit"), [("0.11.0", False, False), ("1.4.0", False, True), ("1.5.0", True, True)]
)
def test_batches_are_refused_by_older_versions(version: str, pause: bool, commit: bool) -> None:
    with ScriptedServer() as server, ControllerClient(ControllerConfig(server.url)) as client:
        server.answers = lambda seen: answer(
            200, {"pinot-controller": version} if seen.path == "/version" else {"forceCommitJobId": "j"}
        )
        if pause:
            client.consumption.pause(TABLE, batch_size=2)
        else:
            with pytest.raises(UnsupportedError, match=r"pausing in batches"):
                client.consumption.pause(TABLE, batch_size=2)
        if commit:
            assert client.consumption.force_commit(TABLE, batch_size=2) == "j"
            assert server.requests[-1].target.endswith("/forceCommit?batchSize=2")
        else:
            with pytest.raises(UnsupportedError, match=r"forcing commits in batches"):
                client.consumption.force_commit(TABLE, batch_size=2)


def test_an_error_of_the_controller_leaves_the_flag_unknown() -> None:
    fault = {"code": 500, "error": "Caught exception while updating ideal state for resource: t_REALTIME"}
    with ScriptedServer() as server, ControllerClient(ControllerConfig(server.url)) as client:
        server.script.extend(
            [answer(200, {"pinot-controller": "0.11.0"}), answer(500, fault), answer(500, fault)]
        )
        for call in (client.consumption.pause, client.consumption.resume):
            with pytest.raises(OutcomeUnknownError, match="updating ideal state"):
                call(TABLE)


def test_progress_is_read_from_old_and_new_versions() -> None:
    reported = {
        "_segmentToConsumingInfoMap": {
            "a": [
                {
                    "serverName": "s1",
                    "consumerState": "CONSUMING",
                    "lastConsumedTimestamp": 0,
                    "partitionToOffsetMap": {"0": "150"},
                }
            ],
            "b": [
                {
                    "serverName": "s2",
                    "consumerState": "NOT_CONSUMING",
                    "lastConsumedTimestamp": 1700,
                    "partitionToOffsetMap": {"1": "7"},
                    "partitionOffsetInfo": {
                        "latestUpstreamOffsetMap": {"1": "9"},
                        "recordsLagMap": {"1": "2"},
                    },
                },
                {
                    "serverName": "s3",
                    "consumerState": "CONSUMING",
                    "partitionToOffsetMap": {"1": "8"},
                    "partitionOffsetInfo": {"recordsLagMap": {"1": "NOT_CALCULATED"}},
                },
            ],
            "c": [],
        }
    }
    with (
        ScriptedServer(answer(200, reported)) as server,
        ControllerClient(ControllerConfig(server.url)) as client,
    ):
        assert client.consumption.progress(TABLE) == {
            "a": (ReplicaProgress("s1", True, "150"),),
            "b": (
                ReplicaProgress("s2", False, "7", "9", 2, 1700),
                ReplicaProgress("s3", True, "8"),
            ),
            "c": (),
        }
