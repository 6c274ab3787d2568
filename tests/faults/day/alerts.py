"""Which alerts must or must not fire during the day, when and why, and the check by promtool."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from controller_client.monitoring.rules import rules_text
from tests.faults.day.scrapes import STEP_S, values_text
from tests.support.promtool import promtool

__all__ = ["EXPECTED", "Expected", "Stretch", "Window", "check_alerts", "fired", "rules_test"]


class Stretch(StrEnum):
    """The parts of the day in order; alerts are checked part by part."""

    MORNING = "until a partition has been paused for four hours"
    LONG_PAUSE = "until that partition is resumed"
    OUTAGE = "the store is down for an hour, and two hours after that"
    AFTERNOON = "short pauses, and the controller is killed again"
    UPGRADE = "all plugin processes are upgraded, one by one"
    EVENING = "nothing but schedules and rows"


@dataclass(frozen=True)
class Expected:
    """The expectation for one alert.

    Attributes:
        alert: Its name.
        why: The reason.
        stretch: The part of the day in which it fires; None: in none.
        of_table: Whether it names a table: the one whose partition is paused for long.
    """

    alert: str
    why: str
    stretch: Stretch | None = None
    of_table: bool = False


EXPECTED = (
    Expected(
        "PinotPluginsPartitionPausedLong",
        "one partition is paused for five hours, more than four and five minutes",
        Stretch.LONG_PAUSE,
        of_table=True,
    ),
    Expected(
        "PinotPluginsUploadsOld",
        "the first commits of the outage wait for 15 minutes, and five more: it lasts an hour",
        Stretch.OUTAGE,
    ),
    Expected(
        "PinotPluginsSubtasksFail",
        "nothing can be staged during the outage: a dozen and more subtasks all fail",
        Stretch.OUTAGE,
    ),
    Expected("PinotPluginsNotScraped", "a process is back in less than five minutes"),
    Expected("PinotPluginsProcessGone", "there are two of each, of which one is always running"),
    Expected("PinotPluginsLoopStuck", "no loop waits for the store or the controller"),
    Expected("PinotPluginsRoundsFail", "the store causes no failed rounds, and the controller few"),
    Expected("PinotPluginsNotReady", "a process is ready in less than half an hour"),
    Expected("PinotPluginsLeaseNotHeld", "a stopping process releases its lease at once"),
    Expected("PinotPluginsRunsFail", "a table is triggered only once or twice in the hour without the store"),
    Expected("PinotPluginsRunNotFinished", "no run lasts for six hours"),
    Expected("PinotPluginsSessionOpen", "what failed in the outage is resumed by the next trigger"),
    Expected("PinotPluginsScheduleWrong", "all schedules are valid"),
    Expected("PinotPluginsSubtasksWait", "there are always minions, and no process counts the queue"),
    Expected("PinotPluginsHookErrors", "an unreachable store is not an error of a hook"),
    Expected("PinotPluginsHookLeftOut", "all hooks start"),
    Expected("PinotPluginsPausedRowsExpire", "the topics keep rows for days"),
    Expected("PinotPluginsPausedRowsLost", "the same"),
    Expected("PinotPluginsUploadsLarge", "a few small tars are far below ten GiB"),
    Expected("PinotPluginsUploadsDiscarded", "an hour is far below a day, and each tar is still needed"),
    Expected("PinotPluginsSegmentsWithoutGoodCopy", "servers have the segments that the store lacks"),
    Expected("PinotPluginsSegmentsNotStored", "the backlog is uploaded minutes after the outage"),
    Expected("PinotPluginsTablesNotInspected", "no table's config or records are damaged"),
    Expected("PinotPluginsMarkLags", "there is no upsert table"),
    Expected("PinotPluginsNoMark", "the same"),
    Expected("PinotPluginsCoordinatorBehind", "there is no key coordinator"),
    Expected("PinotPluginsCoordinatorFails", "the same"),
)


@dataclass(frozen=True)
class Window:
    """A part of the day as it happened.

    Attributes:
        stretch: The part.
        begin_s: Its first second of the day.
        end_s: Its last second of the day.
    """

    stretch: Stretch
    begin_s: float
    end_s: float


def fired(stretch: Stretch, paused_table: str) -> list[dict[str, str]]:
    """Return the labels of alerts that must fire in a part of the day.

    Args:
        stretch: The part.
        paused_table: The table with a partition that is paused for long, with type.
    """
    return [
        {"alertname": each.alert} | ({"table": paused_table} if each.of_table else {})
        for each in EXPECTED
        if each.stretch is stretch
    ]


def rules_test(
    rules: str, series: Mapping[str, Sequence[float | None]], windows: Collection[Window], paused_table: str
) -> dict[str, object]:
    """Return a test file for promtool: in each part of the day its alerts have fired, and none at the end.

    Args:
        rules: Path of the rules, relative to the test file.
        series: Points by the names of the series, the first at 0:00.
        windows: The parts of the day.
        paused_table: As for `fired`.
    """
    steps = max(len(points) for points in series.values())
    tests: list[dict[str, object]] = []
    for window in windows:
        first, last = (int(at_s // STEP_S) for at_s in (window.begin_s, window.end_s))
        # From the first step after its start; half a step earlier would be the previous part.
        length_s = (last - first) * STEP_S - STEP_S // 2
        firing = f'count_over_time(ALERTS{{alertstate="firing"}}[{length_s}s])'
        tests.append(_expects(firing, min(last, steps - 1), fired(window.stretch, paused_table)))
    tests.append(_expects('ALERTS{alertstate="firing"}', steps - 1, []))
    return {
        "rule_files": [rules],
        "evaluation_interval": f"{STEP_S}s",
        "tests": [
            {
                "interval": f"{STEP_S}s",
                "input_series": [
                    {"series": name, "values": values_text(points)} for name, points in sorted(series.items())
                ],
                "promql_expr_test": tests,
            }
        ],
    }


def check_alerts(
    series: Mapping[str, Sequence[float | None]],
    windows: Collection[Window],
    paused_table: str,
    folder: Path,
) -> None:
    """Evaluate the shipped rules with promtool, which reports differences from the expected alerts."""
    rules, test = folder / "rules.yml", folder / "day.json"
    rules.write_text(rules_text(), encoding="utf-8")
    document = rules_test(rules.name, series, windows, paused_table)
    test.write_text(json.dumps(document), encoding="utf-8")  # which is also YAML
    promtool("test", "rules", test)


def _expects(firing: str, step: int, labels: Sequence[Mapping[str, str]]) -> dict[str, object]:
    return {
        "expr": f"group by (alertname, table) ({firing})",
        "eval_time": f"{step * STEP_S}s",
        "exp_samples": [
            {"labels": "{" + ",".join(f'{name}="{value}"' for name, value in each.items()) + "}", "value": 1}
            for each in labels
        ],
    }
