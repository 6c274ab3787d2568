"""Prometheus in a test: scrapes once a minute of a fake clock; promtool determines which alerts fire."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from controller_client.common.names import TableName
from controller_client.monitoring import Monitoring
from controller_client.monitoring.rules import rules_text
from controller_client.zookeeper import Turn
from minion_tasks.file_ingestion.run.types import RunReport
from minion_tasks.scheduler import Scheduler
from minion_tasks.scheduler_metrics import SchedulerMetrics
from tests.support.promtool import promtool
from tests.unit.fake_clock import FakeClock
from tests.unit.minion_tasks.test_scheduler import Every, Inline

__all__ = ["Prometheus", "samples", "scraped", "serve"]

_MINUTE_S = 60.0
_FIRING = 'group by (alertname) (ALERTS{alertstate="firing"})'


def samples(monitoring: Monitoring) -> dict[str, float]:
    """Return the metrics of a process of this project, by name with labels."""
    lines = (
        line.rsplit(" ", 1) for line in monitoring.text().splitlines() if line.startswith("pinot_plugins_")
    )
    return {series: float(value) for series, value in lines}


def scraped(process: str, folder: Path, clock: FakeClock | None = None) -> tuple[Monitoring, Prometheus]:
    """Return a process of a kind, and a Prometheus that scrapes it by its clock."""
    clock = clock or FakeClock()
    monitoring = Monitoring(process, clock)
    return monitoring, Prometheus(clock, folder, a=monitoring)


class Prometheus:
    """Scrapes processes, by their clock.

    Args:
        clock: The clock of the processes; Prometheus' time starts with it.
        folder: Folder for promtool's files, in a folder of their own.
        processes: The processes to scrape, by instance.
    """

    def __init__(self, clock: FakeClock, folder: Path, **processes: Monitoring) -> None:
        self.clock = clock
        self.processes: dict[str, Monitoring] = dict(processes)
        self._folder = folder / "prometheus"
        self._begin_s = clock.now()
        self._minutes = 0
        self._series: dict[str, dict[int, float]] = {}

    def scrape(self, up: Mapping[str, bool] | None = None) -> None:
        """Scrape all in the current minute; ``up``: whether others answer, of which only this is kept."""
        self._minutes = max(self._minutes, self._minute)
        for instance, monitoring in self.processes.items():
            self._add("up", "", instance, 1)
            for series, value in samples(monitoring).items():
                name, _, labels = series.partition("{")
                # promtool's time starts at 0.
                shift = self._begin_s if name.endswith("_timestamp_seconds") else 0
                self._add(name, labels.removesuffix("}"), instance, value - shift)
        for instance, answers in (up or {}).items():
            self._add("up", "", instance, float(answers))

    def pass_minutes(self, minutes: int, each: Callable[[], object] = lambda: None) -> None:
        """Let minutes pass, each with an action and a scrape after it."""
        for _ in range(minutes):
            self.clock.advance(_MINUTE_S)
            each()
            self.scrape()

    def expect(self, *alerts: str, before: Mapping[int, Collection[str]] | None = None) -> None:
        """Expect that exactly these alerts fire now.

        Args:
            alerts: Their names, without the common prefix.
            before: The same for earlier minutes.
        """
        expected = {**(before or {}), self._minutes: alerts}
        self._folder.mkdir(exist_ok=True)
        rules, test = self._folder / "rules.yml", self._folder / "test.json"
        rules.write_text(rules_text(), encoding="utf-8")
        document = {
            "rule_files": [rules.name],
            "evaluation_interval": "1m",
            "tests": [
                {
                    "interval": "1m",
                    "input_series": [
                        {"series": name, "values": self._values(points)}
                        for name, points in sorted(self._series.items())
                    ],
                    "promql_expr_test": [
                        {
                            "expr": _FIRING,
                            "eval_time": f"{minute}m",
                            "exp_samples": [
                                {"labels": f'{{alertname="PinotPlugins{name}"}}', "value": 1}
                                for name in sorted(names)
                            ],
                        }
                        for minute, names in expected.items()
                    ],
                }
            ],
        }
        test.write_text(json.dumps(document), encoding="utf-8")  # also YAML
        promtool("test", "rules", test)

    @property
    def _minute(self) -> int:
        return round((self.clock.now() - self._begin_s) / _MINUTE_S)

    def _add(self, name: str, labels: str, instance: str, value: float) -> None:
        place = f'instance="{instance}",job="pinot-plugins"'
        series = f"{name}{{{labels},{place}}}" if labels else f"{name}{{{place}}}"
        self._series.setdefault(series, {})[self._minute] = value

    def _values(self, points: Mapping[int, float]) -> str:
        """The values as in promtool's test files; a series that is now missing becomes stale."""
        words = []
        for minute in range(self._minutes + 1):
            if minute in points:
                words.append(f"{points[minute]:.17g}")
            else:
                words.append("stale" if minute - 1 in points else "_")
        return " ".join(words)


class EveryMinutes(Every):
    """Fires every given number of minutes."""

    def __init__(self, expression: str) -> None:
        super().__init__(expression)
        self.period_s *= 60


def serve(
    monitoring: Monitoring,
    prometheus: Prometheus,
    schedules: Callable[[int], Mapping[TableName, str]],
    run: Callable[[TableName], RunReport | None] = lambda _table: None,
    *,
    minutes: int,
    metrics: SchedulerMetrics | None = None,
    turn: Turn | None = None,
) -> None:
    """Serve for a number of minutes; ``schedules`` is called in each of them, with its number."""
    stop, clock = threading.Event(), prometheus.clock
    begin_s = clock.now()

    def on_sleep(now_s: float) -> None:
        prometheus.scrape()
        if now_s - begin_s >= minutes * 60:
            stop.set()

    clock.on_sleep = on_sleep
    Scheduler(
        lambda: schedules(round((clock.now() - begin_s) / 60)),
        lambda table, _scheduled_s: run(table),
        EveryMinutes,
        clock,
        metrics=metrics or SchedulerMetrics(monitoring, clock),
        refresh_s=60,
        tick_s=60,
        pool=Inline(),
        turn=turn,
    ).serve(stop)
