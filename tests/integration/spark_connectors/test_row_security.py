"""Reads of a table of which a broker hides rows from the user (Pinot 1.4 and later)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.config import BasicAuth, BrokerConfig, Secret
from controller_client.zookeeper import PropertyStore
from tests.integration.jvm_bridge.brokers import BrokerProcess
from tests.integration.jvm_bridge.servers import HOST
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
from tests.support.scheduling import DISTURBS
from tests.support.service import Program
from tests.support.wait import wait_for

# The broker of these tests serves all tables, and asks for a password.
pytestmark = [DISTURBS, pytest.mark.cluster, pytest.mark.jvm, inside(Need.ROW_SECURITY)]

_CONTROL = "pinot.broker.access.control"
_FACTORY = "org.apache.pinot.broker.broker.BasicAuthAccessControlFactory"


@pytest.fixture
def table(connector: Connector, make_table: MakeTable) -> SparkTable:
    """Ten rows."""
    made = make_table(IDS_ALONE)
    connector.write(made.options, "append", ID_COLUMN, with_ids(range(10)))
    made.wait_rows("count(*)", (10,))
    return made


@pytest.fixture
def filtering(table: SparkTable, pinot: PinotCluster, tmp_path: Path) -> Iterator[str]:
    """A broker that shows the user ``some`` three rows of the table and the user ``every`` all; its URL."""
    names = f"{table.name},{table.typed}"
    properties = {
        "pinot.broker.enable.row.column.level.auth": "true",
        f"{_CONTROL}.class": _FACTORY,
        f"{_CONTROL}.principals": "every,some",
        f"{_CONTROL}.principals.every.password": "pw",
        f"{_CONTROL}.principals.some.password": "pw",
        f"{_CONTROL}.principals.some.tables": names,
        f"{_CONTROL}.principals.some.permissions": "READ",
        f"{_CONTROL}.principals.some.{table.name}.rls": "id < 3",
        f"{_CONTROL}.principals.some.{table.typed}.rls": "id < 3",
    }
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        broker = BrokerProcess(pinot, store, tmp_path, Program.PINOT, "", properties=properties)
        try:
            broker.start()
            broker.wait_ready()
            url = f"http://{HOST}:{broker.ports[1]}"
            config = BrokerConfig((url,), auth=BasicAuth("every", Secret("pw")))
            with BrokerClient(config) as client:
                sql = f"select count(*) from {table.name}"
                wait_for(lambda: client.query(sql).rows == ((10,),), "the broker to know the table")
            yield url
        finally:
            # A broker cannot be dropped while it serves a table, also one of other tests.
            table.client.instances.set_tags(broker.instance, (), update_broker_resource=True)
            broker.remove()


def test_rows_hidden_by_a_broker_are_not_read_elsewhere(
    connector: Connector, table: SparkTable, filtering: str
) -> None:
    def count(**options: str) -> int:
        return len(connector.read(table.options, broker=filtering, password="pw", **options))

    for way in ("servers", "segments"):
        with pytest.raises(ConnectorError, match=f"a broker hides rows of {table.name} from this user"):
            count(username="some", readFrom=way)
        assert count(username="some", readFrom=way, bypassRowFilters="true") == 10
        assert count(username="every", readFrom=way) == 10
        with pytest.raises(ConnectorError, match="AuthError"):
            count(username="nobody", readFrom=way)
    assert count(username="some", readFrom="broker") == 3
    assert count(username="every", readFrom="broker") == 10


def test_without_a_broker_row_security_is_unknown(connector: Connector, table: SparkTable) -> None:
    nowhere = {**table.options, "broker": "http://127.0.0.1:1"}
    with pytest.raises(ConnectorError, match="no broker reports whether it hides rows"):
        connector.read(nowhere)
    assert len(connector.read(nowhere, bypassRowFilters="true")) == 10
