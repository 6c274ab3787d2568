"""The progress of a key coordinator: its record in ZooKeeper, its log lines, its metrics."""

from __future__ import annotations

from collections.abc import Callable

from controller_client.clock import Clock
from controller_client.common.names import TableName
from controller_client.upsert.columns import NIL
from controller_client.upsert.generation import Generation
from controller_client.upsert.record import CoordinatorRecord, read_coordinator, write_coordinator
from controller_client.zookeeper import PropertyStore
from key_coordinator.report import VersionReport
from key_coordinator.state.store import StoredUpTo

__all__ = ["CoordinatorProgress"]

_EVERY_S = 1.0


class CoordinatorProgress:
    """Writes the coordinator's record at most once a second; one thread uses it.

    Args:
        store: The cluster's ZooKeeper.
        table: Name with type.
        clock: Time.
        on_version: Called after each version.
    """

    def __init__(
        self,
        store: PropertyStore,
        table: TableName,
        clock: Clock,
        *,
        on_version: Callable[[VersionReport], None],
    ) -> None:
        self._store = store
        self._table = table
        self._clock = clock
        self._on_version = on_version
        self._record = CoordinatorRecord(0, 0)
        self._refused = 0
        self._due = False
        self._wrote_s = 0.0

    def newest_sent(self) -> int:
        """Return the newest version recorded as sent by a coordinator of the table; ``NIL`` for none.

        Raises:
            UnreachableError: ZooKeeper does not answer.
        """
        record = read_coordinator(self._store, self._table)
        return NIL if record is None else max(record.version, int(record.details.get("sent", NIL)))

    def begin(self, generation: Generation, up_to: StoredUpTo | None) -> None:
        """Continue a generation from its stored state; raises what :meth:`flush` raises."""
        old = read_coordinator(self._store, self._table)
        version, at_ms = (old.version, old.at_ms) if old else (NIL, 0)
        self._refused = up_to.refused if up_to else 0
        sent = max(up_to.version if up_to else NIL, self.newest_sent())
        details = {
            **(old.details if old and old.generation == generation.number else {}),
            "engine": generation.engine,
            "sent": str(sent),
            "unread": str(self._refused),
        }
        self._record = CoordinatorRecord(
            generation.number, generation.base, version, at_ms, up_to.keys if up_to else 0, details
        )
        self._due = True
        self.flush()

    def add(self, report: VersionReport) -> None:
        """Record a version; raises what :meth:`flush` raises."""
        old = self._record
        self._refused += report.refused
        now_ms = int(self._clock.now() * 1000)
        self._record = CoordinatorRecord(
            old.generation,
            old.base,
            old.version if report.held_back else report.version,
            old.at_ms if report.held_back else now_ms,
            report.keys,
            {
                "engine": old.details.get("engine", ""),
                "sent": str(report.version),
                "rows": str(report.rows),
                "unread": str(self._refused),
                "heldBack": str(report.held_back).lower(),
                **({} if report.lag is None else {"lag": str(report.lag)}),
                **({} if report.example is None else {"unreadExample": report.example}),
            },
        )
        self._due = True
        if self._clock.monotonic() - self._wrote_s >= _EVERY_S:
            self.flush()
        self._on_version(report)

    def flush(self) -> None:
        """Write the record if it has changed.

        Raises:
            UnreachableError: ZooKeeper does not answer.
            OutcomeUnknownError: The reply was lost; the record is rewritten with the next version.
        """
        if self._due:
            write_coordinator(self._store, self._table, self._record)
            self._wrote_s = self._clock.monotonic()
            self._due = False
