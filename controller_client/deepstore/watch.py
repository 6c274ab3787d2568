"""Audits and repairs at an interval, until it is stopped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from controller_client.clock import Clock
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.repair import Outcome, Repairer
from controller_client.deepstore.repair_many import repair_all
from controller_client.deepstore.report import AuditReport
from controller_client.errors import PinotPluginError
from controller_client.zookeeper import Alone, Turn

__all__ = ["Watch"]

_POLL_S = 0.5
"""So often it is asked whether this watch has its turn."""

logger = logging.getLogger(__name__)


class Watch:
    """The service. Of several one has its turn; should two repair the same segment, that does no harm.

    Args:
        audit: Looks at all segments; runs in the thread of :meth:`serve`.
        repairer: Repairs one segment; None: only audit.
        metrics: Gets what was seen and done.
        clock: Time.
        interval_s: Seconds from the end of a round to the start of the next.
        parallel: Segments that are repaired at a time.
        turn: Whether this watch has rounds. Given up when it stops, before the repairs that go on have ended.
        sweep: Deletes leftovers in the store, asks before each whether to stop, and returns how many it has
            deleted; runs after the repairs, in the thread of :meth:`serve`. None: nothing is swept.
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
        """Run rounds until the event is set; repairs that are under way then are finished.

        A round that breaks off, because controller or ZooKeeper do not answer, is logged and counted, and so
        is one that had to leave a table out; the next one comes at its time.
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
            Whether all tables were inspected; what is wrong with the others is in the log and the metrics.
        """
        report = self._audit()
        self._metrics.audited(report)
        logger.info("%s", report.summary())
        if self._repairer is not None:
            self._repair(self._repairer, report, stop)
        if self._sweep is not None and (deleted := self._sweep(lambda: self._is_over(stop))):
            self._metrics.swept(deleted)
            logger.info("%d leftovers in the store were deleted", deleted)
        return not report.failed

    def _repair(self, repairer: Repairer, report: AuditReport, stop: threading.Event) -> None:
        for each in repair_all(
            repairer, report.faulty, parallel=self._parallel, stopped=lambda: self._is_over(stop)
        ):
            self._metrics.repaired(each)
            level = logging.INFO if each.outcome is not Outcome.FAILED else logging.WARNING
            logger.log(level, "%s of %s: %s %s", each.segment, each.table, each.outcome, each.message or "")

    def _pause(self, stop: threading.Event) -> None:
        """Wait for the next round, unless the turn ends before: what was seen is another's to tell then."""
        left_s = self._interval_s
        while left_s > 0 and not stop.is_set() and self._turn.is_holder:
            stop.wait(min(left_s, _POLL_S))
            left_s -= _POLL_S

    def _is_over(self, stop: threading.Event) -> bool:
        if stop.is_set():
            self._turn.release()
        return stop.is_set() or not self._turn.is_holder
