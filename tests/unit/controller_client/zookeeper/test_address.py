from __future__ import annotations

import pytest

from controller_client.errors import ConfigError
from controller_client.zookeeper import PropertyStore, ZooKeeperConnection
from controller_client.zookeeper.address import check_path


@pytest.mark.parametrize("path", ["/", "/a", "/a/b c", "/a/..b/c.", "/a/%2F", "/東京"])
def test_paths(path: str) -> None:
    check_path(path)


@pytest.mark.parametrize(
    "path", ["", "a", "//", "/a//b", "/a/../b", "/..", "/a/.", "/a\x00", "/a\x1b", "/a\x9f", "/a\udcff"]
)
def test_an_invalid_path_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="not a path in ZooKeeper"):
        check_path(path)
    connection = ZooKeeperConnection("127.0.0.1:1")
    for call in (connection.get, connection.children, connection.exists, connection.delete):
        with pytest.raises(ConfigError):
            call(path)
    with pytest.raises(ConfigError):
        connection.create(path, b"")
    with pytest.raises(ConfigError):
        connection.set(path, b"", 0)


@pytest.mark.parametrize("address", ["", " ", "a:b", "a:1/..", "a:1,b:99999"])
def test_an_invalid_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(ConfigError):
        ZooKeeperConnection(address)


def test_the_property_store_refuses_an_empty_address() -> None:
    with pytest.raises(ConfigError, match="not a ZooKeeper address"):
        PropertyStore(" ", "c")


@pytest.mark.parametrize("path", ["", "SEGMENTS", "/a//b"])
def test_an_invalid_path_in_the_property_store_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match="not a path in the property store"):
        PropertyStore("127.0.0.1:1", "c").get(path)
