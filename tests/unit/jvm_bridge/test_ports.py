from __future__ import annotations

import os
import socket
from dataclasses import asdict, replace

import pytest

from controller_client.errors import ConfigError, SetupError
from jvm_bridge.local_cluster.ports import HOST, ClusterPorts, check_free


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
def test_the_usual_ports_never_meet(servers: int) -> None:
    ports = ClusterPorts.usual(servers)
    assert len(set(ports.named().values())) == 4 + 3 * servers
    assert ports.controller == 9000


def test_two_roles_on_one_port() -> None:
    with pytest.raises(ConfigError, match="broker and controller would both have port 9000"):
        replace(ClusterPorts.usual(), broker=9000)


@pytest.mark.parametrize("base", [-5, 0, 65535])
def test_impossible_ports(base: int) -> None:
    with pytest.raises(ConfigError, match="would be"):
        ClusterPorts.from_base(base)


def test_json_round_trip() -> None:
    ports = ClusterPorts.from_base(21000, servers=2)
    assert ClusterPorts.from_json(asdict(ports)) == ports


def test_a_taken_port_is_named_with_its_holder() -> None:
    with socket.socket() as listener, socket.socket() as free:
        listener.bind((HOST, 0))
        listener.listen()
        free.bind((HOST, 0))
        taken, other = listener.getsockname()[1], free.getsockname()[1]
        free.close()
        with pytest.raises(SetupError, match=rf"{taken} \(controller\): pid {os.getpid()}") as caught:
            check_free({"controller": taken, "broker": other})
        assert str(other) not in caught.value.message
    check_free({"broker": other})
