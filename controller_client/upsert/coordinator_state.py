"""Whether the key coordinator of an upsert table is running: its lock and its records."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller_client.common.names import TableName
from controller_client.upsert.record import LOCK, CoordinatorRecord, coordinator_path, read_coordinator
from controller_client.zookeeper import LockHolder, PropertyStore, TableLock

__all__ = ["CoordinatorPhase", "CoordinatorState", "read_coordinator_state"]


class CoordinatorPhase(StrEnum):
    """The phase of a key coordinator."""

    NEVER_STARTED = "never started"
    STARTING = "starting"
    RUNNING = "running"
    STOPPED = "stopped"


@dataclass(frozen=True)
class CoordinatorState:
    """The state of a table's key coordinator.

    Attributes:
        record: Its last report; None before its first version.
        holder: The process that holds its lock; None: it is not running.
        has_begun: Whether it has started a generation, i.e. has been started before.
    """

    record: CoordinatorRecord | None
    holder: LockHolder | None
    has_begun: bool

    @property
    def phase(self) -> CoordinatorPhase:
        """The phase it is in."""
        if self.holder is not None:
            return CoordinatorPhase.RUNNING if self.record else CoordinatorPhase.STARTING
        started = self.record is not None or self.has_begun
        return CoordinatorPhase.STOPPED if started else CoordinatorPhase.NEVER_STARTED

    def line(self) -> str:
        """Return the state as a sentence."""
        match self.phase:
            case CoordinatorPhase.NEVER_STARTED:
                return "its key coordinator has never been started: run 'pinotctl upsert coordinate'"
            case CoordinatorPhase.STARTING:
                return f"its key coordinator is starting and has not sent a version yet: {self.holder}"
        stopped = "" if self.holder else "; it is not running: run 'pinotctl upsert coordinate'"
        if self.record is None:
            return f"its key coordinator has not sent a version{stopped}"
        return (
            f"key coordinator: generation {self.record.generation}, version {self.record.version}, "
            f"{self.record.keys:,} keys{stopped}"
        )


def read_coordinator_state(store: PropertyStore, table: TableName) -> CoordinatorState:
    """Read the state of a table's key coordinator.

    Args:
        store: The cluster's property store.
        table: Name with type.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    generation = f"{coordinator_path(store, table).rpartition('/')[0]}/generation"
    return CoordinatorState(
        read_coordinator(store, table),
        TableLock(store, table, LOCK, "").holder(),
        store.connection.exists(generation),
    )
