"""The scheduler: starts FileIngestionTask at the times of each table's cron expression.

Pinot's controller cannot schedule a task type without a Java generator, so this process does. A trigger that
was missed because no scheduler was running is covered by the next one, since a run ingests whatever is new. A
trigger that fires while the cluster is unavailable runs once the cluster is back. If several schedulers run,
one is active. The others only record which triggers are due, and when one of them becomes active, it fires
what its predecessor did not (:mod:`minion_tasks.file_ingestion.run.fired`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from controller_client.clock import Clock
from controller_client.common.formats import log_skipped
from controller_client.common.names import TableName
from controller_client.errors import FormatVersionError, LeaseLostError, LockHeldError, PinotPluginError
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import SCHEDULER
from controller_client.zookeeper import Alone, Turn
from minion_tasks.file_ingestion.run.types import HeldError, NotBegunError, RunReport
from minion_tasks.scheduler_metrics import SchedulerMetrics

logger = logging.getLogger(__name__)


class Cron(Protocol):
    """A parsed cron expression."""

    def next_after(self, epoch_s: float) -> float | None:
        """Return the next time it fires after a time, both in epoch seconds; None if it never fires again."""
        ...


@dataclass
class _Table:
    """A scheduled table. Times are those of the cron expression, for the running and the waiting trigger.

    A trigger keeps its time while it waits, so that all schedulers identify it by the same time.
    """

    expression: str
    cron: Cron
    next_fire_s: float | None
    running_s: float | None = None
    waiting_s: float | None = None


class Triggers:
    """Decides which table is due; independent of clusters and threads.

    A trigger that fires during the table's previous run waits for that run to end; several waiting triggers
    count as one. A table with an invalid expression is reported once and skipped until the expression
    changes.
    """

    def __init__(self, parse: Callable[[str], Cron]) -> None:
        self._parse = parse
        self._tables: dict[TableName, _Table] = {}
        self._wrong: dict[TableName, str] = {}

    @property
    def tables(self) -> frozenset[TableName]:
        """The tables with a schedule, including those no longer scheduled whose last run has not ended."""
        return frozenset(self._tables)

    @property
    def wrong(self) -> frozenset[TableName]:
        """The tables whose expression is invalid."""
        return frozenset(self._wrong)

    def refresh(self, schedules: Mapping[TableName, str], now_s: float) -> None:
        """Update the tables and expressions; a new or changed expression first fires after ``now_s``."""
        for name in [name for name in self._tables if name not in schedules]:
            if self._tables[name].running_s is None:
                del self._tables[name]
        self._wrong = {name: wrong for name, wrong in self._wrong.items() if name in schedules}
        for name, expression in schedules.items():
            previous = self._tables.get(name)
            if self._wrong.get(name) == expression or (
                previous is not None and previous.expression == expression
            ):
                continue
            try:
                cron = self._parse(expression)
            except PinotPluginError as error:
                logger.error("%s is not scheduled: %s", name, error)
                self._wrong[name] = expression
                self._tables.pop(name, None)
                continue
            self._wrong.pop(name, None)
            next_fire_s = cron.next_after(now_s)
            running_s = previous.running_s if previous else None
            waiting_s = previous.waiting_s if previous else None
            self._tables[name] = _Table(expression, cron, next_fire_s, running_s, waiting_s)

    def pass_time(self, now_s: float) -> None:
        """Record which triggers have become due; if a table has several, the last."""
        for table in self._tables.values():
            if table.next_fire_s is not None and table.next_fire_s <= now_s:
                table.waiting_s = table.next_fire_s
                table.next_fire_s = table.cron.next_after(now_s)

    def due(self, now_s: float) -> dict[TableName, float]:
        """Return the tables to run now; each counts as running until `ended` is called.

        Returns:
            Maps each table to the time of the cron expression that it runs for, in epoch seconds.
        """
        self.pass_time(now_s)
        start: dict[TableName, float] = {}
        for name, table in self._tables.items():
            if table.waiting_s is not None and table.running_s is None:
                start[name] = table.running_s = table.waiting_s
                table.waiting_s = None
        return start

    def ended(self, name: TableName, *, again: bool = False) -> None:
        """Record that the table's run has ended; ``again``: it could not begin and is due again at once."""
        table = self._tables.get(name)
        if table is None:
            return
        if again and table.waiting_s is None:
            table.waiting_s = table.running_s
        table.running_s = None


class Scheduler:
    """The loop around `Triggers`.

    Args:
        schedules: Returns the current cron expression of each table (`Schedules.read`).
        run: Runs the task of one table for a time of its cron expression (epoch seconds) and returns its
            report, or None if another scheduler has already run it; called in a separate thread.
        parse: Parses a cron expression.
        clock: The clock.
        refresh_s: Seconds between reads of the schedules.
        tick_s: Seconds between checks for due triggers.
        metrics: Records rounds and runs; None: they are not published.
        pool: Runs the tables in parallel; shut down at the end. Default: eight threads.
        turn: Whether this scheduler is the active one. Released when the scheduler stops, before its current
            runs have ended: each of them holds its table's lock.
    """

    def __init__(
        self,
        schedules: Callable[[], Mapping[TableName, str]],
        run: Callable[[TableName, float], RunReport | None],
        parse: Callable[[str], Cron],
        clock: Clock,
        *,
        metrics: SchedulerMetrics | None = None,
        refresh_s: float = 30.0,
        tick_s: float = 1.0,
        pool: Executor | None = None,
        turn: Turn | None = None,
    ) -> None:
        self._schedules = schedules
        self._run = run
        self._clock = clock
        self._metrics = metrics or SchedulerMetrics(Monitoring(SCHEDULER, clock), clock)
        self._refresh_s = refresh_s
        self._tick_s = tick_s
        self._triggers = Triggers(parse)
        self._lock = threading.Lock()
        self._turn = turn or Alone()
        self._pool = pool or ThreadPoolExecutor(8, thread_name_prefix="ingestion")
        self._not_begun_s: dict[TableName, float] = {}

    def serve(self, stop: threading.Event) -> None:
        """Run until ``stop`` is set, then wait for the current runs to end."""
        refreshed_s: float | None = None
        try:
            while not stop.is_set():
                if refreshed_s is None or self._clock.monotonic() - refreshed_s >= self._refresh_s:
                    self._refresh()
                    refreshed_s = self._clock.monotonic()
                self._tick()
                self._metrics.round_ended()
                self._clock.sleep(self._tick_s)
        finally:
            self._turn.release()
            self._metrics.stopping()
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _tick(self) -> None:
        now_s = self._clock.now()
        with self._lock:
            if not self._turn.is_holder:
                self._triggers.pass_time(now_s)
                self._metrics.stands_by()
                return
            due = self._triggers.due(now_s)
        for name, scheduled_s in due.items():
            self._pool.submit(self._run_one, name, scheduled_s)

    def _refresh(self) -> None:
        try:
            schedules = self._schedules()
        except PinotPluginError as error:
            logger.warning("table configs could not be read; the last schedules stay in effect: %s", error)
            self._metrics.refresh_failed(error)
            return
        with self._lock:
            self._triggers.refresh(schedules, self._clock.now())
            self._metrics.refreshed(self._triggers.tables, self._triggers.wrong)

    def _run_one(self, name: TableName, scheduled_s: float) -> None:
        again = False
        self._metrics.run_began(name)
        try:
            if self._turn.is_holder:  # may have been lost while this run waited for a thread
                logger.info("%s: triggered by its schedule", name)
                self._metrics.run_ended(name, self._run(name, scheduled_s))
            else:
                self._metrics.run_ended(name, None)
                again = True
        except NotBegunError as error:
            self._could_not_begin(name, scheduled_s, error)
            again = True
        except (LockHeldError, LeaseLostError) as error:
            # Waiting inside the run would keep the scheduler from stopping.
            logger.info("%s: still waiting: %s", name, error)
            self._metrics.run_ended(name, None)
            again = True
        except HeldError as error:
            logger.info("%s: not run: %s", name, error)
            self._metrics.run_failed(name, error)
        except FormatVersionError as error:
            # Every trigger fails like this until this process is upgraded; the metrics count each one.
            log_skipped(logger, error)
            self._metrics.run_failed(name)
        except PinotPluginError as error:
            logger.error("%s: run failed: %s", name, error)
            self._metrics.run_failed(name, error)
        except Exception:
            logger.exception("%s: run failed with an unexpected error", name)
            self._metrics.run_failed(name)
        finally:
            with self._lock:
                self._triggers.ended(name, again=again)

    def _could_not_begin(self, name: TableName, scheduled_s: float, error: NotBegunError) -> None:
        """Count a trigger as failed once, although it is retried at each tick."""
        if self._not_begun_s.get(name) == scheduled_s:
            self._metrics.run_ended(name, None)
            return
        self._not_begun_s[name] = scheduled_s
        logger.error("%s: run could not begin and will be retried: %s", name, error)
        self._metrics.run_failed(name)
