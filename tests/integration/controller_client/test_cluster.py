"""What a real controller reports about its cluster."""

from __future__ import annotations

import uuid

import pytest

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.errors import NotFoundError, UnsupportedError
from controller_client.rest.capabilities import Capability
from tests.support.cluster import PinotCluster
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


def test_name_version_and_health(pinot: PinotCluster, client: ControllerClient) -> None:
    assert client.cluster.name() == pinot.cluster_name
    assert client.cluster.version().release.count(".") == 2
    assert client.cluster.healthy()
    assert client.cluster.capabilities().has(Capability.COPY_TO_DEEP_STORE)


def test_a_port_without_a_listener_is_not_healthy() -> None:
    with ControllerClient(ControllerConfig("http://127.0.0.1:9", connect_timeout_s=1)) as nobody:
        assert not nobody.cluster.healthy()


def test_the_configuration_contains_deep_store_and_zookeeper(
    pinot: PinotCluster, client: ControllerClient
) -> None:
    assert client.cluster.deep_store_uri() == pinot.deep_store_uri.rstrip("/")
    assert client.cluster.zookeeper_address() == pinot.zookeeper_address
    config = client.cluster.app_config()
    assert config["controller.helix.cluster.name"] == pinot.cluster_name
    assert all(value == "***" for key, value in config.items() if key.lower().endswith("secretkey"))


def test_brokers(pinot: PinotCluster, client: ControllerClient, table: str) -> None:
    # Other tests have their own broker.
    assert pinot.broker_url in client.cluster.broker_urls()
    assert pinot.broker_url in client.cluster.broker_urls(table.removesuffix("_OFFLINE"))


def test_instances_their_tags_and_tenants(client: ControllerClient) -> None:
    host = f"host-{uuid.uuid4().hex[:8]}"
    name = f"Server_{host}_1"
    client.instances.create("server", host, 1, tags=[f"{host}_OFFLINE"])
    try:
        assert name in client.instances.list()
        client.instances.set_tags(name, [f"{host}_OFFLINE", f"{host}_REALTIME"])
        server = client.instances.get(name)
        assert (server.name, server.host) == (name, host)
        assert set(server.tags) == {f"{host}_OFFLINE", f"{host}_REALTIME"}
        assert server.tags == client.instances.tags(name)
        assert {"DefaultTenant", host} <= set(client.tenants.list().server)
    finally:
        client.instances.drop(name)
    with pytest.raises(NotFoundError, match=name):
        client.instances.get(name)


def test_what_the_version_lacks_says_since_when(client: ControllerClient) -> None:
    there = client.cluster.capabilities().has(Capability.REBALANCE_STATUS)
    error, words = (NotFoundError, "no-such-job") if there else (UnsupportedError, r"1\.0\.0 or later")
    with pytest.raises(error, match=words):
        client.rebalance.status("no-such-job")


def test_tasks_of_unknown_types_and_names(client: ControllerClient) -> None:
    # Another test may add one between the two calls.
    wait_for(
        lambda: client.tasks.queues() == [f"TaskQueue_{name}" for name in client.tasks.types()],
        "the queue of each type",
    )
    assert client.tasks.states("NoSuchTask") == {}
    assert client.tasks.names("NoSuchTask") == []
    assert client.tasks.counts("NoSuchTask") == {}
    for look in (client.tasks.state, client.tasks.config, client.tasks.debug):
        for name in ("nope", "Task_NoSuchTask_1700000000000"):
            with pytest.raises(NotFoundError):
                look(name)
    with pytest.raises(NotFoundError):
        client.tasks.subtask_states("nope")
    assert client.tasks.subtask_states("Task_NoSuchTask_1700000000000") == {}
    assert client.tasks.subtask_configs("Task_NoSuchTask_1700000000000") == {}
    with pytest.raises(NotFoundError):
        client.tasks.queue_state("NoSuchTask")
