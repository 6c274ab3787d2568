"""The status of an upsert table: its servers, its key coordinator, and what holds its mark back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from controller_client.common.names import TableName
from controller_client.upsert.columns import NIL
from controller_client.upsert.coordinator_state import CoordinatorState, read_coordinator_state
from controller_client.upsert.low_water_mark import TableMark, read_mark
from controller_client.upsert.record import CoordinatorRecord
from controller_client.zookeeper import PropertyStore

__all__ = ["UpsertStatus", "read_status"]


@dataclass(frozen=True)
class UpsertStatus:
    """The status at one moment.

    Attributes:
        mark: The mark, with the servers' progress.
        state: The key coordinator's state.
        now_ms: When it was read, milliseconds since 1970.
    """

    COLUMNS: ClassVar = ("server", "mark", "partition", "segment", "indexed", "applied", "holds_the_mark")

    mark: TableMark
    state: CoordinatorState
    now_ms: int

    @property
    def coordinator(self) -> CoordinatorRecord | None:
        """The key coordinator's record; None before its first version."""
        return self.state.record

    @property
    def is_well(self) -> bool:
        """Whether there is a mark, and every server has reported one."""
        return self.mark.version != NIL and not self.mark.silent

    @property
    def lag_versions(self) -> int | None:
        """How many versions the mark is behind the key coordinator; None if either has no version."""
        if self.coordinator is None or NIL in (self.mark.version, self.coordinator.version):
            return None
        return max(0, self.coordinator.version - self.mark.version)

    @property
    def lag_s(self) -> float | None:
        """The age, in seconds, of the state that queries see; 0 if it is the newest version."""
        if not self.lag_versions:
            return None if self.lag_versions is None else 0.0
        return max(0, self.now_ms - self.mark.at_ms) / 1000

    def rows(self) -> list[tuple[Any, ...]]:
        """Return a row for each server and partition, with the columns :attr:`COLUMNS`."""
        return list(self._rows())

    def lines(self) -> Iterator[str]:
        """Yield the rest of the status as sentences."""
        mark = self.mark
        if mark.version == NIL:
            yield f"{mark.table} has no mark: {mark.why_none()}"
        else:
            yield f"{mark.table} is at version {mark.version}"
        if self.lag_versions:
            yield f"{self.lag_versions} versions and {self.lag_s:.1f} s behind the key coordinator"
        if self.is_well and mark.holders:
            yield f"held back by {', '.join(mark.holders)}"
        yield self.state.line()

    def to_json(self) -> dict[str, Any]:
        """Return the complete status, for programs."""
        coordinator = self.coordinator
        return {
            "table": self.mark.table,
            "mark": self.mark.version,
            "at_ms": self.mark.at_ms,
            "lag_versions": self.lag_versions,
            "lag_s": self.lag_s,
            "holders": list(self.mark.holders),
            "silent": list(self.mark.silent),
            "partitions": [dict(zip(self.COLUMNS, row, strict=True)) for row in self._rows()],
            "coordinator_phase": self.state.phase,
            "coordinator": coordinator
            and {
                "generation": coordinator.generation,
                "version": coordinator.version,
                "at_ms": coordinator.at_ms,
                "keys": coordinator.keys,
                "details": dict(coordinator.details),
            },
        }

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for name, record in sorted(self.mark.servers.items()):
            holds = name in self.mark.holders
            if record is None or not record.partitions:
                yield (name, record.mark if record else None, None, None, None, None, holds)
                continue
            for number, progress in sorted(record.partitions.items()):
                reported = (progress.segment, progress.indexed, progress.applied)
                yield (name, record.mark, number, *reported, holds)


def read_status(store: PropertyStore, table: TableName, now_s: float) -> UpsertStatus:
    """Read the status of a table.

    Args:
        store: The cluster's property store.
        table: Name with type.
        now_s: The current time, seconds since 1970.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    return UpsertStatus(read_mark(store, table), read_coordinator_state(store, table), int(now_s * 1000))
