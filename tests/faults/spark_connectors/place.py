"""A table whose ids show which writes are in it, and a reader that queries it continuously."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.rest.lineage import LineageState
from spark_connectors.options import WriteOptions, parse_options
from spark_connectors.write.plan import WritePlan
from spark_connectors.write.sweeping import sweep
from tests.integration.file_ingestion.ingestion import Reader
from tests.integration.spark_connectors.conftest import ID_COLUMN, Connector, SparkTable, with_ids
from tests.support.expiry import expire_children
from tests.support.faulty_http import FaultyHttp
from tests.support.reader_polls import TALLY
from tests.support.wait import wait_for
from tests.unit.fake_clock import FakeClock

State = tuple[int, float]
_TWO_SEGMENTS = {"createTable": "true", "maxNumRecordsPerSegment": "10"}
_EIGHT_DAYS_S = 8 * 24 * 3600.0


def state_of(*ids: range) -> State:
    """Return count and sum of the ids."""
    return sum(map(len, ids)), float(sum(map(sum, ids)))


@dataclass
class Place:
    """A table with the rows of some writes.

    Attributes:
        proxy: Before the controller; writes with a fault use it.
        held: The ids that the table has; none: there is no table yet.
        is_sound: Whether the last fault ended as it should, so that the next may use the table.
    """

    table: SparkTable
    spark: SparkSession
    connector: Connector
    proxy: FaultyHttp
    held: list[range] = field(default_factory=list)
    is_sound: bool = False

    @property
    def state(self) -> State:
        return state_of(*self.held)

    def options(self, write_id: str) -> dict[str, str]:
        """Options of a write through the proxy."""
        return {**self.table.options, **_TWO_SEGMENTS, "controller": self.proxy.url, "writeId": write_id}

    def write(self, ids: range, mode: str, **options: str) -> None:
        """Write without Spark."""
        rows = with_ids(ids)
        self.connector.write(self.table.options, mode, ID_COLUMN, rows, **_TWO_SEGMENTS, **options)

    def write_by_spark(self, ids: range, mode: str, **options: str) -> None:
        """Write with Spark."""
        self.table.write(self.spark.range(ids.start, ids.stop, 1, 1), mode, **_TWO_SEGMENTS, **options)

    def free_lock(self) -> None:
        """Simulate the expiry of the session, which releases the lock of a dead driver."""
        pinot = self.table.pinot
        expire_children(
            pinot.zookeeper_address,
            f"/{pinot.cluster_name}/PINOT_PLUGINS/locks/{self.table.typed}/SparkWrite",
        )


def sweep_much_later(table: SparkTable) -> None:
    """Sweep as the next write does, after a time longer than any live write is without a new file."""
    options = parse_options(WriteOptions, table.options)
    plan = WritePlan.make(options, ID_COLUMN, overwrite=False)
    clock = FakeClock(time.time() + _EIGHT_DAYS_S)
    with ControllerClient(options.controller_config(), clock=clock) as client:
        sweep(plan, client)


def in_progress(table: SparkTable) -> list[str]:
    """Return the lineage entries."""
    entries = table.client.lineage.list(table.typed)
    return [entry.entry_id for entry in entries if entry.state is LineageState.IN_PROGRESS]


def assert_clean(table: SparkTable) -> None:
    """Wait until only the served segments and those that they replaced are left."""
    assert table.staged() == []
    assert in_progress(table) == []
    replaced = {
        name
        for entry in table.client.lineage.list(table.typed)
        if entry.state is LineageState.COMPLETED
        for name in entry.segments_from
    }

    def left() -> set[str]:
        everything = set(table.client.segments.list(table.typed, exclude_replaced=False))
        return everything - replaced - set(table.segments())

    wait_for(lambda: not left(), "unused segments to be deleted")


@contextmanager
def watched(table: SparkTable, *whole: State) -> Iterator[Reader]:
    """Run a second reader, which must see only these states."""
    with BrokerClient([table.pinot.broker_url]) as broker:
        reader = Reader(broker, f"select count(*), sum(id) from {table.name}")
        reader.start()
        try:
            yield reader
        finally:
            reader.stop()
    assert (reader.errors, reader.partials) == ([], [])
    assert reader.polls
    assert len(reader.seen) == len(set(reader.seen)), f"an older state was seen again: {reader.seen}"
    assert not TALLY.add(reader.polls, reader.seen, set(whole))
