"""A scheduler that ticks once a minute of a fake clock and is scraped as often."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from controller_client.common.names import TableName
from controller_client.errors import ConfigError
from controller_client.monitoring import Monitoring
from controller_client.zookeeper import Turn
from minion_tasks.file_ingestion.run.types import RunReport
from minion_tasks.scheduler import Scheduler
from minion_tasks.scheduler_metrics import SchedulerMetrics
from tests.unit.alerts.promtool import Prometheus
from tests.unit.minion_tasks.test_scheduler import Inline

__all__ = ["EveryMinutes", "serve"]


class EveryMinutes:
    """Fires every given number of minutes."""

    def __init__(self, expression: str) -> None:
        if not expression.isdecimal():
            raise ConfigError(f"{expression!r} is no number of minutes")
        self._period_s = int(expression) * 60

    def next_after(self, epoch_s: float) -> float | None:
        return (epoch_s // self._period_s + 1) * self._period_s


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
