from __future__ import annotations

import socket

import pytest

from controller_client.errors import ConfigError, UnreachableError
from controller_client.zookeeper.address import parse_hosts
from jvm_bridge.zookeeper_address import check_reachable


def test_hosts() -> None:
    assert parse_hosts("a:1,b:2/pinot") == [("a", 1), ("b", 2)]
    assert parse_hosts("a") == [("a", 2181)]
    assert parse_hosts("[::1]:2182") == [("::1", 2182)]


@pytest.mark.parametrize(
    "address", ["", ":1", "a:x", "a:1,,b:2", "a:0", "a:65536", "a:" + "9" * 5000, "a:٣", "/x"]
)
def test_no_address(address: str) -> None:
    with pytest.raises(ConfigError, match="not a ZooKeeper address"):
        parse_hosts(address)


def test_one_answering_host_is_enough() -> None:
    with socket.socket() as listener, socket.socket() as closed:
        for one in (listener, closed):
            one.bind(("127.0.0.1", 0))
        listener.listen()
        good, bad = (f"127.0.0.1:{one.getsockname()[1]}" for one in (listener, closed))
        check_reachable(f"{bad},{good}")
        with pytest.raises(UnreachableError, match=bad):
            check_reachable(bad)
