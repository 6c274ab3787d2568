"""Plans from a dry run and an ideal state, and the end of a rebalance."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_client.errors import AppliedError, OutcomeUnknownError, RejectedError, WaitTimeoutError
from controller_client.rest.rebalance import RebalanceOptions, StartedRebalance, moved
from controller_client.rest.rebalance_plan import Move, ServerChange, plan_of
from tests.unit.controller_client.rest.conftest import V11, V15, Make
from tests.unit.controller_client.scripted_server import Seen, Step, answer

IDEAL = {"a": {"s1": "ONLINE"}, "b": {"s2": "ONLINE"}, "c": {"s1": "ONLINE"}}
TARGET = {"a": {"s1": "ONLINE", "s3": "ONLINE"}, "b": {"s3": "ONLINE"}, "c": {"s1": "ONLINE"}}
DONE = {"status": "DONE", "description": "Dry-run mode", "segmentAssignment": TARGET}


def test_moves_are_the_differences_between_target_and_ideal_state() -> None:
    plan = plan_of("t_OFFLINE", DONE, IDEAL, {"a": 100, "c": 7})
    assert plan.moves == (Move("a", ("s3",), (), 100), Move("b", ("s3",), ("s2",), None))
    assert plan.servers == (
        ServerChange("s1", 2, 2, 0, 0, 0),
        ServerChange("s2", 1, 0, 0, 1, 0),
        ServerChange("s3", 0, 2, 2, 0, 100),
    )
    assert (plan.added, plan.removed, plan.added_bytes, plan.sizes_unknown) == (2, 1, 100, 1)
    assert (plan.replicas_before, plan.replicas_after) == (1, 2)
    assert not plan.is_noop


def test_a_new_state_on_the_same_servers_is_not_a_move() -> None:
    consuming = {"a": {"s1": "CONSUMING"}}
    assert plan_of("t_REALTIME", {"segmentAssignment": {"a": {"s1": "ONLINE"}}}, consuming, {}).moves == ()


def test_a_response_without_a_target_moves_nothing() -> None:
    plan = plan_of("t_OFFLINE", {"status": "NO_OP", "description": "balanced"}, IDEAL, {})
    assert (plan.moves, plan.is_noop, plan.target) == ((), True, IDEAL)


def test_a_plan_includes_pinots_checks() -> None:
    checks = {"needsReloadStatus": {"preCheckStatus": "WARN", "message": "Reload needed"}}
    (check,) = plan_of("t_OFFLINE", {**DONE, "preChecksResult": checks}, IDEAL, {}).checks
    assert (check.name, check.status, check.message) == ("needsReloadStatus", "WARN", "Reload needed")


def test_defaults_are_not_sent() -> None:
    assert RebalanceOptions().params() == {
        "reassignInstances": None,
        "includeConsuming": None,
        "bootstrap": "false",
        "downtime": "false",
        "minAvailableReplicas": None,
        "bestEfforts": "false",
    }
    chosen = RebalanceOptions(reassign_instances=False, include_consuming=True, min_available_replicas=-1)
    assert chosen.params()["reassignInstances"] == "false"
    assert chosen.params()["includeConsuming"] == "true"
    assert chosen.params()["minAvailableReplicas"] == "-1"


@pytest.mark.parametrize(("version", "checks"), [(V11, False), (V15, True)])
def test_a_plan_requests_checks_if_the_version_has_them(make: Make, version: Step, checks: bool) -> None:
    client, server = make(
        version,
        answer(200, DONE),
        answer(200, {"OFFLINE": IDEAL}),
        answer(503, {"error": "a server is away"}),
    )
    plan = client.rebalance.plan("t_OFFLINE")
    assert (plan.added, plan.added_bytes, plan.sizes_unknown) == (2, 0, 2)
    asked = server.requests[1]
    assert (asked.method, asked.path) == ("POST", "/tables/t/rebalance")
    assert "type=OFFLINE" in asked.target
    assert "dryRun=true" in asked.target
    assert ("preChecks=true" in asked.target) is checks


def test_a_plan_refused_by_pinot(make: Make) -> None:
    client, _ = make(V15, answer(200, {"status": "FAILED", "description": "Illegal min available replicas"}))
    with pytest.raises(RejectedError, match="Illegal min available replicas"):
        client.rebalance.plan("t_OFFLINE")


def test_a_failed_start_is_unknown_with_downtime_and_refused_without(make: Make) -> None:
    failed = answer(200, {"status": "FAILED", "description": "cannot update the ideal state"})
    client, _ = make(failed, failed)
    with pytest.raises(OutcomeUnknownError, match="cannot update"):
        client.rebalance.start("t_OFFLINE", RebalanceOptions(downtime=True))
    with pytest.raises(RejectedError, match="cannot update"):
        client.rebalance.start("t_OFFLINE")


def test_what_old_versions_abandon_silently_is_refused(make: Make) -> None:
    started = answer(200, {**DONE, "status": "IN_PROGRESS"})
    client, _ = make(started, V11, started, started)
    with pytest.raises(RejectedError, match="must stay available, but there are only 1"):
        client.rebalance.start("t_OFFLINE")
    for options in (RebalanceOptions(min_available_replicas=0), RebalanceOptions(downtime=True)):
        assert client.rebalance.start("t_OFFLINE", options).status == "IN_PROGRESS"


def test_after_a_lost_reply_nothing_is_resent(make: Make) -> None:
    client, server = make(answer(503, "gone"))
    with pytest.raises(OutcomeUnknownError):
        client.rebalance.start("t_OFFLINE")
    assert len(server.requests) == 1


def test_segments_count_once_ideal_state_and_view_match_the_target() -> None:
    assert moved(TARGET, IDEAL, IDEAL) == (1, 3)
    assert moved(TARGET, TARGET, IDEAL) == (1, 3)
    assert moved(TARGET, TARGET, TARGET) == (3, 3)
    left = {"a": TARGET["a"]}
    assert moved(TARGET, left, left) == (1, 1), "deleted meanwhile"
    committed = {"a": {"s1": "ONLINE"}}
    assert moved({"a": {"s1": "CONSUMING"}}, committed, committed) == (1, 1), "committed meanwhile"


def _views(ideal: object, seen: object, status: str | None = None) -> Callable[[Seen], Step]:
    def answers(request: Seen) -> Step:
        if request.path == "/version":
            return V15
        if request.path.startswith("/rebalanceStatus/"):
            stats = {"status": status, "completionStatusMsg": "stopped by hand"}
            return answer(200, {"tableRebalanceProgressStats": stats})
        return answer(200, {"OFFLINE": ideal if request.path.endswith("/idealstate") else seen})

    return answers


def test_the_wait_ends_once_the_views_match_and_the_job_is_done(make: Make) -> None:
    client, server = make()
    server.answers = _views(TARGET, TARGET, "DONE")
    shown: list[tuple[int, int]] = []
    started = StartedRebalance("t_OFFLINE", "job", "IN_PROGRESS", "", TARGET)
    client.rebalance.wait(started, 10, seen=lambda done, total: shown.append((done, total)))
    assert shown == [(3, 3)]
    server.answers = _views(TARGET, TARGET, "IN_PROGRESS")
    with pytest.raises(WaitTimeoutError, match="the job is still running"):
        client.rebalance.wait(started, 10)


def test_a_stopped_job_is_partly_applied(make: Make) -> None:
    client, server = make()
    server.answers = _views(TARGET, IDEAL, "CANCELLED")
    started = StartedRebalance("t_OFFLINE", "job", "IN_PROGRESS", "", TARGET)
    with pytest.raises(AppliedError, match="CANCELLED with 1 of 3 segments in place: stopped by hand"):
        client.rebalance.wait(started, 10)


def test_without_a_job_the_wait_ends_a_few_seconds_later(make: Make) -> None:
    client, server = make()
    server.answers = _views(TARGET, TARGET)
    started = StartedRebalance("t_OFFLINE", None, "IN_PROGRESS", "", TARGET)
    before = client.clock.monotonic()
    client.rebalance.wait(started, 10)
    assert client.clock.monotonic() - before >= 2.5
    with pytest.raises(WaitTimeoutError, match="Pinot has not noticed yet"):
        client.rebalance.wait(started, 1)


def test_the_status_from_versions_without_counts(make: Make) -> None:
    stats = {"status": "DONE", "timeToFinishInSeconds": 4, "completionStatusMsg": "Finished"}
    client, _ = make(V15, answer(200, {"tableRebalanceProgressStats": stats}))
    found = client.rebalance.status("job")
    assert (found.status, found.took_s, found.to_add, found.left_to_add) == ("DONE", 4, None, None)
