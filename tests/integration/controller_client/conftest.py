"""Segments of a small table, built once, and tables to push them into."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.clock import SystemClock
from controller_client.common.names import TableName
from controller_client.errors import QueryError
from controller_client.models import Schema, TableConfig
from controller_client.publishing.replacement import SegmentReplacement
from controller_client.zookeeper import PropertyStore, ZNRecord
from controller_client.zookeeper.compare_and_set import change_record
from tests.support.cluster import PinotCluster
from tests.support.offline_tables import offline_table
from tests.support.segments import BuiltSegment, build_segments
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

ROWS_PER_SEGMENT = 10
_SEGMENTS = 6


def names(segments: list[BuiltSegment]) -> list[str]:
    return [segment.name for segment in segments]


def push(client: ControllerClient, table: TableName, segments: list[BuiltSegment]) -> None:
    for segment in segments:
        client.segments.upload_tar(table, segment.tar)


def schema_document(name: str) -> dict[str, Any]:
    return {
        "schemaName": name,
        "dimensionFieldSpecs": [
            {"name": "city", "dataType": "STRING"},
            {"name": "tags", "dataType": "STRING", "singleValueField": False},
        ],
        "metricFieldSpecs": [
            {"name": "n", "dataType": "LONG"},
            {"name": "x", "dataType": "DOUBLE"},
            {"name": "price", "dataType": "BIG_DECIMAL"},
        ],
        "dateTimeFieldSpecs": [
            {
                "name": "ts",
                "dataType": "TIMESTAMP",
                "format": "1:MILLISECONDS:EPOCH",
                "granularity": "1:MILLISECONDS",
            }
        ],
    }


def table_document(name: str) -> dict[str, Any]:
    indexing = {"noDictionaryColumns": ["price"], "nullHandlingEnabled": True}
    return offline_table(name, time_column="ts", indexing=indexing)


def _rows(segment: int) -> list[dict[str, Any]]:
    return [
        {
            "city": None if row == 0 else f"city {row} ü",
            "tags": ["a", f"s{segment}"],
            "n": segment * 100 + row,
            "x": row + 0.5,
            "price": f"{segment}.1234567890123456789012345{row}",
            "ts": 1_700_000_000_000 + segment * 1000 + row,
        }
        for row in range(ROWS_PER_SEGMENT)
    ]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[BuiltSegment]:
    """Six segments of ten rows; they fit any table of :func:`table_document`."""
    rows = {f"segment_{segment}": _rows(segment) for segment in range(_SEGMENTS)}
    return build_segments(
        tmp_path_factory.mktemp("segments"), schema_document("built"), table_document("built"), rows
    )


@pytest.fixture
def client(pinot: PinotCluster) -> Iterator[ControllerClient]:
    with pinot.client() as client:
        yield client


@pytest.fixture
def broker(pinot: PinotCluster) -> Iterator[BrokerClient]:
    with pinot.broker() as broker:
        yield broker


@pytest.fixture
def table(client: ControllerClient, broker: BrokerClient, unique_table: str) -> TableName:
    """An empty table; its name with type."""
    client.schemas.create(Schema.from_json(schema_document(unique_table)))
    client.tables.create(TableConfig.from_json(table_document(unique_table)))
    table = TableName(f"{unique_table}_OFFLINE")
    wait_for(lambda: _broker_knows(broker, table), f"the broker to know {table}")
    return table


def _broker_knows(broker: BrokerClient, table: str) -> bool:
    try:
        Content(broker, table).seen()
    except QueryError:
        # "BrokerResourceMissingError" until Helix has notified the broker.
        return False
    return True


class Content:
    """The rows that queries see in a table."""

    def __init__(self, broker: BrokerClient, table: str) -> None:
        self._broker = broker
        self._sql = f"select count(*), sum(n) from {table.removesuffix('_OFFLINE')}"

    def seen(self) -> tuple[int, int]:
        """Return the number of rows and the sum of ``n``."""
        result = self._broker.query(self._sql)
        return (int(result.rows[0][0]), int(result.rows[0][1])) if result.rows else (0, 0)

    def wait(self, segments: list[BuiltSegment]) -> None:
        """Wait until queries see exactly these segments: brokers notice a change with a delay."""
        expected = content_of(segments)
        wait_for(lambda: self.seen() == expected, f"queries to see {expected}")


def content_of(segments: list[BuiltSegment]) -> tuple[int, int]:
    rows = [row for segment in segments for row in segment.rows]
    return len(rows), sum(row["n"] for row in rows)


@pytest.fixture
def content(broker: BrokerClient, table: str) -> Content:
    return Content(broker, table)


@dataclass(frozen=True)
class Filled:
    """A table with the first two of the built segments, which queries see.

    Attributes:
        client: A client.
        table: Its name with type.
        content: What queries see in it.
        built: All segments that fit it.
    """

    client: ControllerClient
    table: TableName
    content: Content
    built: list[BuiltSegment]

    @property
    def old(self) -> list[BuiltSegment]:
        """The segments in it."""
        return self.built[:2]

    def push(self, segments: list[BuiltSegment]) -> None:
        push(self.client, self.table, segments)

    def replacement(self, new: list[BuiltSegment], **settings: Any) -> SegmentReplacement:
        """Return a replacement of the old segments."""
        return SegmentReplacement(self.client, self.table, names(self.old), names(new), **settings)

    def swap(self, new: list[BuiltSegment]) -> SegmentReplacement:
        """Replace the old segments."""
        with self.replacement(new) as replacement:
            self.push(new)
        return replacement

    def listed(self) -> list[str]:
        """Return the names of all its segments, including replaced ones."""
        return self.client.segments.list(self.table, exclude_replaced=False)


@pytest.fixture
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        yield store


def take_out_of_the_ideal_state(store: PropertyStore, table: TableName, segment: str) -> None:
    """Leave only a segment's record, like a controller that dies between the two writes of a push."""

    def without(record: ZNRecord | None) -> ZNRecord:
        assert record is not None
        maps = {name: states for name, states in record.map_fields.items() if name != segment}
        return replace(record, map_fields=maps)

    path = f"/{store.cluster_name}/IDEALSTATES/{table}"
    change_record(store.connection, path, without, clock=SystemClock(), rng=random.Random())


@pytest.fixture
def filled(client: ControllerClient, table: TableName, content: Content, built: list[BuiltSegment]) -> Filled:
    made = Filled(client, table, content, built)
    made.push(made.old)
    client.segments.wait_online(table, names(made.old), 300)
    content.wait(made.old)
    return made
