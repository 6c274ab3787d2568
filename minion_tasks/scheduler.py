"""The scheduler: starts FileIngestionTask at the times of each table's cron expression.

Pinot's controller cannot schedule a task type that it has no Java generator for, so this process does. A
trigger that fell into a time when no scheduler ran is made up for by the next, since a run takes whatever is
new; one that finds the cluster away is made when that is back. Of several schedulers one has its turn; the
others only note which triggers fall due, and one of them that gets its turn makes what the former one has not
made (:mod:`minion_tasks.file_ingestion.run.fired`).
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
from minion_tasks.file_ingestion.run.types import NotBegunError, RunReport
from minion_tasks.scheduler_metrics import SchedulerMetrics

logger = logging.getLogger(__name__)


class Cron(Protocol):
    """A parsed cron expression."""

    def next_after(self, epoch_s: float) -> float | None:
        """Return the next time it fires after a time, both in epoch seconds; None if it never fires again."""
        ...


@dataclass
class _Table:
    """A scheduled table. Times are those of the cron expression: of the trigger that runs, that waits.

    A trigger keeps its time while it waits, so that all schedulers know it by the same.
    """

    expression: str
    cron: Cron
    next_fire_s: float | None
    running_s: float | None = None
    waiting_s: float | None = None


class Triggers:
    """Decides which table is due; knows nothing of clusters or threads.

    A trigger that comes while the table's run is still going on waits for its end; several that wait are one
    (seed: key point 6). A table whose expression is wrong is reported once and left out until it changes.
    """

    def __init__(self, parse: Callable[[str], Cron]) -> None:
        self._parse = parse
        self._tables: dict[TableName, _Table] = {}
        self._wrong: dict[TableName, str] = {}

    @property
    def tables(self) -> frozenset[TableName]:
        """The tables with a schedule; those that are not scheduled any more, but still run, among them."""
        return frozenset(self._tables)

    @property
    def wrong(self) -> frozenset[TableName]:
        """The tables whose expression is wrong."""
        return frozenset(self._wrong)

    def refresh(self, schedules: Mapping[TableName, str], now_s: float) -> None:
        """Take in the tables and expressions as they are now; a new or changed one fires after ``now_s``."""
        for name in [name for name in self._tables if name not in schedules]:
            if self._tables[name].running_s is None:
                del self._tables[name]
        self._wrong = {name: wrong for name, wrong in self._wrong.items() if name in schedules}
        for name, expression in schedules.items():
            known = self._tables.get(name)
            if self._wrong.get(name) == expression or (known is not None and known.expression == expression):
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
            running_s = known.running_s if known else None
            waiting_s = known.waiting_s if known else None
            self._tables[name] = _Table(expression, cron, next_fire_s, running_s, waiting_s)

    def pass_time(self, now_s: float) -> None:
        """Note which triggers have fallen due; of several of a table the last."""
        for table in self._tables.values():
            if table.next_fire_s is not None and table.next_fire_s <= now_s:
                table.waiting_s = table.next_fire_s
                table.next_fire_s = table.cron.next_after(now_s)

    def due(self, now_s: float) -> dict[TableName, float]:
        """Return the tables to start now; each counts as running until `ended` is called.

        Returns:
            Table to the time of its cron expression that it is started for, epoch seconds.
        """
        self.pass_time(now_s)
        start: dict[TableName, float] = {}
        for name, table in self._tables.items():
            if table.waiting_s is not None and table.running_s is None:
                start[name] = table.running_s = table.waiting_s
                table.waiting_s = None
        return start

    def ended(self, name: TableName, *, again: bool = False) -> None:
        """Note that the table's run has ended; ``again``: it could not begin, and is due at once."""
        table = self._tables.get(name)
        if table is None:
            return
        if again and table.waiting_s is None:
            table.waiting_s = table.running_s
        table.running_s = None


class Scheduler:
    """The loop around `Triggers`.

    Args:
        schedules: Maps the tables to their cron expressions, as they are now (`Schedules.read`).
        run: Runs the task of one table, for a time of its cron expression (epoch seconds), and returns what
            it did, None where another scheduler has done it; called in a thread of its own.
        parse: Parses a cron expression.
        clock: Time.
        refresh_s: How often the schedules are read.
        tick_s: How often it is asked what is due.
        metrics: Told of rounds and runs; None: nobody sees them.
        pool: Runs the tables side by side; shut down at the end. Eight threads by default.
        turn: Whether this scheduler starts what is due. Given up when it stops, before the runs that go on
            have ended: each of them holds its table's lock.
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
        """Run until ``stop`` is set, then wait for the runs that are going on."""
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
            logger.warning("the tables' configurations cannot be read now: %s", error)
            self._metrics.refresh_failed(error)
            return
        with self._lock:
            self._triggers.refresh(schedules, self._clock.now())
            self._metrics.refreshed(self._triggers.tables, self._triggers.wrong)

    def _run_one(self, name: TableName, scheduled_s: float) -> None:
        again = False
        self._metrics.run_began(name)
        try:
            if self._turn.is_holder:  # it may have waited for a thread
                logger.info("%s: triggered by its schedule", name)
                self._metrics.run_ended(name, self._run(name, scheduled_s))
            else:
                self._metrics.run_ended(name, None)
                again = True
        except NotBegunError as error:
            self._could_not_begin(name, scheduled_s, error)
            again = True
        except (LockHeldError, LeaseLostError) as error:
            # Not waited for inside the run: the scheduler could not be stopped meanwhile.
            logger.info("%s: still waiting: %s", name, error)
            self._metrics.run_ended(name, None)
            again = True
        except FormatVersionError as error:
            # It stays so until this process is upgraded; the metrics count each trigger.
            log_skipped(logger, error)
            self._metrics.run_failed(name)
        except PinotPluginError as error:
            logger.error("%s: the run failed: %s", name, error)
            self._metrics.run_failed(name)
        except Exception:
            logger.exception("%s: the run failed unexpectedly", name)
            self._metrics.run_failed(name)
        finally:
            with self._lock:
                self._triggers.ended(name, again=again)

    def _could_not_begin(self, name: TableName, scheduled_s: float, error: NotBegunError) -> None:
        """Count a trigger as failed once, though it is tried again at each tick."""
        if self._not_begun_s.get(name) == scheduled_s:
            self._metrics.run_ended(name, None)
            return
        self._not_begun_s[name] = scheduled_s
        logger.error("%s: the run could not begin, and is tried again: %s", name, error)
        self._metrics.run_failed(name)
