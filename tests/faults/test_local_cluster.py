"""The local cluster through its command: started, inspected, killed, stopped."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

from jvm_bridge.local_cluster import HOST, ClusterPorts, LocalCluster
from jvm_bridge.local_cluster.processes import find_processes
from tests.support.local_ports import free_base, is_free
from tests.support.pinotctl import pinotctl
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

ROLES = ["zookeeper", "controller", "broker", "server-1", "minion"]
TIMEOUT_S = 240
LARGEST_MEMORY_MIB = 2560


class Cluster:
    """A local cluster and its command."""

    def __init__(self, folder: Path, base: int) -> None:
        self.folder, self.base = folder, base
        self.local = LocalCluster(folder, ClusterPorts.from_base(base))

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start ``pinotctl cluster WORDS``."""
        command = pinotctl("cluster", *words, "--dir", str(self.folder))
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *words: str) -> tuple[int, str, str]:
        """Run it to its end; return exit code, stdout and stderr."""
        process = self.start(*words)
        output, errors = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, output, errors

    def up(self) -> dict[str, Any]:
        code, output, errors = self.run("up", "--port-base", str(self.base), "--output", "json")
        assert code == 0, errors
        found: dict[str, Any] = json.loads(output)
        return found

    def status(self, expected_code: int) -> list[dict[str, Any]]:
        code, output, errors = self.run("status", "--output", "json")
        assert code == expected_code, errors
        found: list[dict[str, Any]] = json.loads(output)
        return found

    def pids(self) -> dict[str, int]:
        return {role: record.pid for role, record in find_processes(self.folder).items()}

    def rest(self, method: str, path: str, **more: Any) -> Any:
        url, headers = f"{self.local.controller_url}/{path}", {"Accept": "application/json"}
        answer = requests.request(method, url, headers=headers, timeout=300, **more)
        answer.raise_for_status()
        return answer.json()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster", free_base())
    yield made
    for pid in made.pids().values():
        psutil.Process(pid).kill()


def test_the_life_of_a_local_cluster(cluster: Cluster) -> None:
    addresses = cluster.up()
    assert addresses["controller"] == f"http://127.0.0.1:{cluster.base + 1}"
    first = cluster.pids()
    assert sorted(first) == sorted(ROLES)

    # Once more: nothing happens.
    code, output, errors = cluster.run("up", "--output", "json")
    assert (code, json.loads(output), cluster.pids()) == (0, addresses, first)
    assert "is already running" in errors

    instances = cluster.rest("GET", "instances")["instances"]
    assert {name.split("_")[0] for name in instances} == {"Controller", "Broker", "Server", "Minion"}
    assert {name.split("_")[1] for name in instances} == {HOST}
    (minion,) = (name for name in instances if name.startswith("Minion"))
    assert cluster.rest("GET", f"instances/{minion}")["tags"] == ["pinot_plugins_minion"]
    console = requests.get(addresses["console"], timeout=60)
    assert console.ok
    assert "text/html" in console.headers["Content-Type"]

    roles = cluster.status(0)
    assert [(role["role"], role["pid"], role["health"]) for role in roles] == [
        (r, first[r], "ok") for r in ROLES
    ]
    assert sum(role["rss_mib"] for role in roles) < LARGEST_MEMORY_MIB
    code, output, _ = cluster.run("logs", "controller", "--tail", "3")
    assert (code, len(output.splitlines())) == (0, 3)

    code, _, errors = cluster.run("down")
    assert code == 0, errors
    assert cluster.pids() == {}
    assert {role["health"] for role in cluster.status(1)} == {"down"}
    code, _, errors = cluster.run("down", "--purge", "--yes")
    assert code == 0, errors
    assert not cluster.folder.exists()


@FULL
def test_two_commands_start_one_cluster_whose_data_survives_and_that_gets_kafka_later(
    cluster: Cluster,
) -> None:
    codes = []
    for process in [cluster.start("up", "--port-base", str(cluster.base)) for _ in range(2)]:
        _, errors = process.communicate(timeout=TIMEOUT_S)
        codes.append(process.returncode)
        if process.returncode:
            assert "is starting or stopping this cluster" in errors
    assert sorted(codes) in ([0, 0], [0, 1])
    assert sorted(cluster.pids()) == sorted(ROLES)
    schema = {"schemaName": "kept", "dimensionFieldSpecs": [{"name": "a", "dataType": "STRING"}]}
    cluster.rest("POST", "schemas", json=schema)
    for _ in range(2):
        assert cluster.run("down")[0] == 0
    port = str(cluster.base + 7)
    code, output, errors = cluster.run("up", "--kafka-port", port, "--output", "json")
    assert code == 0, errors
    assert json.loads(output)["kafka"] == f"{HOST}:{port}"
    assert cluster.rest("GET", "schemas") == ["kept"]
    roles = ["zookeeper", "kafka", *ROLES[1:]]
    assert [role["role"] for role in cluster.status(0)] == roles
    code, output, _ = cluster.run("logs", "kafka", "--tail", "1", "--output", "json")
    assert (code, json.loads(output)["role"]) == (0, "kafka")
    code, _, errors = cluster.run("logs", "nobody")
    assert code == 2
    assert "expected" in errors.lower()

    # Ports other than those of the existing data are rejected.
    code, _, errors = cluster.run("up", "--port-base", str(cluster.base + 100))
    assert code == 2
    assert "other ports" in errors

    code, output, _ = cluster.run("down", "--purge", "--dry-run", "--output", "json")
    assert (code, json.loads(output)["running"]) == (0, roles)
    assert len(cluster.pids()) == len(roles)
    code, _, errors = cluster.run("down", "--purge", "--yes")
    assert code == 0, errors
    assert not cluster.folder.exists()
    assert cluster.run("status")[0] == 1


@FULL
def test_a_killed_launcher_can_be_continued(cluster: Cluster) -> None:
    launcher = cluster.start("up", "--port-base", str(cluster.base))
    wait_for(lambda: "controller" in cluster.pids(), "the controller's process")
    launcher.send_signal(signal.SIGKILL)
    launcher.communicate()
    before = cluster.pids()
    assert len(before) >= 2
    cluster.up()
    after = cluster.pids()
    assert sorted(after) == sorted(ROLES)
    assert before.items() <= after.items()

    # Only the killed role is restarted.
    os.kill(after["server-1"], signal.SIGKILL)
    wait_for(lambda: "server-1" not in cluster.pids(), "the server's end")
    assert [role["role"] for role in cluster.status(1) if role["health"] != "ok"] == ["server-1"]
    cluster.up()
    again = cluster.pids()
    assert {role for role in ROLES if again[role] != after[role]} == {"server-1"}

    # Only the marks on the processes are known: they are found and stopped.
    (cluster.folder / "cluster.json").unlink()
    code, _, errors = cluster.run("down")
    assert code == 1
    assert "no local cluster" in errors
    cluster.up()
    assert cluster.pids() == again
    assert cluster.run("down")[0] == 0
    assert cluster.pids() == {}


@FULL
@pytest.mark.parametrize(("number", "role"), [(signal.SIGINT, "minion"), (signal.SIGTERM, "controller")])
def test_an_interrupted_start_leaves_nothing(cluster: Cluster, number: signal.Signals, role: str) -> None:
    launcher = cluster.start("up", "--port-base", str(cluster.base))
    wait_for(lambda: role in cluster.pids(), f"the process of the {role}", interval_s=0.02)
    launcher.send_signal(number)
    _, errors = launcher.communicate(timeout=300)
    assert launcher.returncode == 130
    # It ends at once and does not have to be killed.
    assert "did not end within" not in errors
    assert cluster.pids() == {}
    assert all(is_free(port) for port in cluster.local.ports.named().values())


def test_taken_ports_are_reported_before_anything_starts(cluster: Cluster) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((HOST, cluster.base + 2))
        taken.listen()
        code, _, errors = cluster.run("up", "--port-base", str(cluster.base))
        assert code == 1
        assert f"{cluster.base + 2} (broker): pid {os.getpid()}" in errors
        assert "--port-base" in errors
        assert cluster.pids() == {}


def test_a_role_that_cannot_start_is_shown_with_its_log(cluster: Cluster) -> None:
    # ZooKeeper's folder is a file: ZooKeeper ends at once.
    cluster.folder.mkdir()
    for name in ("conf", "logs", "tmp"):
        (cluster.folder / name).mkdir()
    (cluster.folder / "zookeeper").mkdir()
    (cluster.folder / "zookeeper" / "version-2").write_text("not a folder")
    code, _, errors = cluster.run("up", "--port-base", str(cluster.base))
    assert code == 1
    assert "zookeeper ended while the cluster started" in errors
    assert "version-2" in errors
    assert cluster.pids() == {}
