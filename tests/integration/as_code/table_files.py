"""A small offline table whose config and schema are in files, with three segments of different ages."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller_client.as_code import Applier, Kind, ObjectRef, Plan, References, read_folder
from controller_client.as_code.files import FolderSettings, write_folder
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.zookeeper import PropertyStore
from tests.support.cluster import PinotCluster
from tests.support.deleting import drop
from tests.support.segments import build_segments

__all__ = ["AGES_DAYS", "LOCK_WAIT_S", "ROWS", "TableFiles", "segment_tars", "table_documents", "table_files"]

AGES_DAYS = (1, 400, 800)
"""Age of the rows of each segment."""

ROWS = 20
"""Number of rows in a segment."""

LOCK_WAIT_S = 120.0
"""Seconds to wait for the end of an apply, since a cluster allows only one at a time."""

_DAY_MS = 86_400_000


@dataclass
class TableFiles:
    """The table, the files and the cluster; the owner of the files is named after the table.

    Attributes:
        further: Other objects in the files.
    """

    client: ControllerClient
    store: PropertyStore
    name: str
    folder: Path
    config: dict[str, Any]
    schema: dict[str, Any]
    further: dict[ObjectRef, dict[str, Any]] = field(default_factory=dict)

    @property
    def table(self) -> TableName:
        return TableName(f"{self.name}_OFFLINE")

    def write(self) -> None:
        """Write the files."""
        documents = {
            ObjectRef(Kind.SCHEMA, self.name): self.schema,
            ObjectRef(Kind.TABLE, self.table): self.config,
            **self.further,
        }
        write_folder(self.folder, FolderSettings(owner=self.name), documents)

    def applier(self) -> Applier:
        """Write the files; return what applies them."""
        self.write()
        references = References({}, self.folder)
        return Applier(self.client, self.store, read_folder(self.folder), references, lock_wait_s=LOCK_WAIT_S)

    def plan(self) -> Plan:
        return self.applier().plan().plan

    def fill(self, folder: Path) -> None:
        """Build segments and push them, and wait until servers have them."""
        tars = segment_tars(folder)
        for tar in tars:
            self.client.segments.upload_tar(self.table, tar)
        self.client.segments.wait_online(self.table, [f"s{number}" for number in range(len(tars))], 60)


@contextmanager
def table_files(pinot: PinotCluster, folder: Path) -> Iterator[TableFiles]:
    """Create the table from its files; it is deleted when the block ends."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    config, schema = table_documents(name)
    with (
        pinot.client() as client,
        PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store,
    ):
        made = TableFiles(client, store, name, folder, config, schema)
        try:
            made.applier().apply(made.plan())
            yield made
        finally:
            drop(client, name)


def table_documents(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the config and the schema of the table."""
    return _table(name), _schema(name)


def segment_tars(folder: Path) -> list[Path]:
    """Build the segments ``s0``, ``s1``, ``s2`` in a child process; they fit any table of this kind."""
    now_ms = round(time.time() * 1000)
    rows = {
        f"s{number}": [
            {
                "city": f"c{(row * 7) % ROWS}",
                "words": f"some word{row}",
                "doc": json.dumps({"a": row}),
                "code": row % 5,
                "n": (row * 7) % ROWS,  # unsorted: a sorted column keeps its dictionary
                "ts": now_ms - days * _DAY_MS,
            }
            for row in range(ROWS)
        ]
        for number, days in enumerate(AGES_DAYS)
    }
    config, schema = table_documents("built")
    return [segment.tar for segment in build_segments(folder, schema, config, rows)]


def _schema(name: str) -> dict[str, Any]:
    return {
        "schemaName": name,
        "dimensionFieldSpecs": [
            {"name": "city", "dataType": "STRING"},
            {"name": "words", "dataType": "STRING"},
            {"name": "doc", "dataType": "JSON"},
            {"name": "code", "dataType": "INT"},
        ],
        "metricFieldSpecs": [{"name": "n", "dataType": "LONG"}],
        "dateTimeFieldSpecs": [
            {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:DAYS"}
        ],
    }


def _table(name: str) -> dict[str, Any]:
    return {
        "tableName": f"{name}_OFFLINE",
        "tableType": "OFFLINE",
        "segmentsConfig": {"replication": "1", "timeColumnName": "ts", "segmentPushType": "APPEND"},
        "tenants": {"broker": "DefaultTenant", "server": "DefaultTenant"},
        "tableIndexConfig": {"loadMode": "MMAP", "invertedIndexColumns": ["code"]},
        "metadata": {},
    }
