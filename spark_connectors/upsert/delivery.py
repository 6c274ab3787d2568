"""Delivers each batch on the driver: sends its events, then its end, then writes the coordinator's record.

If a batch failed or its driver was killed, Spark runs it again with the same input and the same state. It has
the same version and the same events, which are sent again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from controller_client.clock import Clock
from controller_client.errors import ConflictError
from controller_client.upsert.generation import Generation
from controller_client.upsert.record import CoordinatorRecord
from controller_client.upsert.update_message import Events, VersionEnd
from key_coordinator.report import VersionReport
from spark_connectors.upsert.processor import COUNTS

__all__ = ["Batches", "Delivery", "Sink"]


class Batches(Protocol):
    """Returns the input offsets of a batch; see ``Checkpoint``."""

    def begins(self, batch: int) -> Mapping[int, int]:
        """Return the first offset, by partition."""
        ...

    def ends(self, batch: int) -> Mapping[int, int]:
        """Return the offset after the last, by partition."""
        ...


class Sink(Protocol):
    """Accepts messages; see ``UpdatesTopic``. A call returns once the messages are durable."""

    def ensure(self, partitions: int) -> int:
        """Ensure at least this many partitions; return the actual number."""
        ...

    def send_events(self, events: Mapping[int, Events]) -> None:
        """Send events, by partition."""
        ...

    def send_ends(self, ends: Mapping[int, VersionEnd]) -> None:
        """Send the end of a version, by partition."""
        ...


class Delivery:
    """Spark's ``foreachBatch`` function of one run of the query.

    Args:
        generation: The current generation.
        batches: The batches of its checkpoint.
        sink: The updates topic.
        record: The coordinator's current record.
        write: Writes that record.
        on_version: Called after each batch.
        may_send: Returns False once somebody else may hold the table's lock.
        lag: Returns the lag, as in ``VersionReport``.
        clock: The clock, for the time of ends.
    """

    def __init__(
        self,
        generation: Generation,
        batches: Batches,
        sink: Sink,
        record: CoordinatorRecord,
        *,
        write: Callable[[CoordinatorRecord], None],
        on_version: Callable[[VersionReport], None],
        may_send: Callable[[], bool],
        lag: Callable[[], int | None],
        clock: Clock,
    ) -> None:
        self._generation = generation
        self._batches = batches
        self._sink = sink
        self._record = record
        self._write = write
        self._on_version = on_version
        self._may_send = may_send
        self._lag = lag
        self._clock = clock
        self._one_at_a_time = threading.Lock()
        self._closed = False

    def close(self) -> None:
        """Stop sending, after waiting for the batch that is being sent."""
        with self._one_at_a_time:
            self._closed = True

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Deliver a batch; called by Spark's JVM in a thread of the driver."""
        table = frame.toArrow()  # the only action, since each one would run the batch
        with self._one_at_a_time:
            if self._closed or not self._may_send():
                raise ConflictError("this coordinator is stopping; the next one delivers the batch")
            self._deliver(table, batch)

    def _deliver(self, table: pa.Table, batch: int) -> None:
        version = self._generation.base + batch
        ends = self._batches.ends(batch)
        partitions = self._sink.ensure(max(ends) + 1)
        events = _events(table, version)
        self._sink.send_events(events)
        held_back = self._generation.holds_back(ends)
        now_ms = int(self._clock.now() * 1000)
        if not held_back:
            begins = self._batches.begins(batch)
            self._sink.send_ends(
                {
                    partition: VersionEnd(version, begins.get(partition, 0), ends.get(partition, 0), now_ms)
                    for partition in range(partitions)
                }
            )
        self._record_batch(
            table, batch, sum(len(each.offsets) for each in events.values()), held_back, now_ms
        )

    def _record_batch(self, table: pa.Table, batch: int, events: int, held_back: bool, now_ms: int) -> None:
        old, version = self._record, self._generation.base + batch
        rows, unread, growth = (sum(table.column(name).to_pylist()) for name in ("rows", "unread", "growth"))
        # A batch that runs again after its record was written is already counted.
        again = old.generation == self._generation.number and int(old.details.get("sent", -1)) >= version
        keys = old.keys if again else (old.keys if batch else 0) + growth
        unread_before = int(old.details.get("unread", 0)) if again or batch else 0
        all_unread = unread_before + (0 if again else unread)
        lag = self._lag()
        self._record = CoordinatorRecord(
            self._generation.number,
            self._generation.base,
            old.version if held_back else version,
            old.at_ms if held_back else now_ms,
            keys,
            {
                "engine": self._generation.engine,
                "sent": str(version),
                "rows": str(rows),
                "unread": str(all_unread),
                "heldBack": str(held_back).lower(),
                **({} if lag is None else {"lag": str(lag)}),
                "partitions": str(self._generation.partitions),
                "buckets": str(self._generation.buckets),
            },
        )
        self._write(self._record)
        self._on_version(VersionReport(version, rows, unread, events, keys, held_back, lag))


def _events(table: pa.Table, version: int) -> dict[int, Events]:
    inserted: dict[int, list[bytes]] = {}
    deleted: dict[int, list[bytes]] = {}
    columns = (table.column(name).to_pylist() for name in ("partition", "inserted", "deleted"))
    for partition, new, gone in zip(*columns, strict=True):
        if partition != COUNTS:
            inserted.setdefault(partition, []).append(new)
            deleted.setdefault(partition, []).append(gone)
    events = {}
    for partition in sorted(inserted):
        new, gone = _sorted(inserted[partition]), _sorted(deleted[partition])
        flags = np.repeat([False, True], [len(new), len(gone)])
        events[partition] = Events(version, np.concatenate([new, gone]), flags)
    return events


def _sorted(parts: list[bytes]) -> NDArray[np.int64]:
    # Sorted, so that a repeated batch sends identical messages.
    return np.sort(np.frombuffer(b"".join(parts), "<i8").astype(np.int64))
