"""A table in a database (Pinot 1.2 and later): created, written and read."""

from __future__ import annotations

import uuid

import pytest

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.rest.capabilities import Capability
from tests.integration.spark_connectors.conftest import ID_COLUMN, Connector, ConnectorError, with_ids
from tests.support.cluster import PinotCluster
from tests.support.deleting import drop
from tests.support.needs import needs

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]


@needs(Capability.DATABASES, raises=ConnectorError, match="containing '.' is not allowed")
def test_a_table_of_a_database(connector: Connector, pinot: PinotCluster, client: ControllerClient) -> None:
    name = f"db_{uuid.uuid4().hex[:8]}.t_{uuid.uuid4().hex[:8]}"
    options = {"controller": pinot.controller_url, "table": name}
    try:
        for mode in ("append", "overwrite"):
            connector.write(options, mode, ID_COLUMN, with_ids(range(10)), createTable="true")
        assert TableName(f"{name}_OFFLINE") in client.tables.list("OFFLINE")
        assert name in client.schemas.list()
        for way in ("servers", "segments", "broker"):
            rows = connector.read(options, readFrom=way, filter="id > 3")
            assert sorted(row["id"] for row in rows) == [4, 5, 6, 7, 8, 9], way
        query = f'select count(*) as n from "{name}" limit 1'
        assert connector.read(options, query=query) == [{"n": 10}]
    finally:
        drop(client, name)
