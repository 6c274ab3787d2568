"""A server whose hooks fail: it starts only if nothing depends on them.

Here they lack a compiler: the classes that every role needs were compiled before, those of hooks were not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_client.common.names import TableName
from controller_client.errors import UnsupportedError
from controller_client.helix.failed_hooks import read_failed_hooks
from controller_client.helix.ideal_state import set_paused_partitions
from controller_client.models import Schema, TableConfig
from controller_client.upsert.creating import check_hooks
from controller_client.zookeeper import PropertyStore
from jvm_bridge.jars import cache_folder
from tests.integration.jvm_bridge.servers import JAVA_OPTS, ServerProcess
from tests.support.cluster import PinotCluster
from tests.support.kafka import Kafka
from tests.support.kafka_topics import Topic
from tests.support.realtime_tables import planned_upsert, realtime_schema, realtime_table
from tests.support.service import Program
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm, pytest.mark.kafka]

# All JDK modules that Pinot needs, without the compiler.
_MODULES = (
    "java.se,jdk.unsupported,jdk.management,jdk.management.agent,jdk.net,jdk.crypto.ec,jdk.naming.dns,"
    "jdk.zipfs,jdk.httpserver,jdk.security.auth,jdk.charsets,jdk.localedata,jdk.jfr,jdk.attach"
)

_FILL_CACHE = """
from jvm_bridge.jvm import logging_options, start_jvm_with
start_jvm_with(["-Xmx256m", *logging_options()])
from jvm_bridge.role_host.masked_log import mask_log
mask_log()
"""


@pytest.fixture
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as connected:
        yield connected


@pytest.fixture
def server(pinot: PinotCluster, store: PropertyStore, tmp_path: Path) -> Iterator[ServerProcess]:
    """A hosted server with its own tenant, without a compiler, and with no compiled classes but a role's."""
    cache = tmp_path / "cache"
    cache.mkdir()
    for shared in ("repository", "sets"):  # the jars
        if (cache_folder() / shared).exists():
            (cache / shared).symlink_to(cache_folder() / shared)
    environment = {"PINOT_PLUGINS_CACHE": str(cache)}
    subprocess.run([sys.executable, "-c", _FILL_CACHE], env={**os.environ, **environment}, check=True)
    made = ServerProcess(
        pinot,
        store,
        tmp_path / "server",
        Program.PINOTCTL,
        tenant=f"t{uuid.uuid4().hex[:8]}",
        java_opts=f"{JAVA_OPTS} --limit-modules={_MODULES}",
        environment=environment,
    )
    made.folder.mkdir()
    made.register()
    yield made
    made.remove()


def _refused(server: ServerProcess) -> str:
    """Try to start the server, check that it fails and return its output."""
    before = len(server.log) if (server.folder / "output.log").exists() else 0
    server.start()
    assert server.wait_end() == 1
    assert not server.is_live()
    output = server.log[before:]
    assert "Error: the hook " in output
    return output


def test_a_server_with_a_store_does_not_start_without_the_hook_that_uploads(server: ServerProcess) -> None:
    server.properties = {"pinot.server.instance.segment.store.uri": "file:///nowhere/store"}
    server.options = ("--hook=commit-upload",)
    output = _refused(server)
    assert "the hook commit-upload failed before the start: " in output
    assert "needed by the segment store, file:///nowhere/store (pinot.server.instance.segment.sto" in output
    assert f"Where: {server.instance}" in output
    assert "commits then wait for the store as long as Pinot does" in output


def test_a_server_starts_without_hooks_that_nothing_needs_and_not_with_a_table_that_needs_one(
    server: ServerProcess, pinot: PinotCluster, kafka: Kafka, store: PropertyStore
) -> None:
    server.options = ("--hook=partition-pause", "--hook=upsert")
    server.start()
    server.wait_ready()
    last = f"{server.instance} runs with the hooks (none)"
    wait_for(lambda: last in server.log, "its last line of the start")
    for hook in ("partition-pause", "upsert"):
        assert f"hook {hook} failed before the start" in server.log
    assert "the role starts without it, because nothing depends on it now" in server.log
    assert "`pinotctl consumption pause --partition` is rejected for tables on this server." in server.log

    # Requests that would need the hook later are rejected.
    name = f"refused_{uuid.uuid4().hex[:8]}"
    schema = realtime_schema(name, {"id": "STRING"})
    config = realtime_table(name, kafka, tenant=server.tenant, keeps_all=True)
    assert read_failed_hooks(store)[server.instance].keys() == {"partition-pause", "upsert"}
    with pytest.raises(UnsupportedError, match=f"{server.instance} runs without the hook upsert"):
        check_hooks(store, planned_upsert(schema, config, ["id"]).table)
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 128 + signal.SIGTERM
    wait_for(lambda: not server.is_live(), "it to leave")

    table = TableName(f"{name}_REALTIME")
    topic = Topic(kafka.bootstrap, name, 1)
    with pinot.client() as client:
        client.schemas.create(Schema.from_json(schema))
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
            client.tables.delete(table)
            client.schemas.delete(name)
            topic.delete()
