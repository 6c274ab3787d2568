from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import ConfigError
from minion_tasks.scheduler import Triggers


class Every:
    """Fires at each multiple of its period."""

    def __init__(self, expression: str) -> None:
        if not expression.isdecimal():
            raise ConfigError(f"{expression!r} is not a period")
        self.period_s = int(expression)

    def next_after(self, epoch_s: float) -> float | None:
        return (epoch_s // self.period_s + 1) * self.period_s


def make(schedules: dict[str, str], now_s: float = 0.0) -> Triggers:
    triggers = Triggers(Every)
    triggers.refresh(schedules, now_s)
    return triggers


def test_a_table_fires_at_its_times() -> None:
    triggers = make({"t": "10"})
    assert triggers.due(9.9) == []
    assert triggers.due(10.0) == ["t"]
    triggers.ended("t")
    assert triggers.due(19.0) == []
    assert triggers.due(20.5) == ["t"]


def test_a_trigger_during_a_run_waits_for_its_end_and_several_are_one() -> None:
    triggers = make({"t": "10"})
    assert triggers.due(10) == ["t"]
    assert triggers.due(20) == []
    assert triggers.due(30) == []
    triggers.ended("t")
    assert triggers.due(31) == ["t"]
    triggers.ended("t")
    assert triggers.due(32) == []


def test_a_wrong_expression_is_left_out_until_it_is_mended() -> None:
    triggers = make({"bad": "x", "good": "10"})
    assert triggers.due(10) == ["good"]
    triggers.refresh({"bad": "5", "good": "10"}, 11)
    assert triggers.due(15) == ["bad"]


def test_a_changed_expression_counts_from_its_change() -> None:
    triggers = make({"t": "10"})
    triggers.refresh({"t": "100"}, 5)
    assert triggers.due(10) == []
    assert triggers.due(100) == ["t"]


def test_a_removed_table_does_not_fire() -> None:
    triggers = make({"t": "10"})
    triggers.refresh({}, 5)
    assert triggers.due(10) == []


@given(st.lists(st.sampled_from(["tick", "end"]), max_size=40))
def test_a_table_never_runs_twice_at_once(steps: list[str]) -> None:
    triggers, now, running = make({"t": "3"}), 0.0, 0
    for step in steps:
        now += 1
        if step == "tick":
            running += len(triggers.due(now))
        elif running:
            triggers.ended("t")
            running -= 1
        assert running <= 1
