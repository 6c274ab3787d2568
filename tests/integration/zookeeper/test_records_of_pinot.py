"""Records that Pinot and Helix wrote are read right, and Pinot reads those written here."""

import json

import pytest

from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore, ZNRecord
from tests.integration.zookeeper.conftest import Folder
from tests.support.cluster import PinotCluster
from tests.support.offline_tables import offline_table
from tests.support.pinot_services import CONTROLLER_ADDRESS, MINION_ADDRESS, SERVER_ADDRESSES

pytestmark = pytest.mark.cluster


def _schema(name: str, fields: int = 1) -> Schema:
    return Schema.from_json(
        {
            "schemaName": name,
            "dimensionFieldSpecs": [
                {"name": f"column_{i:0100d}", "dataType": "STRING"} for i in range(fields)
            ],
        }
    )


def _table(name: str) -> TableConfig:
    metadata = {"customConfigs": {"owner": "grün"}}
    return TableConfig.from_json({**offline_table(name), "metadata": metadata})


def _record(store: PropertyStore, path: str) -> ZNRecord:
    found = store.get(path)
    assert found is not None, path
    return found.record


def test_a_table_config(pinot: PinotCluster, folder: Folder, unique_table: str) -> None:
    with pinot.client() as client:
        client.schemas.create(_schema(unique_table))
        client.tables.create(_table(unique_table))
    record = _record(folder.store, f"/CONFIGS/TABLE/{unique_table}_OFFLINE")
    assert record.id == f"{unique_table}_OFFLINE"
    assert record.simple_fields["tableType"] == "OFFLINE"
    assert json.loads(record.simple_fields["metadata"]) == {"customConfigs": {"owner": "grün"}}
    assert f"{unique_table}_OFFLINE" in folder.store.children("/CONFIGS/TABLE")


def test_a_lineage(pinot: PinotCluster, folder: Folder, unique_table: str) -> None:
    table = f"{unique_table}_OFFLINE"
    with pinot.client() as client:
        client.schemas.create(_schema(unique_table))
        client.tables.create(_table(unique_table))
        entry_id = client.lineage.start(table, [], ["s1", "s2"])
    record = _record(folder.store, f"/SEGMENT_LINEAGE/{table}")
    segments_from, segments_to, state, timestamp_ms = record.list_fields[entry_id]
    assert (segments_from, segments_to, state) == ("", "s1,s2", "IN_PROGRESS")
    assert int(timestamp_ms) > 0


def test_a_record_that_helix_compressed(pinot: PinotCluster, folder: Folder, unique_table: str) -> None:
    fields = 8_000
    with pinot.client() as client:
        client.schemas.create(_schema(unique_table, fields))
    path = f"/SCHEMAS/{unique_table}"
    content = folder.store.connection.get(f"/{folder.cluster_name}/PROPERTYSTORE{path}")
    assert content is not None
    assert content[0].startswith(b"\x1f\x8b"), "Helix left it uncompressed, so this proves nothing"
    document = json.loads(_record(folder.store, path).simple_fields["schemaJSON"])
    assert len(document["dimensionFieldSpecs"]) == fields
    assert document["dimensionFieldSpecs"][-1]["name"] == f"column_{7999:0100d}"


@pytest.mark.parametrize("compress", ["true", "false"])
def test_pinot_reads_what_is_written_here(
    pinot: PinotCluster, folder: Folder, unique_table: str, compress: str
) -> None:
    with pinot.client() as client:
        client.schemas.create(_schema(unique_table))
        client.tables.create(_table(unique_table))
        path = f"/CONFIGS/TABLE/{unique_table}_OFFLINE"
        found = folder.store.get(path)
        assert found is not None
        fields = {
            **found.record.simple_fields,
            "metadata": json.dumps({"customConfigs": {"owner": "blau 青"}}),
            "enableCompression": compress,
        }
        folder.store.set(path, ZNRecord(found.record.id, fields), found.version)
        config = client.tables.get(f"{unique_table}_OFFLINE").to_json()
    assert config["metadata"]["customConfigs"] == {"owner": "blau 青"}


def test_instances_and_their_tags(pinot: PinotCluster, folder: Folder) -> None:
    store = folder.store
    # Other tests have their own instances, and give the broker tags.
    addresses = [CONTROLLER_ADDRESS, MINION_ADDRESS, *(address for address, _ in SERVER_ADDRESSES.values())]
    ours = [name for name in store.live_instances() if name.split("_")[1] in addresses]
    assert len(ours) == len(addresses)
    assert pinot.minion_instance in ours
    live_tags = store.live_instance_tags()
    with pinot.client() as client:
        assert set(ours) <= set(client.instances.list())
        for name in ours:
            assert store.instance_tags(name) == live_tags[name] == list(client.instances.tags(name))
    assert any("DefaultTenant_OFFLINE" in live_tags[name] for name in ours)
