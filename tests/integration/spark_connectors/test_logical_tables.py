"""Logical tables (Pinot 1.4 and later): read through brokers; otherwise errors name the physical tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
from click.testing import CliRunner

from controller_client.client import ControllerClient
from controller_client.models import Schema
from pinotctl.root import cli
from tests.integration.spark_connectors.conftest import (
    ID_COLUMN,
    IDS_ALONE,
    Connector,
    ConnectorError,
    MakeTable,
    SparkTable,
    with_ids,
)
from tests.support.cluster import PinotCluster
from tests.support.needs import Need, inside
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm, inside(Need.LOGICAL_TABLES)]


@pytest.fixture
def tables(connector: Connector, make_table: MakeTable) -> list[SparkTable]:
    """Two tables with three and four rows."""
    made = [make_table(IDS_ALONE) for _ in range(2)]
    for rows, table in enumerate(made, start=3):
        connector.write(table.options, "append", ID_COLUMN, with_ids(range(rows)))
        table.wait_rows("count(*)", (rows,))
    return made


@pytest.fixture
def logical(tables: list[SparkTable], pinot: PinotCluster, client: ControllerClient) -> Iterator[str]:
    """A logical table of both."""
    name = f"{tables[0].name}_both"
    client.schemas.create(Schema.from_json({"schemaName": name, **IDS_ALONE}))
    config = {
        "tableName": name,
        "brokerTenant": "DefaultTenant",
        "physicalTableConfigMap": {table.typed: {} for table in tables},
        "refOfflineTableName": tables[0].typed,
    }
    url = f"{pinot.controller_url}/logicalTables"
    requests.post(url, json=config, timeout=30).raise_for_status()
    try:
        yield name
    finally:
        requests.delete(f"{url}/{name}", timeout=30).raise_for_status()
        client.schemas.delete(name)


def test_a_logical_table(
    connector: Connector,
    tables: list[SparkTable],
    logical: str,
    pinot: PinotCluster,
    client: ControllerClient,
) -> None:
    physical = ", ".join(sorted(table.typed for table in tables))
    options = {"controller": pinot.controller_url, "table": logical}
    query = f"select count(*) as n, max(id) as most from {logical} limit 1"

    def answered() -> bool:
        return connector.read(options, query=query) == [{"n": 7, "most": 3.0}]

    wait_for(answered, "a broker to answer for the logical table", interval_s=1)
    for way in ("servers", "segments", "broker"):
        with pytest.raises(ConnectorError, match=f"{logical} is a logical table") as refused:
            connector.read(options, readFrom=way)
        assert f"use the option 'query', or read {physical}" in str(refused.value)
    for more in ({}, {"createTable": "true"}):
        with pytest.raises(ConnectorError, match="is a logical table, which only supports queries"):
            connector.write(options, "append", ID_COLUMN, with_ids([1]), **more)
    assert client.tables.physical_tables(logical) == tuple(sorted(table.typed for table in tables))
    assert client.tables.physical_tables(tables[0].name) == ()

    env = {"PINOT_CONTROLLER_URL": pinot.controller_url, "PINOTCTL_CONFIG": "/no/such/file"}
    for words in (
        ("consumption", "pause", logical),
        ("consumption", "reset", logical),
        ("segment", "list", logical),
        ("deepstore", "audit", logical),
        ("task", "run", logical),
    ):
        answer = CliRunner().invoke(cli, words, env=env)
        assert answer.exit_code == 1, (words, answer.output)
        assert "is a logical table, which only supports queries" in answer.output, words
        assert f"use one of its physical tables: {physical}" in answer.output, words
