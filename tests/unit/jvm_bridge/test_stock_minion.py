from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.config import ControllerConfig
from controller_client.errors import ConfigError
from jvm_bridge.minion import MinionSettings, StockMinion

CLUSTER: dict[str, object] = {"pinot.zk.server": "zookeeper:2181", "pinot.cluster.name": "pinot"}
CONCURRENCY = "pinot.minion.max.concurrent.tasks.per.instance"
SETTINGS = MinionSettings(
    controller=ControllerConfig("http://controller:9000"),
    zookeeper_address="zookeeper:2181",
    cluster_name="pinot",
    host="127.0.0.1",
    port=9514,
    folder=Path("/work"),
)


def stock(**properties: object) -> StockMinion:
    return StockMinion("pod-0", 9600, 3, {**CLUSTER, **properties})


def test_a_hosted_minion_replaces_a_stock_one() -> None:
    given = stock(dataDir="/var/pinot/minion/data", **{CONCURRENCY: "5", "pinot.minion.x": ["a", "b"]})
    found = given.applied_to(SETTINGS, None)
    assert found.instance_id == "Minion_pod-0_9600"
    assert found.folder == Path("/var/pinot/minion/data")
    assert found.concurrency == 5
    assert found.properties["pinot.minion.x"] == ["a", "b"]
    assert (given.zookeeper_address, given.cluster_name) == ("zookeeper:2181", "pinot")


@pytest.mark.parametrize(("in_file", "expected"), [({}, 3), ({CONCURRENCY: -1}, 3), ({CONCURRENCY: 7}, 7)])
def test_as_many_subtasks_as_the_file_or_the_container_allows(
    in_file: dict[str, object], expected: int
) -> None:
    assert stock(**in_file).applied_to(SETTINGS, None).concurrency == expected


def test_the_command_line_takes_precedence() -> None:
    assert stock(**{CONCURRENCY: "7"}).applied_to(SETTINGS, 2).concurrency == 2


def test_a_folder_of_the_command_line_where_the_file_has_none() -> None:
    assert stock().applied_to(SETTINGS, None).folder == SETTINGS.folder


def test_an_invalid_number() -> None:
    with pytest.raises(ConfigError, match=f"{CONCURRENCY} is 'many'"):
        stock(**{CONCURRENCY: "many"}).applied_to(SETTINGS, None)


@pytest.mark.parametrize("key", ["instanceId", "pinot.minion.instance.id"])
def test_an_unsupported_instance_name(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} is Minion_mine, but hosted minions"):
        stock(**{key: "Minion_mine"})


def test_secrets_of_the_file_are_hidden() -> None:
    given = stock(**{"pinot.minion.storage.factory.s3.secretKey": "s3cr3t"})
    assert "s3cr3t" not in repr(given) + repr(given.applied_to(SETTINGS, None))
