import pytest

from controller_client.errors import ConfigError
from controller_client.zookeeper import PropertyStore


@pytest.mark.parametrize("path", ["", "SEGMENTS", "/a//b"])
def test_a_wrong_path_is_refused_before_anything_is_sent(path: str) -> None:
    store = PropertyStore("127.0.0.1:1", "c")
    with pytest.raises(ConfigError, match="not a path in the property store"):
        store.get(path)


def test_an_empty_address_is_refused() -> None:
    with pytest.raises(ConfigError, match="not a ZooKeeper address"):
        PropertyStore(" ", "c")
