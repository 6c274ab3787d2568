from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from controller_client.errors import ConfigError
from jvm_bridge.cluster_ports import ClusterPorts, KafkaPorts


def test_ports_from_a_base() -> None:
    assert ClusterPorts.from_base(21000, servers=2).named() == {
        "zookeeper": 21000,
        "controller": 21001,
        "broker": 21002,
        "minion": 21003,
        "server-1": 21010,
        "server-1 admin": 21011,
        "server-1 grpc": 21012,
        "server-2": 21013,
        "server-2 admin": 21014,
        "server-2 grpc": 21015,
    }


@pytest.mark.parametrize("servers", [1, 2, 5, 40])
def test_default_ports_never_overlap(servers: int) -> None:
    ports = replace(ClusterPorts.usual(servers), kafka=KafkaPorts.usual())
    assert len(set(ports.named().values())) == 6 + 3 * servers
    assert ports.controller == 9000


def test_two_roles_on_one_port() -> None:
    with pytest.raises(ConfigError, match="broker and controller would both use port 9000"):
        replace(ClusterPorts.usual(), broker=9000)


@pytest.mark.parametrize("base", [-5, 0, 65535])
def test_impossible_ports(base: int) -> None:
    with pytest.raises(ConfigError, match="would be"):
        ClusterPorts.from_base(base)


@pytest.mark.parametrize("kafka", [None, KafkaPorts.from_base(21000)])
def test_json_round_trip(kafka: KafkaPorts | None) -> None:
    ports = replace(ClusterPorts.from_base(21000, servers=2), kafka=kafka)
    assert ClusterPorts.from_json(asdict(ports)) == ports


def test_ports_stored_without_kafka() -> None:
    document = asdict(ClusterPorts.from_base(21000))
    del document["kafka"]
    assert ClusterPorts.from_json(document).kafka is None


def test_the_ports_that_listen_on_all_addresses_are_those_that_pinot_cannot_bind() -> None:
    ports = replace(ClusterPorts.usual(2), kafka=KafkaPorts.usual())
    assert ports.on_all_addresses() == {
        "minion": 9514,
        "server-1": 8098,
        "server-1 grpc": 8090,
        "server-2": 8108,
        "server-2 grpc": 8100,
    }
    assert ports.on_all_addresses().items() <= ports.named().items()
