"""The expectations cover every alert, and promtool distinguishes expected from unexpected days."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from controller_client.monitoring.rules import rules_text
from tests.faults.day.alerts import EXPECTED, Stretch, Window, check_alerts, fired
from tests.faults.day.clock import HOUR_S, DayClock
from tests.faults.day.day import IN_RULES
from tests.faults.day.scrapes import Scrape, day_series
from tests.unit.fake_clock import FakeClock

TABLE = "t_REALTIME"
RATE = 120.0
_DONE, _FAILED = (
    f'pinot_plugins_minion_subtasks_total{{outcome="{outcome}",task_type="FileIngestionTask"}}'
    for outcome in ("done", "failed")
)
WINDOWS = [
    Window(stretch, begin_h * HOUR_S, end_h * HOUR_S)
    for stretch, begin_h, end_h in (
        (Stretch.MORNING, 0, 6),
        (Stretch.LONG_PAUSE, 6, 7.5),
        (Stretch.OUTAGE, 7.5, 11),
        (Stretch.AFTERNOON, 11, 14),
        (Stretch.UPGRADE, 14, 20),
        (Stretch.EVENING, 20, 24),
    )
]


def test_each_alert_is_expected_or_not_and_says_why() -> None:
    rules = [rule["alert"] for group in yaml.safe_load(rules_text())["groups"] for rule in group["rules"]]
    assert sorted(each.alert for each in EXPECTED) == sorted(rules)
    assert all(each.why for each in EXPECTED)
    assert fired(Stretch.LONG_PAUSE, TABLE) == [
        {"alertname": "PinotPluginsPartitionPausedLong", "table": TABLE}
    ]
    assert fired(Stretch.EVENING, TABLE) == []


class Recorded:
    """A day that is scraped once per real second, which is two minutes of the day."""

    def __init__(self) -> None:
        self.real = FakeClock()
        self.clock = DayClock(RATE, self.real)
        self.server: list[Scrape] = []
        self.minion: list[Scrape] = []
        self._begin_s = self.real.now()
        self._failed = 0.0

    def live(self, answers: Callable[[float], bool] = lambda _hour: True, restart_h: float = 25) -> Recorded:
        """Let 24 hours pass, with a restart of the server that takes 40 real seconds."""
        while (hour := self.clock.now_s / HOUR_S) <= 24:
            if hour >= restart_h:
                with self.clock.at_rate(1):
                    self._scrape(hour, 40, lambda _hour: False)
                restart_h = 25
            self._scrape(hour, 1, answers)
        return self

    def _scrape(self, hour: float, seconds: int, answers: Callable[[float], bool]) -> None:
        for _ in range(seconds):
            now_s = self.real.now()
            self.server.append(Scrape(now_s, self._of_server(hour, now_s) if answers(hour) else None))
            self.minion.append(Scrape(now_s, {_FAILED: self._failed, _DONE: 10.0}))
            self.real.advance(1)

    def _of_server(self, hour: float, now_s: float) -> dict[str, float]:
        found: dict[str, float] = {
            'pinot_plugins_process_info{process="server",version="1"}': 1,
            'pinot_plugins_process_last_round_timestamp_seconds{loop="partition-pause"}': now_s - 0.9,
            'pinot_plugins_process_round_bound_seconds{loop="partition-pause"}': 120,
        }
        if 2 <= hour < 7:
            found[f'pinot_plugins_pause_since_timestamp_seconds{{table="{TABLE}"}}'] = self._at(2)
        if 8 <= hour < 9:
            found["pinot_plugins_upload_backlog_oldest_timestamp_seconds"] = self._at(8)
            self._failed += 1
        return found

    def _at(self, hour: float) -> float:
        """The real time of an hour before the restart."""
        return self._begin_s + hour * HOUR_S / RATE

    def check(self, folder: Path) -> None:
        scrapes = {"server": self.server, "minion": self.minion}
        series = day_series(scrapes, IN_RULES, self.clock.day_of, 24 * HOUR_S)
        check_alerts(series, WINDOWS, TABLE, folder)


def test_an_alert_that_should_not_fire(tmp_path: Path) -> None:
    recorded = Recorded().live(lambda hour: not 15 <= hour < 15.2)
    with pytest.raises(AssertionError, match="PinotPluginsNotScraped"):
        recorded.check(tmp_path)


def test_a_restart_that_takes_as_long_as_on_any_day_fires_nothing(tmp_path: Path) -> None:
    recorded = Recorded().live(restart_h=15)
    assert sum(scrape.samples is None for scrape in recorded.server) == 40
    recorded.check(tmp_path)


def test_an_alert_that_should_fire_and_does_not(tmp_path: Path) -> None:
    recorded = Recorded().live()
    recorded.minion.clear()
    with pytest.raises(AssertionError, match="PinotPluginsSubtasksFail"):
        recorded.check(tmp_path)
