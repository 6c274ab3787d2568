"""A local cluster with tables for benchmarks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from benchmarks.data_types import dimensions
from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.config import BrokerConfig, ControllerConfig
from controller_client.errors import QueryError
from controller_client.models import Schema, TableConfig
from jvm_bridge.local_cluster import ClusterPorts, LocalCluster
from tests.support.offline_tables import offline_table


@dataclass(frozen=True)
class BenchmarkCluster:
    """A running cluster and its clients.

    Attributes:
        local: The processes of the cluster.
        client: A client of its controller.
        broker: A client of its broker.
    """

    local: LocalCluster
    client: ControllerClient
    broker: BrokerClient

    def create_table(self, name: str, schema: pa.Schema, *, default_text: str = "null") -> str:
        """Create a table with these columns, and inverted indexes on the first two string columns.

        Args:
            name: The table's name.
            schema: Its columns.
            default_text: What is stored for a text that is null; in CSV, every empty one is.
        """
        fields = dimensions(schema)
        for field in fields:
            if field["dataType"] == "STRING":
                field["defaultNullValue"] = default_text
        document = {"schemaName": name, "dimensionFieldSpecs": fields}
        self.client.schemas.create(Schema.from_json(document))
        strings = [field.name for field in schema if field.type == pa.string()]
        config = offline_table(name, indexing={"invertedIndexColumns": strings[:2]})
        self.client.tables.create(TableConfig.from_json(config))
        return name

    def wait_rows(self, table: str, rows: int) -> None:
        """Wait until queries see exactly this number of rows."""
        while True:
            try:
                if self.broker.query(f"select count(*) from {table}").scalar() == rows:
                    return
            except QueryError:
                pass
            time.sleep(0.05)

    def drop(self, table: str) -> None:
        """Delete the table and its schema."""
        self.client.tables.delete(f"{table}_OFFLINE")
        self.client.schemas.delete(table)


@contextmanager
def open_cluster(folder: Path, port_base: int) -> Iterator[BenchmarkCluster]:
    """Start a cluster; purge it at the end."""
    cluster = LocalCluster(folder / "cluster", ClusterPorts.from_base(port_base))
    cluster.up()
    try:
        with (
            ControllerClient(ControllerConfig(cluster.controller_url)) as client,
            BrokerClient(BrokerConfig((cluster.broker_url,))) as broker,
        ):
            yield BenchmarkCluster(cluster, client, broker)
    finally:
        cluster.down(purge=True)
