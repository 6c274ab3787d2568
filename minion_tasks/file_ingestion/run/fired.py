"""The last scheduled trigger of each table, recorded in ZooKeeper so that schedulers fire each one once.

::

    /<cluster>/PROPERTYSTORE/MINION_TASK_METADATA/<tableNameWithType>/FileIngestionTask/schedule
        format     version of the record
        firedMs    the time of the cron expression for which the last trigger was fired
        by         the scheduler that fired it; informational

A scheduler with a lease writes the record in one transaction with a check that it still has the lease.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from controller_client.clock import Clock
from controller_client.common.formats import Format, with_unknown
from controller_client.common.names import TableName
from controller_client.errors import DataError, NotFoundError
from controller_client.zookeeper import PropertyStore, Write, ZNRecord
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE

__all__ = ["FIRED_FORMAT", "FiredTriggers", "Guard", "fired_path"]

logger = logging.getLogger(__name__)

FIRED_FORMAT = Format("the record of a table's last scheduled trigger")

# A time further in the future was written by a wrong clock and must not block the schedule.
_MAX_AHEAD_MS = 24 * 3600 * 1000


Guard = Callable[[], Write]


def fired_path(table: TableName) -> str:
    """Return the path of a table's record in the property store, given the table's name with type."""
    return f"/MINION_TASK_METADATA/{table}/{TASK_TYPE}/schedule"


class FiredTriggers:
    """The last trigger of each table, identified by the time of the cron expression, not of the run.

    Args:
        store: ZooKeeper.
        clock: The clock.
        owner: Who fires triggers; informational.
    """

    def __init__(self, store: PropertyStore, clock: Clock, owner: str) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner

    def was_made(self, table: TableName, scheduled_s: float) -> bool:
        """Return whether any scheduler has fired this trigger or a later one.

        Args:
            table: Table name with type.
            scheduled_s: The trigger's time by the cron expression, in epoch seconds.

        Raises:
            FormatVersionError: A later release wrote the record.
        """
        return self._covers(self._read(table), round(scheduled_s * 1000))

    def claim(self, table: TableName, scheduled_s: float, *, guard: Guard | None = None) -> bool:
        """Record that this trigger is fired now; to be called while holding the table's lock.

        Args:
            table: Table name with type.
            scheduled_s: The trigger's time, as for :meth:`was_made`.
            guard: Creates a condition that must hold at the moment of the write (`Lease.guard`); called in
                the caller's thread, once for each attempt.

        Returns:
            False if this trigger or a later one has already been fired.

        Raises:
            FormatVersionError: A later release wrote the record; the trigger must not be fired.
            ConflictError: The record kept changing.
            LeaseLostError: The guard's condition failed; the trigger must not be fired.
            OutcomeUnknownError: It is unknown whether the record was written; the trigger must not be fired.
        """
        scheduled_ms = round(scheduled_s * 1000)
        fields = FIRED_FORMAT.stamp({"firedMs": str(scheduled_ms), "by": self._owner})

        is_covered = False

        def claimed(present: ZNRecord | None) -> ZNRecord | None:
            nonlocal is_covered
            if present is not None:
                FIRED_FORMAT.check(present.simple_fields, fired_path(table))
            is_covered = self._covers(present, scheduled_ms)
            if is_covered:
                return present
            return ZNRecord(
                "schedule", with_unknown(fields, present.simple_fields if present else {}, fields)
            )

        self._read(table)  # deletes a damaged record

        def guarded(_wanted: ZNRecord) -> list[Write]:
            return [guard()] if guard is not None and not is_covered else []

        done = self._store.change(fired_path(table), claimed, alongside=guarded)
        # Another scheduler may have fired the same trigger or a later one first.
        return done.was_needed and fields.items() <= done.current.record.simple_fields.items()

    def _covers(self, found: ZNRecord | None, scheduled_ms: int) -> bool:
        if found is None:
            return False
        fired_ms = int(found.simple_fields["firedMs"])
        return scheduled_ms <= fired_ms <= self._clock.now() * 1000 + _MAX_AHEAD_MS

    def _read(self, table: TableName) -> ZNRecord | None:
        path = fired_path(table)
        try:
            znode = self._store.get(path)
            if znode is None:
                return None
            FIRED_FORMAT.check(znode.record.simple_fields, path)
            int(znode.record.simple_fields["firedMs"])
        except (DataError, KeyError, ValueError) as error:
            logger.warning("deleting the corrupt record of the last trigger: %s: %s", path, error)
            with contextlib.suppress(NotFoundError):
                self._store.delete(path)
            return None
        return znode.record
