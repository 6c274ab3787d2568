"""Tables in memory: an ideal state and segment records."""

from __future__ import annotations

from collections.abc import Mapping

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.config import ControllerConfig
from controller_client.consumption import TableControl
from controller_client.helix.ideal_state import ConsumptionFlags, IdealState
from controller_client.models import TableConfig
from controller_client.rest.capabilities import Capabilities, PinotVersion
from controller_client.rest.lineage_entry import LineageEntry
from controller_client.zookeeper import PropertyStore, ZNRecord
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryZooKeeper, memory_store

TABLE = TableName("t_REALTIME")
NOW_S = 1_700_000_000.0
IDEAL_PATH = f"/c/IDEALSTATES/{TABLE}"


def segment(partition: int, sequence: int) -> str:
    """Return a segment's name."""
    return f"t__{partition}__{sequence}__20260101T0000Z"


class World:
    """One table in memory."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW_S)
        self.store: PropertyStore
        self.zookeeper: MemoryZooKeeper
        self.store, self.zookeeper = memory_store()
        self.store.create(f"/CONFIGS/TABLE/{TABLE}", ZNRecord(TABLE))
        self.client = ControllerClient(ControllerConfig("http://127.0.0.1:1"), clock=self.clock)
        self.lineage: list[LineageEntry] = []
        self.client.lineage.list = lambda table: self.lineage  # type: ignore[method-assign]
        capabilities = Capabilities(PinotVersion.parse("0.11.0"))
        self.client.cluster.capabilities = lambda: capabilities  # type: ignore[method-assign]
        self.control = TableControl(self.client, self.store, TABLE, by="me", watch_stream=False)

    def ideal(self, states: Mapping[str, str], *, paused: bool = False) -> IdealState:
        """Write the ideal state, each segment on one server."""
        flags = {"isTablePaused": str(paused).lower()}
        record = ZNRecord(TABLE, flags, map_fields={name: {"s1": state} for name, state in states.items()})
        self.zookeeper.znodes[IDEAL_PATH] = (
            record.to_bytes(),
            self.zookeeper.znodes.get(IDEAL_PATH, (b"", -1))[1] + 1,
        )
        return self.control.ideal()

    def record(
        self,
        name: str,
        status: str = "DONE",
        fields: Mapping[str, str] = {},
        *,
        age_s: float = 0,
    ) -> None:
        """Write a segment's record."""
        created = str(round((NOW_S - age_s) * 1000))
        simple = {"segment.creation.time": created, "segment.realtime.status": status, **fields}
        self.store.create(f"/SEGMENTS/{TABLE}/{name}", ZNRecord(name, simple))

    def committed(self, partition: int, sequence: int, start: int, end: int) -> None:
        """Write the record of a committed segment."""
        offsets = {"segment.realtime.startOffset": str(start), "segment.realtime.endOffset": str(end)}
        self.record(segment(partition, sequence), "DONE", offsets)

    def committing(self, partition: int, sequence: int, start: int, end: int) -> None:
        """Write the record of a pauseless table's segment that is consumed but not built."""
        offsets = {
            "segment.realtime.startOffset": str(start),
            "segment.realtime.endOffset": str(end),
            "segment.crc": "-1",
            "segment.total.docs": "-1",
        }
        self.record(segment(partition, sequence), "COMMITTING", offsets)

    def open(self, partition: int, sequence: int, start: int, *, age_s: float = 0) -> None:
        """Write the record of a segment that is not yet committed."""
        offsets = {"segment.realtime.startOffset": str(start)}
        self.record(segment(partition, sequence), "IN_PROGRESS", offsets, age_s=age_s)


class KeptTable:
    """Stores one table's config instead of a controller."""

    def __init__(self, config: TableConfig) -> None:
        self.config = config

    def get(self, _table: str) -> TableConfig:
        return self.config

    def update(self, config: TableConfig) -> None:
        self.config = config


def ideal_of(
    states: Mapping[str, str], *, paused: bool = False, paused_partitions: frozenset[int] = frozenset()
) -> IdealState:
    """Return an ideal state, each segment on one server."""
    segments = {name: {"s1": state} for name, state in states.items()}
    return IdealState(ConsumptionFlags(paused, paused_partitions), None, segments, enabled=True, zxid=0)
