"""Which alerts have to fire on the day, when and why, and which must not; and the question to promtool."""

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
    """The parts of the day, in their order; alerts are looked at part by part."""

    MORNING = "until a partition has been paused for four hours"
    LONG_PAUSE = "until that is resumed"
    OUTAGE = "the store is away for an hour; two hours after that"
    AFTERNOON = "short pauses, and the controller is killed once more"
    UPGRADE = "all processes of the plugins are upgraded, one by one"
    EVENING = "nothing but schedules and rows"


@dataclass(frozen=True)
class Expected:
    """What is expected of one alert.

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
        "what is ingested in the outage cannot be staged: all of a dozen and more subtasks fail",
        Stretch.OUTAGE,
    ),
    Expected("PinotPluginsNotScraped", "a process is back within less than five minutes"),
    Expected("PinotPluginsProcessGone", "there are two of each, and one of them is there at any time"),
    Expected("PinotPluginsLoopStuck", "no loop waits for the store or for the controller"),
    Expected("PinotPluginsRoundsFail", "no round fails for the store, and few for the controller"),
    Expected("PinotPluginsNotReady", "a process is ready within less than half an hour"),
    Expected("PinotPluginsLeaseNotHeld", "a process that is stopped leaves its lease to the next at once"),
    Expected("PinotPluginsRunsFail", "in an hour without the store a table is triggered once or twice"),
    Expected("PinotPluginsRunNotFinished", "no run lasts for six hours"),
    Expected("PinotPluginsSessionOpen", "what failed in the outage is resumed by the next trigger"),
    Expected("PinotPluginsScheduleWrong", "all schedules are right"),
    Expected("PinotPluginsSubtasksWait", "there are minions at any time, and no process counts the queue"),
    Expected("PinotPluginsHookErrors", "a store that is away is no error of a hook"),
    Expected("PinotPluginsHookLeftOut", "all hooks start"),
    Expected("PinotPluginsPausedRowsExpire", "the topics keep rows for days"),
    Expected("PinotPluginsPausedRowsLost", "the same"),
    Expected("PinotPluginsUploadsLarge", "some small tars are far from ten GiB"),
    Expected("PinotPluginsUploadsGivenUp", "an hour is far from a day, and each tar is of use"),
    Expected("PinotPluginsSegmentsWithoutGoodCopy", "servers have what the store has not"),
    Expected("PinotPluginsSegmentsNotStored", "the backlog is uploaded minutes after the outage"),
    Expected("PinotPluginsTablesNotInspected", "no table's config or records are damaged"),
    Expected("PinotPluginsMarkLags", "there is no upsert table"),
    Expected("PinotPluginsNoMark", "the same"),
    Expected("PinotPluginsCoordinatorBehind", "there is no key coordinator"),
    Expected("PinotPluginsCoordinatorFails", "the same"),
)


@dataclass(frozen=True)
class Window:
    """A part of the day as it was.

    Attributes:
        stretch: Which.
        begin_s: Its first second of the day.
        end_s: Its last.
    """

    stretch: Stretch
    begin_s: float
    end_s: float


def fired(stretch: Stretch, paused_table: str) -> list[dict[str, str]]:
    """Return the labels of what has to fire in a part of the day.

    Args:
        stretch: The part.
        paused_table: The one with a partition that is paused for long, with type.
    """
    return [
        {"alertname": each.alert} | ({"table": paused_table} if each.of_table else {})
        for each in EXPECTED
        if each.stretch is stretch
    ]


def rules_test(
    rules: str, series: Mapping[str, Sequence[float | None]], windows: Collection[Window], paused_table: str
) -> dict[str, object]:
    """Return a test file of promtool: in each part of the day its alerts have fired, and none at the end.

    Args:
        rules: Path of the rules, from where the test file is.
        series: Points by the series' names, the first at 0:00.
        windows: The parts of the day.
        paused_table: As of `fired`.
    """
    steps = max(len(points) for points in series.values())
    tests: list[dict[str, object]] = []
    for window in windows:
        first, last = (int(at_s // STEP_S) for at_s in (window.begin_s, window.end_s))
        # From the first step after its begin on; half a step more would be the one before.
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
    """Have promtool evaluate the rules as they are shipped; it says what fired in place of what should."""
    rules, test = folder / "rules.yml", folder / "day.json"
    rules.write_text(rules_text(), encoding="utf-8")
    document = rules_test(rules.name, series, windows, paused_table)
    test.write_text(json.dumps(document), encoding="utf-8")  # YAML, too
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
