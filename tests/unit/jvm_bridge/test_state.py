from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from controller_client.errors import ConfigError, SetupError
from jvm_bridge.cluster_ports import ClusterPorts, KafkaPorts
from jvm_bridge.local_cluster.processes import ProcessRecord
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
    state = ClusterState(PORTS, "0.11.0", {"broker": record})
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


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "x"}', '{"format": 1, "ports": {}}'])
def test_an_invalid_state_file_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / STATE_FILE).write_text(text)
    with pytest.raises(SetupError, match="state file") as caught:
        read_state(tmp_path)
    assert caught.value.where == str(tmp_path / STATE_FILE)
