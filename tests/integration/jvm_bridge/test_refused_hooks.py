"""A server whose hooks fail does not start if something depends on them: here they lack a compiler."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_client.common.names import TableName
from controller_client.helix.ideal_state import set_paused_partitions
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore
from tests.integration.jvm_bridge.servers import CLASSES_OF_ROLES, NO_COMPILER, ServerProcess, cache_with
from tests.support.cluster import PinotCluster
from tests.support.deleting import drop
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.realtime_tables import realtime_schema, realtime_table
from tests.support.service import Program
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]


@pytest.fixture
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as connected:
        yield connected


@pytest.fixture
def server(pinot: PinotCluster, store: PropertyStore, tmp_path: Path) -> Iterator[ServerProcess]:
    """A hosted server with its own tenant, without a compiler."""
    made = ServerProcess(
        pinot,
        store,
        tmp_path / "server",
        Program.PINOTCTL,
        tenant=f"t{uuid.uuid4().hex[:8]}",
        java_opts=NO_COMPILER,
        environment=cache_with(tmp_path / "cache", CLASSES_OF_ROLES),
    )
    made.folder.mkdir()
    made.register()
    yield made
    made.remove()


def _refused(server: ServerProcess) -> str:
    """Try to start the server, check that it fails and return its output."""
    server.start()
    assert server.wait_end() == 1, server.log[-4000:]
    assert not server.is_live()
    assert "Error: the hook " in server.log
    return server.log


def test_a_server_with_a_store_does_not_start_without_the_hook_that_uploads(server: ServerProcess) -> None:
    server.properties = {"pinot.server.instance.segment.store.uri": "file:///nowhere/store"}
    server.options = ("--hook=commit-upload",)
    output = _refused(server)
    assert "the hook commit-upload failed before the start: " in output
    assert "needed by the segment store, file:///nowhere/store (pinot.server.instance.segment.sto" in output
    assert f"Where: {server.instance}" in output
    assert "commits then wait for the store as long as Pinot does" in output


@FULL
@pytest.mark.kafka
def test_a_server_with_a_paused_partition_does_not_start_without_its_hook_until_it_is_resumed(
    server: ServerProcess, pinot: PinotCluster, kafka: Kafka, store: PropertyStore
) -> None:
    server.options = ("--hook=partition-pause",)
    name = f"refused_{uuid.uuid4().hex[:8]}"
    table = TableName(f"{name}_REALTIME")
    topic = Topic(kafka.bootstrap, name, 1)
    with pinot.client() as client:
        client.schemas.create(Schema.from_json(realtime_schema(name, {"id": "STRING"})))
        config = realtime_table(name, kafka, tenant=server.tenant, keeps_all=True)
        client.tables.create(TableConfig.from_json(config))
        try:
            set_paused_partitions(store, table, lambda _paused: frozenset({0}))
            output = _refused(server)
            assert "the hook partition-pause failed before the start: " in output
            assert f"but it is needed by the paused partition 0 of table {name}" in output
            assert "resume the partitions first" in output
            set_paused_partitions(store, table, lambda _paused: frozenset())
            server.start()
            server.wait_ready()
        finally:
            drop(client, name)
            topic.delete()
    wait_for(lambda: f"{server.instance} runs with the hooks (none)" in server.log, "its last line")
