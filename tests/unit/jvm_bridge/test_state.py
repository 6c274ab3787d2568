from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.errors import SetupError
from jvm_bridge.cluster_ports import ClusterPorts
from jvm_bridge.local_cluster.processes import ProcessRecord
from jvm_bridge.local_cluster.state import STATE_FILE, ClusterState, read_state, write_state


def test_round_trip(tmp_path: Path) -> None:
    record = ProcessRecord("broker", 17, 1700000000.25)
    state = ClusterState(ClusterPorts.from_base(21000, servers=2), "0.11.0", {"broker": record})
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state
    assert [file.name for file in tmp_path.iterdir()] == [STATE_FILE]


def test_no_state(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 99}', '{"format": 1, "ports": {}}'])
def test_a_file_that_cannot_be_understood_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / STATE_FILE).write_text(text)
    with pytest.raises(SetupError, match="state file") as caught:
        read_state(tmp_path)
    assert caught.value.where == str(tmp_path / STATE_FILE)
