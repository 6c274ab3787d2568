"""Audits and repairs at an interval, until stopped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from controller_client.clock import Clock
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.repair import Repairer, RepairOutcome
from controller_client.deepstore.repair_many import repair_all
from controller_client.deepstore.report import AuditReport
from controller_client.errors import PinotPluginError
from controller_client.zookeeper import Alone, Turn

__all__ = ["Watch"]

_POLL_S = 0.5
"""How often the watch checks whether it has its turn."""

logger = logging.getLogger(__name__)


class Watch:
    """The watch service. Of several watches, one has its turn; two repairs of one segment would do no harm.

    Args:
        audit: Audits all segments; runs in the thread of :meth:`serve`.
        repairer: Repairs one segment; None: only audit.
        metrics: Records what was found and done.
        clock: The clock.
        interval_s: Seconds from the end of a round to the start of the next.
        parallel: Segments to repair at a time.
        turn: Whether this watch runs rounds. Released when it stops, before repairs in progress finish.
        sweep: Deletes leftovers in the store and returns how many; checks before each one whether to stop.
            Runs after the repairs, in the thread of :meth:`serve`. None: nothing is swept.
    """

    def __init__(
        self,
        audit: Callable[[], AuditReport],
        repairer: Repairer | None,
        metrics: WatchMetrics,
        clock: Clock,
        *,
        interval_s: float,
        parallel: int,
        turn: Turn | None = None,
        sweep: Callable[[Callable[[], bool]], int] | None = None,
    ) -> None:
        self._sweep = sweep
        self._audit = audit
        self._repairer = repairer
        self._metrics = metrics
        self._clock = clock
        self._interval_s = interval_s
        self._parallel = parallel
        self._turn = turn or Alone()

    def serve(self, stop: threading.Event) -> None:
        """Run rounds until the event is set; repairs in progress are then finished.

        A round that is aborted because the controller or ZooKeeper does not answer, or that had to skip a
        table, is logged and counted; the next round starts as usual.
        """
        while not stop.is_set():
            if not self._turn.is_holder:
                self._metrics.stands_by()
                stop.wait(_POLL_S)
                continue
            started_s = self._clock.monotonic()
            self._metrics.round_begins()
            try:
                well = self.round(stop)
            except (PinotPluginError, OSError) as error:
                logger.error("this round of the watch was aborted: %s", error)
                well = False
            took_s = self._clock.monotonic() - started_s
            self._metrics.round_ended(took_s, well=well)
            self._pause(stop)

    def round(self, stop: threading.Event) -> bool:
        """Audit, repair, then sweep.

        Returns:
            Whether all tables were audited; the log and the metrics show what is wrong with the others.
        """
        report = self._audit()
        self._metrics.audited(report)
        logger.info("%s", report.summary())
        if self._repairer is not None:
            self._repair(self._repairer, report, stop)
        if self._sweep is not None and (deleted := self._sweep(lambda: self._is_over(stop))):
            self._metrics.swept(deleted)
            logger.info("deleted %d leftovers in the store", deleted)
        return not report.failed

    def _repair(self, repairer: Repairer, report: AuditReport, stop: threading.Event) -> None:
        for repair in repair_all(
            repairer, report.faulty, parallel=self._parallel, stopped=lambda: self._is_over(stop)
        ):
            self._metrics.repaired(repair)
            level = logging.INFO if repair.outcome is not RepairOutcome.FAILED else logging.WARNING
            logger.log(
                level, "%s of %s: %s %s", repair.segment, repair.table, repair.outcome, repair.message or ""
            )

    def _pause(self, stop: threading.Event) -> None:
        """Wait for the next round, unless the turn ends before: then another watch reports instead."""
        left_s = self._interval_s
        while left_s > 0 and not stop.is_set() and self._turn.is_holder:
            stop.wait(min(left_s, _POLL_S))
            left_s -= _POLL_S

    def _is_over(self, stop: threading.Event) -> bool:
        if stop.is_set():
            self._turn.release()
        return stop.is_set() or not self._turn.is_holder
