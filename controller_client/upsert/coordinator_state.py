"""Whether the key coordinator of an upsert table runs: who holds its lock, and what it has left."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller_client.common.names import TableName
from controller_client.upsert.record import LOCK, CoordinatorRecord, coordinator_path, read_coordinator
from controller_client.zookeeper import LockHolder, PropertyStore, TableLock

__all__ = ["CoordinatorPhase", "CoordinatorState", "read_coordinator_state"]


class CoordinatorPhase(StrEnum):
    """Where a key coordinator is."""

    NEVER_STARTED = "never started"
    STARTING = "starting"
    RUNNING = "running"
    STOPPED = "stopped"


@dataclass(frozen=True)
class CoordinatorState:
    """What is there of a table's key coordinator.

    Attributes:
        record: What it reported last; None before its first version.
        holder: Who holds its lock; None: it does not run.
        has_begun: Whether it has begun a generation, so it was started once.
    """

    record: CoordinatorRecord | None
    holder: LockHolder | None
    has_begun: bool

    @property
    def phase(self) -> CoordinatorPhase:
        """Where it is."""
        if self.holder is not None:
            return CoordinatorPhase.RUNNING if self.record else CoordinatorPhase.STARTING
        started = self.record is not None or self.has_begun
        return CoordinatorPhase.STOPPED if started else CoordinatorPhase.NEVER_STARTED

    def line(self) -> str:
        """Say it in a sentence."""
        match self.phase:
            case CoordinatorPhase.NEVER_STARTED:
                return "its key coordinator has never been started: pinotctl upsert coordinate"
            case CoordinatorPhase.STARTING:
                return f"its key coordinator is starting, and has sent no version yet: {self.holder}"
        stopped = "" if self.holder else "; it does not run now: pinotctl upsert coordinate"
        if self.record is None:
            return f"its key coordinator has sent no version{stopped}"
        return (
            f"key coordinator: generation {self.record.generation}, version {self.record.version}, "
            f"{self.record.keys:,} keys{stopped}"
        )


def read_coordinator_state(store: PropertyStore, table: TableName) -> CoordinatorState:
    """Read it.

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
