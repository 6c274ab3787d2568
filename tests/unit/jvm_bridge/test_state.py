from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from controller_client.errors import ConfigError, SetupError
from jvm_bridge.cluster_ports import ClusterPorts, KafkaPorts
from jvm_bridge.local_cluster.processes import ProcessRecord
from jvm_bridge.local_cluster.settings import LocalClusterSettings, read_properties
from jvm_bridge.local_cluster.state import (
    STATE_FILE,
    ClusterState,
    existing_state,
    read_state,
    state_to_start,
    write_state,
)

PORTS = ClusterPorts.from_base(21000, servers=2)
KAFKA = KafkaPorts.from_base(21000)


def test_round_trip(tmp_path: Path) -> None:
    record = ProcessRecord("broker", 17, 1700000000.25)
    state = ClusterState(
        PORTS, "0.11.0", {"broker": record}, LocalClusterSettings(True, {"controller.x": "1"})
    )
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state
    assert [file.name for file in tmp_path.iterdir()] == [STATE_FILE]


def test_no_state(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None
    with pytest.raises(SetupError, match="no local cluster"):
        existing_state(tmp_path)


def test_a_new_cluster_has_the_requested_ports_and_kafka_only_on_request(tmp_path: Path) -> None:
    assert state_to_start(tmp_path, None, None).ports == ClusterPorts.usual()
    assert state_to_start(tmp_path, PORTS, KAFKA).ports == replace(PORTS, kafka=KAFKA)


def test_kafka_is_added_to_a_cluster_and_stays(tmp_path: Path) -> None:
    write_state(tmp_path, ClusterState(PORTS, "0.11.0"))
    for ports in (None, PORTS):
        assert state_to_start(tmp_path, ports, KAFKA).ports == replace(PORTS, kafka=KAFKA)
    write_state(tmp_path, ClusterState(replace(PORTS, kafka=KAFKA), "0.11.0"))
    for kafka in (None, KAFKA):
        assert state_to_start(tmp_path, PORTS, kafka).ports == replace(PORTS, kafka=KAFKA)


@pytest.mark.parametrize(
    ("ports", "kafka"), [(ClusterPorts.from_base(22000), None), (None, KafkaPorts.from_base(22000))]
)
def test_ports_other_than_the_stored_ones_are_refused(
    tmp_path: Path, ports: ClusterPorts | None, kafka: KafkaPorts | None
) -> None:
    write_state(tmp_path, ClusterState(replace(PORTS, kafka=KAFKA), "0.11.0"))
    with pytest.raises(ConfigError, match="other ports") as caught:
        state_to_start(tmp_path, ports, kafka)
    assert "kafka 21004" in str(caught.value)


def test_settings_are_kept_until_others_are_given(tmp_path: Path) -> None:
    assert state_to_start(tmp_path, None, None).settings == LocalClusterSettings()
    asked = state_to_start(tmp_path, PORTS, None, hosted=True, properties={"controller.x": "1"})
    write_state(tmp_path, asked)
    assert state_to_start(tmp_path, None, None).settings == LocalClusterSettings(True, {"controller.x": "1"})
    assert state_to_start(tmp_path, None, None, properties={}).settings == LocalClusterSettings(True, {})
    asked = state_to_start(tmp_path, None, None, minion_heap_mb=2048)
    assert asked.settings == LocalClusterSettings(True, {"controller.x": "1"}, 2048)
    write_state(tmp_path, asked)
    assert state_to_start(tmp_path, None, None).settings == asked.settings


def test_a_state_of_an_earlier_release_has_the_usual_heap(tmp_path: Path) -> None:
    write_state(tmp_path, ClusterState(PORTS, "0.11.0", settings=LocalClusterSettings(True)))
    document = json.loads((tmp_path / STATE_FILE).read_text())
    del document["settings"]["minion_heap_mb"]
    (tmp_path / STATE_FILE).write_text(json.dumps(document))
    assert state_to_start(tmp_path, None, None).settings == LocalClusterSettings(True)


def test_properties_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "more.properties"
    file.write_text("# the store\n\ncontroller.data.dir = s3://b/c?d=e\npinot.server.x=\n")
    assert read_properties(file) == {"controller.data.dir": "s3://b/c?d=e", "pinot.server.x": ""}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("controller.x=1\npinot.server.x", "line 2 is not a property"),
        ("zookeeper.tickTime=1", "no role of a local cluster reads zookeeper.tickTime"),
        (None, "cannot be read"),
    ],
)
def test_properties_that_no_role_reads_are_refused(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "more.properties"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        read_properties(file)
    assert caught.value.where == str(file)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "x"}', '{"format": 1, "ports": {}}'])
def test_an_invalid_state_file_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / STATE_FILE).write_text(text)
    with pytest.raises(SetupError, match="state file") as caught:
        read_state(tmp_path)
    assert caught.value.where == str(tmp_path / STATE_FILE)
