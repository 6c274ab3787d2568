"""Which scheduled trigger of a table was made last, kept in ZooKeeper: several schedulers make each one once.

::

    /<cluster>/PROPERTYSTORE/MINION_TASK_METADATA/<tableNameWithType>/FileIngestionTask/schedule
        format     version of the record
        firedMs    the time of the cron expression that the last trigger was made for
        by         the scheduler that made it, for people

A scheduler that has a lease writes it in one transaction with a check that it still has it.
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

# A time further ahead than this was written by a clock that was wrong; it must not stop the schedule.
_MAX_AHEAD_MS = 24 * 3600 * 1000


Guard = Callable[[], Write]


def fired_path(table: TableName) -> str:
    """Return the path of a table's record in the property store; the table's name is with type."""
    return f"/MINION_TASK_METADATA/{table}/{TASK_TYPE}/schedule"


class FiredTriggers:
    """The last trigger of each table. A trigger is known by the time of the cron expression, not of its run.

    Args:
        store: ZooKeeper.
        clock: Time.
        owner: Who makes triggers, for people.
    """

    def __init__(self, store: PropertyStore, clock: Clock, owner: str) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner

    def was_made(self, table: TableName, scheduled_s: float) -> bool:
        """Return whether this trigger, or a later one, was made by any scheduler.

        Args:
            table: Name with type.
            scheduled_s: The trigger's time by the cron expression, epoch seconds.

        Raises:
            FormatVersionError: A later release wrote the record.
        """
        return self._covers(self._read(table), round(scheduled_s * 1000))

    def claim(self, table: TableName, scheduled_s: float, *, guard: Guard | None = None) -> bool:
        """Write down that this trigger is made now; call it while holding the table's lock.

        Args:
            table: Name with type.
            scheduled_s: As of :meth:`was_made`.
            guard: Makes what has to be so at the very moment of the write (`Lease.guard`); called in the
                caller's thread, once for each attempt.

        Returns:
            False if this trigger, or a later one, was made already.

        Raises:
            FormatVersionError: A later release wrote the record; the trigger must not be made.
            ConflictError: The record kept changing.
            LeaseLostError: The guard's; the trigger must not be made.
            OutcomeUnknownError: It is unknown whether it was written; the trigger must not be made.
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
        # Another scheduler may have been first, with the same trigger or a later one.
        return done.was_needed and fields.items() <= done.current.record.simple_fields.items()

    def _covers(self, found: ZNRecord | None, scheduled_ms: int) -> bool:
        if found is None:
            return False
        fired_ms = int(found.simple_fields["firedMs"])
        return scheduled_ms <= fired_ms <= self._clock.now() * 1000 + _MAX_AHEAD_MS

    def _read(self, table: TableName) -> ZNRecord | None:
        path = fired_path(table)
        try:
            found = self._store.get(path)
            if found is None:
                return None
            FIRED_FORMAT.check(found.record.simple_fields, path)
            int(found.record.simple_fields["firedMs"])
        except (DataError, KeyError, ValueError) as error:
            logger.warning("the damaged record of the last trigger is deleted: %s: %s", path, error)
            with contextlib.suppress(NotFoundError):
                self._store.delete(path)
            return None
        return found.record
