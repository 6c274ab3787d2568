"""What a day waits for after a fault."""

from __future__ import annotations

import pytest

from tests.faults.day.scrapes import Scrape
from tests.faults.day.settled import unsettled

NOW_S = 1000.0
HELD = 'pinot_plugins_lease_held_ratio{{lease="{}"}}'
ROUND = 'pinot_plugins_process_last_good_round_timestamp_seconds{loop="watch"}'
READY = "pinot_plugins_process_ready_ratio"
BACKLOG = "pinot_plugins_upload_backlog_segments"
FAILED = 'pinot_plugins_ingestion_consecutive_failed_runs{table="t_OFFLINE"}'
OPEN = 'pinot_plugins_ingestion_open_session_started_timestamp_seconds{table="t_OFFLINE"}'


def told() -> dict[str, dict[str, float]]:
    return {
        "scheduler_1": {READY: 1, HELD.format("scheduler"): 1, FAILED: 0},
        "scheduler_2": {READY: 1, HELD.format("scheduler"): 0},
        "watch_1": {READY: 1, HELD.format("deepstore-watch"): 1, ROUND: NOW_S + 1},
        "hosted_1": {READY: 1, BACKLOG: 0, ROUND.replace("watch", "partition-pause"): NOW_S + 1},
    }


def found(samples: dict[str, dict[str, float]], at_s: float = NOW_S + 2) -> list[str]:
    last = {instance: Scrape(at_s, each) for instance, each in samples.items()}
    return unsettled(last, ("watch_1", "watch_2"), NOW_S)


def test_all_is_settled() -> None:
    assert found(told()) == []


@pytest.mark.parametrize(
    ("instance", "series", "value", "words"),
    [
        ("hosted_1", READY, 0, "hosted_1 is not ready"),
        ("hosted_1", BACKLOG, 2, f"hosted_1: {BACKLOG} is 2"),
        ("scheduler_1", FAILED, 1, f"scheduler_1: {FAILED} is 1"),
        ("scheduler_1", OPEN, 900, f"scheduler_1: {OPEN} is 900"),
        ("scheduler_1", HELD.format("scheduler"), 0, "leases held"),
        ("watch_1", ROUND, NOW_S - 1, "no watch has completed a round"),
    ],
)
def test_one_thing_is_missing(instance: str, series: str, value: float, words: str) -> None:
    samples = told()
    samples[instance][series] = value
    (only,) = found(samples)
    assert words in only


def test_what_is_old_says_nothing() -> None:
    assert "watch_1 has not answered" in found(told(), NOW_S - 1)
    assert unsettled({"hosted_1": None}, (), NOW_S)[0] == "hosted_1 has not answered"
    assert unsettled({"hosted_1": Scrape(NOW_S + 1, None)}, (), NOW_S)[0] == "hosted_1 has not answered"
