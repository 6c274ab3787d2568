"""Repairs many segments in parallel."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from controller_client.deepstore.judge import Judgement
from controller_client.deepstore.repair import Repaired, Repairer, RepairOutcome
from controller_client.errors import ConfigError

__all__ = ["repair_all"]

logger = logging.getLogger(__name__)


def repair_all(
    repairer: Repairer,
    judged: Iterable[Judgement],
    *,
    parallel: int,
    dry_run: bool = False,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Repaired]:
    """Repair the faults that a new copy in the store fixes; yield results as they are ready.

    Args:
        repairer: Repairs one segment; called in several threads.
        judged: Segments of an audit; those that are not repairable are skipped.
        parallel: Segments at a time; each one loads a server's disk and the network to the store.
        dry_run: Only report what would be done.
        stopped: Checked before each segment is started; segments in progress are finished.

    Raises:
        ConfigError: ``parallel`` is less than 1.
    """
    if parallel < 1:
        raise ConfigError(f"the number of segments at a time is {parallel}", expected="at least 1")
    waiting = (judgement for judgement in judged if judgement.repairable)
    with ThreadPoolExecutor(parallel, thread_name_prefix="deep-store-repair") as pool:
        running: set[Future[Repaired]] = set()
        while True:
            if not stopped():
                for judgement in islice(waiting, parallel - len(running)):
                    running.add(pool.submit(_repaired, repairer, judgement, dry_run=dry_run))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


def _repaired(repairer: Repairer, judged: Judgement, *, dry_run: bool) -> Repaired:
    """Repair one segment; any error becomes its outcome, and the others continue."""
    record = judged.record
    try:
        return repairer.repair(judged, dry_run=dry_run)
    except Exception as error:  # a boundary: one segment's record must not affect other segments
        logger.exception("the repair of %s of %s failed", record.segment, record.table)
        message = f"{type(error).__name__}: {error}"
        return Repaired(record.table, record.segment, RepairOutcome.FAILED, message=message)
